"""Consumers of shared subscriptions: what they hold, and how they settle it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

import grpc

from stampgate.errors import Error
from stampgate.events import ResumedStream
from stampgate.submits import Backoff
from stampgate.v1.subscription_service_pb2 import ConsumeRequest, ConsumeResponse, SettleRequest, SettleResponse
from stampgate.v1.subscriptions_pb2 import (
    SETTLE_OUTCOME_DONE,
    SETTLE_OUTCOME_EXTEND,
    SETTLE_OUTCOME_PARK,
    SETTLE_OUTCOME_RETRY,
    Delivery,
    SettleOutcome,
)

_LONGEST_RETRY_DELAY_MS = 3_600_000
_LONGEST_PARK_REASON = 256
_DEFAULT_SETTLE_WITHIN_MS = 30_000
"""The time to settle an event if the gateway does not state it."""
RELEASE_TIMEOUT = 2.0
_log = logging.getLogger('stampgate')


class Park(Exception):
    """Raised by the handler of consume() for an event that no repetition can handle: the gateway sets the event aside,
    with `reason`, and continues with the next one. Write no secret into the reason: the gateway stores and logs it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Consumer(ResumedStream):
    """What a consumer holds, its next stream, and its next settle. consume() and aio.consume() share it.

    Its events are handled one at a time, in the order of their arrival. Thread-safe as far as consume() needs it: one
    thread calls stream() and received(), one extends, and one makes all other calls.
    """

    def __init__(self, stub: Any, subscription: str, max_unsettled: int, retry_delay: float) -> None:
        request = ConsumeRequest(subscription=subscription, max_unsettled=max_unsettled)
        super().__init__(f'the consumer of {subscription}', stub.Consume, request)
        self.extend_every = _DEFAULT_SETTLE_WITHIN_MS / 3000
        """The seconds after which the held events are extended: a failed try leaves time for another one."""
        self.settle_delay = 0.0
        """The seconds to wait before the next try of a settle."""
        self._settle: SettleRequest | None = None
        self._settle_backoff = Backoff()
        self._subscription, self._retry_delay = subscription, retry_delay
        # The deliveries by their tokens, in the order of arrival. The first one is the one that is handled.
        self._held: dict[str, Delivery] = {}
        self._lock = threading.Lock()
        # Deliveries that arrive before this time can have been sent before the latest RETRY, which has ended those of
        # its key.
        self._doubt_until = -math.inf
        self._has_doubtful = False
        self._is_first_message = True

    @contextlib.contextmanager
    def stream(self) -> Iterator[Any]:
        """One stream of messages, for which the consumer keeps what it holds. Raises an error as subscriptions do."""
        with self._lock:
            self._request.held_tokens[:] = self._held
        self._is_first_message = True
        with super().stream() as stream:
            yield stream

    def received(self, message: ConsumeResponse) -> bool:
        """Adds the deliveries of a message. Returns whether `extend_every` is shorter now: the next extension is due."""
        self._arrived()
        self._drop(message.superseded_tokens)
        with self._lock:
            self._held.update((delivery.token, delivery) for delivery in message.deliveries)
            if message.deliveries and time.monotonic() < self._doubt_until:
                self._has_doubtful = True
        before = self.extend_every
        if self._is_first_message:
            self.extend_every = (message.settle_within_ms or _DEFAULT_SETTLE_WITHIN_MS) / 3000
            self._is_first_message = False
        return self.extend_every < before

    def next(self) -> Delivery | None:
        """The delivery to handle next. None if the consumer holds none."""
        with self._lock:
            return next(iter(self._held.values()), None)

    def must_confirm(self) -> bool:
        """Whether the gateway must confirm what the consumer holds before it handles the next delivery.

        If so, makes the settle for this.
        """
        if self._has_doubtful:
            self._confirm()
            return True
        return False

    def handled(self, delivery: Delivery, failure: Exception | None) -> None:
        """Makes the settle of a delivery whose handler has returned, or has raised `failure`."""
        self._settle = settle = SettleRequest(subscription=self._subscription, tokens=[delivery.token])
        if failure is None:
            settle.outcome = SETTLE_OUTCOME_DONE
        elif isinstance(failure, Park):
            settle.outcome = SETTLE_OUTCOME_PARK
            settle.park_reason = failure.reason.encode()[:_LONGEST_PARK_REASON].decode(errors='ignore')
            _log.warning('event %s is parked: %s', delivery.event.event_id, failure.reason)
        else:
            delay_ms = 1000 * self._retry_delay * 2.0 ** min(delivery.delivery_count - 1, 32)
            self._doubt_until = time.monotonic() + 3 * self.extend_every
            settle.outcome = SETTLE_OUTCOME_RETRY
            settle.retry_delay_ms = min(round(delay_ms), _LONGEST_RETRY_DELAY_MS)
            _log.warning(
                'the handler failed for event %s, delivery %d; it is delivered again after %.1f s',
                delivery.event.event_id,
                delivery.delivery_count,
                settle.retry_delay_ms / 1000,
                exc_info=failure,
            )

    def settle(self, stop: threading.Event | asyncio.Event | None) -> SettleRequest | None:
        """The settle that must be tried before the next event is handled, if any.

        After `stop`, a failed try is not repeated: the event is delivered again.
        """
        return None if self.settle_delay and stop is not None and stop.is_set() else self._settle

    @contextlib.contextmanager
    def settling(self) -> Iterator[None]:
        """One try of a settle, after its delay. Raises an error if a repetition cannot help."""
        try:
            yield
        except grpc.RpcError as raised:
            error = Error.of(raised)
            self.settle_delay = self._settle_backoff.after(error)
            if self.settle_delay == math.inf:
                raise error from None
            _log.info('a settle ended with %s; it is repeated in %.1f s', error, self.settle_delay)

    def settled(self, settle: SettleRequest, response: SettleResponse) -> None:
        """Ends a settle with its response, and makes the settle that must follow it, if any."""
        self._settle = None
        self._settle_backoff, self.settle_delay = Backoff(), 0.0
        self._drop(response.superseded_tokens)
        if settle.outcome == SETTLE_OUTCOME_EXTEND:
            return
        with self._lock:
            for token in settle.tokens:
                self._held.pop(token, None)
        # With this event, the consumer has lost the later ones of its key. The gateway states which ones these are.
        if settle.outcome == SETTLE_OUTCOME_RETRY or response.superseded_tokens:
            self._confirm()

    def extension(self) -> SettleRequest | None:
        """The settle that extends everything that the consumer holds. None if it holds nothing."""
        return self._settle_held(SETTLE_OUTCOME_EXTEND)

    def release(self) -> SettleRequest | None:
        """The settle that gives back everything that the consumer holds, after its stream was cancelled.

        The cancellation alone can be lost if the connection is then closed. None if the consumer holds nothing.
        """
        return self._settle_held(SETTLE_OUTCOME_RETRY)

    @contextlib.contextmanager
    def trying(self) -> Iterator[None]:
        """One try of an extension or of the release, which need not succeed."""
        try:
            yield
        except (grpc.RpcError, ValueError) as error:  # gRPC raises ValueError if the channel is closed.
            _log.info('%s could not settle what it holds: %s', self._name, error)

    def extended(self, response: SettleResponse) -> None:
        """Drops the events that the gateway could not extend."""
        self._drop(response.superseded_tokens)

    def _confirm(self) -> None:
        """Makes the settle with whose response the gateway states which of the held deliveries are no longer valid."""
        self._has_doubtful = False
        self._settle = self.extension()

    def _settle_held(self, outcome: SettleOutcome.ValueType) -> SettleRequest | None:
        with self._lock:
            tokens = list(self._held)
        return SettleRequest(subscription=self._subscription, tokens=tokens, outcome=outcome) if tokens else None

    def _drop(self, tokens: Iterable[str]) -> None:
        """Forgets deliveries that are no longer valid: the gateway delivers their events again, or has settled them."""
        with self._lock:
            dropped = [self._held.pop(token) for token in tokens if token in self._held]
        for delivery in dropped:
            _log.warning('the consumer has lost event %s, which can be delivered again', delivery.event.event_id)
