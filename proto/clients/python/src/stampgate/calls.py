"""The synchronous calls: connect, submit, subscribe. `stampgate.aio` has the same for asyncio."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import grpc
from google.protobuf.message import Message

from stampgate.channel import RenewedChannel
from stampgate.events import CursorStore, Subscription
from stampgate.submits import Submission
from stampgate.v1.activity_result_pb2 import ActivityResult
from stampgate.v1.event_service_pb2 import SubscribeRequest, SubscribeResponse
from stampgate.v1.events_pb2 import Event

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
