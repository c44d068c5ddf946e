"""The synchronous calls: connect, submit, subscribe, consume. `stampgate.aio` has the same for asyncio."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import grpc
from google.protobuf.message import Message

from stampgate.channel import RenewedChannel
from stampgate.consumers import RELEASE_TIMEOUT, Consumer
from stampgate.events import CursorStore, Subscription
from stampgate.submits import Submission
from stampgate.v1.activity_result_pb2 import ActivityResult
from stampgate.v1.event_service_pb2 import SubscribeRequest, SubscribeResponse
from stampgate.v1.events_pb2 import Event
from stampgate.v1.subscription_service_pb2_grpc import SubscriptionServiceStub
from stampgate.v1.subscriptions_pb2 import Delivery

_CHECK_STOP_EVERY = 0.1
_Request = TypeVar('_Request', bound=Message)


class Channel(RenewedChannel, grpc.Channel):
    """A channel for the generated stubs, whose calls have a deadline and raise Error."""

    _library = grpc

    def subscribe(self, callback: Callable[[grpc.ChannelConnectivity], None], try_to_connect: bool = False) -> None:
        self.current().subscribe(callback, try_to_connect)

    def unsubscribe(self, callback: Callable[[grpc.ChannelConnectivity], None]) -> None:
        self.current().unsubscribe(callback)

    def close(self) -> None:
        """Ends all calls in progress, and the connections."""
        for channel in list(self._opened):
            channel.close()

    def __enter__(self) -> Channel:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


connect = Channel


def submit(
    method: grpc.UnaryUnaryMultiCallable[_Request, Any],
    request: _Request,
    *,
    key: str | None = None,
    wait: bool = False,
    timeout: float | None = None,
) -> ActivityResult:
    """Makes a submit, repeats it while a repetition is safe and may help, and returns the result of its activity.

    Sets an idempotency key unless the request has a key, a timestamp_ms or a client_stamp. All tries together last at
    most `timeout` seconds, by default as long as a call of the channel: 30 s. With `wait`, waits until the activity has
    ended.

    Raises ActivityPending, ActivityRejected or ActivityFailed if the activity is not completed, OutcomeUnknown if
    upstream may have acted, and otherwise the Error of the last try; none of the first four is a kind of Error. Changes
    `request` only if another exception, such as KeyboardInterrupt, ends the submit: `request` then has the key, and
    `submit(method, request)` repeats it safely.
    """
    submission = Submission(method, request, key, wait, timeout)
    while submission.result is None:
        with submission.attempt():
            time.sleep(submission.delay)
            submission.receive(submission.send())
    return submission.result


def subscribe(
    method: grpc.UnaryStreamMultiCallable[SubscribeRequest, SubscribeResponse],
    request: SubscribeRequest,
    cursor: CursorStore | None = None,
) -> Iterator[Event]:
    """Iterates over events, and resumes by itself after the stream ends.

    Starts at the cursor that `cursor` has saved, or else where `request` starts, or else at the earliest event. Saves
    the cursor of an event when the body of the loop has ended without an exception, `break` or `return`; also saves the
    cursors of heartbeats.

    Waits and repeats while the gateway cannot be reached, and logs this to the logger `stampgate`, at the level INFO.
    Raises Gap if events are missing, and Error if a repetition cannot help.
    """
    subscription = Subscription(method, request, cursor)
    while True:
        time.sleep(subscription.delay)
        with subscription.stream() as stream:
            for message in stream:
                yield from subscription.events(message)


def consume(
    stub: SubscriptionServiceStub,
    subscription: str,
    handle: Callable[[Delivery], object],
    *,
    max_unsettled: int = 10,
    retry_delay: float = 1.0,
    stop: threading.Event | None = None,
) -> None:
    """Handles the events of a shared subscription, and shares them with all its other consumers.

    Calls `handle` for one event at a time, in this thread, and settles the event before the next one. If `handle`
    returns, the event is done. If it raises Park, the event is parked. If it raises another Exception, the event is
    delivered again after `retry_delay` seconds, and after twice as long each further time, up to an hour. Handling an
    event twice must do no harm. For more events at a time, call consume() in more threads or processes.

    Holds at most `max_unsettled` events, and extends them, also while `handle` runs.

    Resumes by itself, and logs to the logger `stampgate`, as subscribe() does. Returns after `stop` is set and the
    handler has returned: its event is then settled, and the gateway delivers the other held ones to other consumers. An
    exception that is no Exception, such as KeyboardInterrupt, ends it at once, and the event is delivered again. Raises
    Gap if events are missing, after the held ones are handled: the next consume() continues after the gap. Raises Error
    if a repetition cannot help.
    """
    consumer = Consumer(stub, subscription, max_unsettled, retry_delay)
    with _Threads(stub, consumer) as threads:
        while (delivery := threads.next(stop)) is not None:
            if not consumer.must_confirm():
                failure = None
                try:
                    handle(delivery)
                except Exception as raised:
                    failure = raised
                consumer.handled(delivery, failure)
            while (settle := consumer.settle(stop)) is not None:
                with consumer.settling():
                    time.sleep(consumer.settle_delay)
                    consumer.settled(settle, stub.Settle(settle))


class _Threads:
    """The threads of a consumer: one receives deliveries, and one extends them."""

    def __init__(self, stub: SubscriptionServiceStub, consumer: Consumer) -> None:
        self._stub, self._consumer = stub, consumer
        self._arrived = threading.Condition()
        self._leaving = threading.Event()
        self._must_extend = threading.Event()
        self._stream: Any = None
        self._failure: Exception | None = None

    def __enter__(self) -> _Threads:
        for run in (self._receive, self._extend):
            threading.Thread(target=run, daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._leaving.set()
        self._must_extend.set()  # ends its wait
        if self._stream is not None:
            self._stream.cancel()
        if (request := self._consumer.release()) is not None:
            with self._consumer.trying():
                self._stub.Settle(request, timeout=RELEASE_TIMEOUT)

    def next(self, stop: threading.Event | None) -> Delivery | None:
        """Waits for the delivery to handle next. Returns None after `stop` is set."""
        with self._arrived:
            while stop is None or not stop.is_set():
                if (delivery := self._consumer.next()) is not None:
                    return delivery
                if self._failure is not None:
                    raise self._failure
                # A handler of a signal may set `stop` in this thread, so nothing waits for it with a lock.
                self._arrived.wait(None if stop is None else _CHECK_STOP_EVERY)
        return None

    def _receive(self) -> None:
        try:
            while not self._leaving.wait(self._consumer.delay):
                with self._consumer.stream() as self._stream:
                    if self._leaving.is_set():
                        return
                    for message in self._stream:
                        if self._consumer.received(message):
                            self._must_extend.set()
                        with self._arrived:
                            self._arrived.notify()
        except Exception as failure:
            with self._arrived:
                self._failure = failure
                self._arrived.notify()

    def _extend(self) -> None:
        while True:
            self._must_extend.wait(self._consumer.extend_every)
            self._must_extend.clear()
            if self._leaving.is_set():
                return
            if (request := self._consumer.extension()) is not None:
                with self._consumer.trying():
                    self._consumer.extended(self._stub.Settle(request, timeout=self._consumer.extend_every))
