"""What the synchronous and the asyncio channel have in common: options, credentials, TLS files that change."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import grpc

from stampgate._version import VERSION

DEFAULT_TIMEOUT = 30.0
"""The deadline of calls that set none, in seconds."""

_LOOK_AT_FILES_EVERY = 1.0

_C = TypeVar('_C')
_Path = str | os.PathLike[str]


def _service_config() -> str:
    config = json.loads(pathlib.Path(__file__).with_name('service_config.json').read_bytes())
    return json.dumps({'loadBalancingConfig': [{'round_robin': {}}], **config})


def _options() -> list[tuple[str, Any]]:
    return [
        ('grpc.primary_user_agent', f'stampgate-python/{VERSION}'),
        ('grpc.service_config', _service_config()),
        # The gateway closes a connection that sends pings more often than every 30 s.
        ('grpc.keepalive_time_ms', 60_000),
        ('grpc.keepalive_timeout_ms', 20_000),
        ('grpc.initial_reconnect_backoff_ms', 100),
        ('grpc.min_reconnect_backoff_ms', 1_000),
        ('grpc.max_reconnect_backoff_ms', 5_000),
    ]


class _Token(grpc.AuthMetadataPlugin):
    """Adds a bearer token to each call."""

    def __init__(self, token: Callable[[], str]) -> None:
        self._token = token

    def __call__(self, context: grpc.AuthMetadataContext, callback: grpc.AuthMetadataPluginCallback) -> None:
        try:
            callback((('authorization', f'Bearer {self._token()}'),), None)
        except Exception as error:  # gRPC ends the call with the text of any error.
            callback((), error)


@dataclasses.dataclass(frozen=True)
class Settings:
    """How to connect. Without `ca`, the connection is plaintext, for a gateway on the same machine."""

    address: str
    ca: _Path | None = None
    certificate: _Path | None = None
    key: _Path | None = None
    token: Callable[[], str] | None = None
    token_file: _Path | None = None
    timeout: float = DEFAULT_TIMEOUT
    options: tuple[tuple[str, Any], ...] = ()

    def __post_init__(self) -> None:
        if self.ca is None and (self.certificate or self.key or self.token or self.token_file):
            raise ValueError('certificate, key, token and token_file need TLS: set ca')
        if (self.certificate is None) != (self.key is None):
            raise ValueError('certificate and key belong together: set both or none')
        if self.token and self.token_file:
            raise ValueError('set either token or token_file')

    def files(self) -> list[_Path]:
        return [path for path in (self.ca, self.certificate, self.key) if path is not None]

    def credentials(self) -> grpc.ChannelCredentials | None:
        """Reads the files. None if the connection is plaintext."""
        if self.ca is None:
            return None
        ca, certificate, key = (
            None if path is None else pathlib.Path(path).read_bytes() for path in (self.ca, self.certificate, self.key)
        )
        tls = grpc.ssl_channel_credentials(ca, key, certificate)
        token = self.token
        if (file := self.token_file) is not None:
            token = lambda: pathlib.Path(file).read_text().strip()
        if token is None:
            return tls
        return grpc.composite_channel_credentials(tls, grpc.metadata_call_credentials(_Token(token)))

    def all_options(self) -> list[tuple[str, Any]]:
        return [*_options(), *self.options]


class Connection(Generic[_C]):
    """gRPC's own channel. After the TLS files have changed, new calls use a new channel; calls in progress keep the old
    one, which closes when the last of them ends."""

    def __init__(self, settings: Settings, open_channel: Callable[[Settings], _C]) -> None:
        self._settings, self._open = settings, open_channel
        self._lock = threading.Lock()
        self._opened: weakref.WeakSet[Any] = weakref.WeakSet()
        self._next_look = 0.0 if settings.files() else float('inf')
        self._seen = self._look()
        self._current = self._new()

    def current(self) -> tuple[_C, dict[str, Any]]:
        """The channel for a new call, and this channel's multi-callables by the paths of their methods."""
        if time.monotonic() >= self._next_look:
            with self._lock:
                self._renew()
        return self._current

    def all(self) -> list[_C]:
        """The channel, and the old channels with calls in progress."""
        return list(self._opened)

    def _renew(self) -> None:
        self._next_look = time.monotonic() + _LOOK_AT_FILES_EVERY
        try:
            if (seen := self._look()) != self._seen:
                self._current, self._seen = self._new(), seen
        except OSError:
            pass  # A file is missing while somebody replaces it. The next look reads it.

    def _look(self) -> list[tuple[int, int, int]]:
        stats = [os.stat(path) for path in self._settings.files()]
        return [(stat.st_ino, stat.st_size, stat.st_mtime_ns) for stat in stats]

    def _new(self) -> tuple[_C, dict[str, Any]]:
        channel = self._open(self._settings)
        self._opened.add(channel)
        return channel, {}
