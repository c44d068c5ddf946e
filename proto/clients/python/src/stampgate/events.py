"""Subscriptions that resume, and the signatures of events."""

from __future__ import annotations

import base64
import contextlib
import copy
import logging
import math
import os
import pathlib
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import grpc

from stampgate.errors import Error, Gap
from stampgate.submits import Backoff
from stampgate.v1.event_service_pb2 import SubscribeRequest, SubscribeResponse
from stampgate.v1.events_pb2 import LOG_END_EARLIEST, Event
from stampgate.v1.webhooks_pb2 import WebhookKey

_GAPS = ('EVENTS_TRIMMED', 'EVENTS_LOST', 'EVENT_DAMAGED', 'CURSOR_OF_ANOTHER_LOG', 'CURSOR_AHEAD_OF_LOG')
_log = logging.getLogger('stampgate')


class CursorStore(Protocol):
    """Where a subscriber keeps the cursor of the events that it has processed."""

    def load(self) -> str | None:
        """The saved cursor; None if there is none."""

    def save(self, cursor: str) -> None:
        """Replaces the saved cursor."""


class FileCursor:
    """A cursor in a file, which it replaces by a rename. A saved cursor survives a power cut."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = pathlib.Path(path)

    def load(self) -> str | None:
        if not self._path.exists():
            return None
        cursor = self._path.read_text().strip()
        if not cursor:
            raise ValueError(f'{self._path} contains no cursor')
        return cursor

    def save(self, cursor: str) -> None:
        new = self._path.with_name(self._path.name + '.new')
        new.write_text(cursor)
        _sync(new, os.O_RDWR)
        new.replace(self._path)
        if os.name != 'nt':  # Windows cannot sync a folder.
            _sync(new.parent, os.O_RDONLY)


def _sync(path: pathlib.Path, flags: int) -> None:
    """Waits until the bytes of a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class ResumedStream:
    """A call that returns a stream, and the `delay` until it is made again after the stream has ended."""

    def __init__(self, name: str, method: Any, request: Any) -> None:
        self._name, self._method, self._request = name, method, request
        self._backoff, self.delay = Backoff(), 0.0

    @contextlib.contextmanager
    def stream(self) -> Iterator[Any]:
        """One stream of messages. Raises an error if no later one can continue."""
        stream = self._method(self._request)
        try:
            yield stream
            self.delay = self._backoff.after()  # A proxy may end a stream without an error.
        except grpc.RpcError as raised:
            error = Error.of(raised)
            if error.reason in _GAPS:
                raise Gap(error) from None
            self.delay = self._backoff.after(error)
            if self.delay == math.inf:
                raise error from None
            _log.info('%s ended with %s; it resumes in %.1f s', self._name, error, self.delay)
        finally:
            stream.cancel()

    def _arrived(self) -> None:
        """A message has arrived: the next delay is short again."""
        self._backoff = Backoff()


class Subscription(ResumedStream):
    """The place of a subscription, and its next stream. subscribe() and aio.subscribe() share it."""

    def __init__(self, method: Any, request: SubscribeRequest, store: CursorStore | None) -> None:
        super().__init__('the subscription', method, copy.deepcopy(request))
        self._store = store
        if store is not None and (cursor := store.load()) is not None:
            self._request.cursor = cursor
        elif self._request.WhichOneof('start') is None:
            self._request.end = LOG_END_EARLIEST

    def events(self, message: SubscribeResponse) -> Iterator[Event]:
        """The events of a message. Saves the cursor of an event when the next one is asked for."""
        for event in message.events:
            yield event
            self._advance(event.cursor)
        self._advance(message.cursor)

    def _advance(self, cursor: str) -> None:
        self._arrived()
        if cursor != self._request.cursor:
            self._request.cursor = cursor
            if self._store is not None:
                self._store.save(cursor)


def verify(event: Event, keys: Iterable[WebhookKey]) -> bool:
    """Whether one of `keys`, from WebhookService.GetWebhookKeySet, signed the event. Needs the extra `crypto`."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if event.body_omitted:
        raise ValueError(f'the event {event.event_id} has no body: read it with EventService.ReadEventBody')
    signature = event.signature
    signed = f'v1.ed25519.{signature.key_id}.{signature.timestamp}.{event.event_id}.'.encode() + event.body
    public_key = {key.kid: key.x for key in keys if key.crv == 'Ed25519'}.get(signature.key_id)
    if public_key is None:
        return False
    try:
        point = base64.urlsafe_b64decode(public_key + '==')
        Ed25519PublicKey.from_public_bytes(point).verify(signature.signature, signed)
        return True
    except InvalidSignature:
        return False
