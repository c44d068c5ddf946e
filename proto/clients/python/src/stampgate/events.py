"""Subscriptions that resume, and the signatures of events."""

from __future__ import annotations

import base64
import os
import pathlib
from collections.abc import Iterable
from typing import Protocol

import grpc

from stampgate.errors import Error, Gap
from stampgate.submits import Backoff
from stampgate.v1 import event_service_pb2, events_pb2, webhooks_pb2

_GAPS = ('EVENTS_TRIMMED', 'EVENTS_LOST', 'EVENT_DAMAGED', 'CURSOR_OF_ANOTHER_LOG', 'CURSOR_AHEAD_OF_LOG')


class CursorStore(Protocol):
    """Where a subscriber keeps the cursor of the events that it has processed."""

    def load(self) -> str | None:
        """The saved cursor; None if there is none."""

    def save(self, cursor: str) -> None:
        """Replaces the saved cursor."""


class FileCursor:
    """A cursor in a file, which a crash leaves either with the old cursor or with the new one."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = pathlib.Path(path)

    def load(self) -> str | None:
        return self._path.read_text() if self._path.exists() else None

    def save(self, cursor: str) -> None:
        new = self._path.with_name(self._path.name + '.new')
        with new.open('w') as file:
            file.write(cursor)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, self._path)


class Subscription:
    """The place of a subscription. Makes no calls itself, so that subscribe() and aio.subscribe() share it."""

    def __init__(self, request: event_service_pb2.SubscribeRequest, store: CursorStore | None) -> None:
        self.request = event_service_pb2.SubscribeRequest()
        self.request.CopyFrom(request)
        self._store = store
        self._backoff = Backoff(longest=10)
        if store is not None and (cursor := store.load()) is not None:
            self.request.cursor = cursor

    def passed(self, cursor: str) -> None:
        """The subscriber has processed everything before this cursor."""
        self._backoff.reset()
        if cursor == self.request.cursor:
            return
        self.request.cursor = cursor
        if self._store is not None:
            self._store.save(cursor)

    def after_error(self, error: Error) -> float:
        """The seconds until the next try. Raises an error if the subscription ends."""
        if error.reason in _GAPS:
            raise Gap(error)
        # INTERNAL without a reason: the connection broke in the middle of a message.
        if not (error.is_repeatable or (error.code() is grpc.StatusCode.INTERNAL and not error.domain)):
            raise error
        return self._backoff.after(error)

    def after_end(self) -> float:
        """The seconds until the next try after a stream that ended without an error, as a proxy may end it."""
        return self._backoff.next()


def verify(event: events_pb2.Event, keys: Iterable[webhooks_pb2.WebhookKey]) -> bool:
    """Whether one of `keys`, from WebhookService.GetWebhookKeySet, signed the event. Needs the extra `crypto`."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if event.body_omitted:
        raise ValueError(f'the event {event.event_id} has no body: read it with EventService.ReadEventBody')
    signature = event.signature
    signed = f'v1.ed25519.{signature.key_id}.{signature.timestamp}.{event.event_id}.'.encode() + event.body
    for key in keys:
        if key.kid != signature.key_id or key.crv != 'Ed25519':
            continue
        public_key = Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(key.x + '=='))
        try:
            public_key.verify(signature.signature, signed)
            return True
        except InvalidSignature:
            continue
    return False
