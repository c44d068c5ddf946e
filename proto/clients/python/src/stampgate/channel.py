"""What the channels for threads and for asyncio have in common."""

from __future__ import annotations

import contextlib
import functools
import operator
import os
import pathlib
import threading
import time
import weakref
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from typing import Any

import grpc
import grpc.aio

from stampgate._version import __version__
from stampgate.errors import Error, typed_errors

DEFAULT_TIMEOUT = 30.0

_READ_FILES_EVERY = 1.0
_OPTIONS = (
    ('grpc.primary_user_agent', f'stampgate-python/{__version__}'),
    ('grpc.service_config', pathlib.Path(__file__).with_name('service_config.json').read_text()),
    ('grpc.lb_policy_name', 'round_robin'),
    # The gateway closes a connection that sends pings more often than every 30 s.
    ('grpc.keepalive_time_ms', 60_000),
    ('grpc.keepalive_timeout_ms', 20_000),
    ('grpc.initial_reconnect_backoff_ms', 100),
    ('grpc.min_reconnect_backoff_ms', 1_000),
    ('grpc.max_reconnect_backoff_ms', 5_000),
)

_Path = str | os.PathLike[str]


class RenewedChannel:
    """Makes calls on a channel of gRPC's own, and on a new one after the TLS files have changed. Calls in progress keep
    the old channel, which closes when the last of them ends."""

    _library: Any
    """The module that opens gRPC's own channels: grpc or grpc.aio."""

    def __init__(
        self,
        address: str,
        *,
        ca: _Path | None = None,
        certificate: _Path | None = None,
        key: _Path | None = None,
        token: Callable[[], str] | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        options: Sequence[tuple[str, Any]] = (),
    ) -> None:
        """Connects with TLS if `ca` is set, and otherwise in plaintext, to a gateway on the same machine.

        The three PEM files are read again after they have changed. `token` returns the bearer token for each call.
        `timeout` is the deadline of calls that set none, in seconds. `options` are gRPC's channel arguments, such as
        ('grpc.max_receive_message_length', 16 << 20).
        """
        if ca is None and (certificate or key or token):
            raise ValueError('certificate, key and token need TLS: set ca')
        if (certificate is None) != (key is None):
            raise ValueError('certificate and key belong together: set both or none')
        self.timeout = timeout
        self._address, self._token, self._options = address, token, [*_OPTIONS, *options]
        self._files = (ca, key, certificate)
        self._contents: list[bytes | None] = []
        self._opened: weakref.WeakSet[Any] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._renew()

    def unary_unary(self, *args: Any, **kwargs: Any) -> Any:
        return _Method(self, operator.methodcaller('unary_unary', *args, **kwargs), self.timeout)

    def unary_stream(self, *args: Any, **kwargs: Any) -> Any:
        return _Method(self, operator.methodcaller('unary_stream', *args, **kwargs))

    def stream_unary(self, *args: Any, **kwargs: Any) -> Any:
        return self.current().stream_unary(*args, **kwargs)  # No service of the gateway has such a method.

    def stream_stream(self, *args: Any, **kwargs: Any) -> Any:
        return self.current().stream_stream(*args, **kwargs)  # Only the reflection service has such a method.

    def current(self) -> Any:
        """gRPC's own channel for a new call."""
        if time.monotonic() >= self._next_read:
            # If a file is missing, somebody is replacing it: a later call reads it.
            with self._lock, contextlib.suppress(OSError):
                self._renew()
        return self._current

    def _renew(self) -> None:
        self._next_read = time.monotonic() + _READ_FILES_EVERY
        contents = [None if path is None else pathlib.Path(path).read_bytes() for path in self._files]
        if contents != self._contents:
            self._current, self._contents = self._open(*contents), contents
            self._opened.add(self._current)

    def _open(self, ca: bytes | None, key: bytes | None, certificate: bytes | None) -> Any:
        if ca is None:
            return self._library.insecure_channel(self._address, self._options)
        credentials = grpc.ssl_channel_credentials(ca, key, certificate)
        if self._token is not None:
            token = grpc.metadata_call_credentials(_Token(self._token))
            credentials = grpc.composite_channel_credentials(credentials, token)
        return self._library.secure_channel(self._address, credentials, self._options)


class _Token(grpc.AuthMetadataPlugin):
    """Adds a bearer token to each call. A call ends with the exception of `token` as its message."""

    def __init__(self, token: Callable[[], str]) -> None:
        self._token = token

    def __call__(self, context: grpc.AuthMetadataContext, callback: grpc.AuthMetadataPluginCallback) -> None:
        callback((('authorization', f'Bearer {self._token().strip()}'),), None)


class _Method:
    """A method of a stub. `find` returns gRPC's own method of a channel."""

    def __init__(self, channel: RenewedChannel, find: Callable[[Any], Any], timeout: float | None = None) -> None:
        self._channel, self._find, self.timeout = channel, find, timeout

    def _start(self, how: str, request: Any, timeout: float | None = None, metadata: Any = None, **options: Any) -> Any:
        channel = self._channel.current()
        start = getattr(self._find(channel), how)
        with typed_errors():
            call = start(request, timeout=self.timeout if timeout is None else timeout, metadata=metadata, **options)
        # A synchronous call has ended, and this is its response.
        return _Call(call, channel) if isinstance(call, (grpc.RpcContext, grpc.aio.RpcContext)) else call

    __call__ = functools.partialmethod(_start, '__call__')
    with_call = functools.partialmethod(_start, 'with_call')
    future = functools.partialmethod(_start, 'future')


class _Call:
    """A call in progress that raises Error. Keeps its channel open."""

    def __init__(self, call: Any, channel: Any) -> None:
        self._call, self._channel = call, channel

    def __getattr__(self, name: str) -> Any:
        return getattr(self._call, name)

    def __iter__(self) -> _Call:
        return self

    def __next__(self) -> Any:
        with typed_errors():
            return next(self._call)

    def result(self, timeout: float | None = None) -> Any:
        with typed_errors():
            return self._call.result(timeout)

    def exception(self, timeout: float | None = None) -> Error | None:
        error = self._call.exception(timeout)
        return error and Error.of(error)

    def __await__(self) -> Generator[Any, None, Any]:
        with typed_errors():
            return (yield from self._call.__await__())

    async def __aiter__(self) -> AsyncIterator[Any]:
        with typed_errors():
            async for message in self._call:
                yield message

    async def read(self) -> Any:
        with typed_errors():
            return await self._call.read()
