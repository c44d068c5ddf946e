"""The synchronous calls: connect, submit, subscribe, prepare. `stampgate.aio` has the same for asyncio."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import grpc
from google.protobuf.message import Message

from stampgate.channel import Channel
from stampgate.connection import DEFAULT_TIMEOUT, Settings
from stampgate.errors import Error
from stampgate.events import CursorStore, Subscription
from stampgate.submits import Submit
from stampgate.v1 import activity_result_pb2, event_service_pb2, events_pb2, stamp_service_pb2

_Request = TypeVar('_Request', bound=Message)
_log = logging.getLogger('stampgate')


def connect(
    address: str,
    *,
    ca: str | os.PathLike[str] | None = None,
    certificate: str | os.PathLike[str] | None = None,
    key: str | os.PathLike[str] | None = None,
    token: Callable[[], str] | None = None,
    token_file: str | os.PathLike[str] | None = None,
    timeout: float = DEFAULT_TIMEOUT,
    options: Sequence[tuple[str, Any]] = (),
) -> Channel:
    """A channel for the generated stubs.

    With `ca`, connects with TLS. The three PEM files are read again after they have changed. `token` is called for each
    call, and `token_file` read. `timeout` is the deadline of calls that set none, in seconds. `options` are gRPC's
    channel arguments, such as ('grpc.max_receive_message_length', 16 << 20).
    """
    return Channel(Settings(address, ca, certificate, key, token, token_file, timeout, tuple(options)))


def submit(
    method: grpc.UnaryUnaryMultiCallable[_Request, Any],
    request: _Request,
    *,
    key: str | None = None,
    wait: bool = False,
    timeout: float | None = None,
) -> activity_result_pb2.ActivityResult:
    """Makes a submit, repeats it while a repetition is safe and may help, and returns the result of its activity.

    Sets an idempotency key unless the request has a key, a timestamp_ms or a client_stamp. All tries together last at
    most `timeout` seconds. With `wait`, waits until the activity has ended.

    Raises ActivityPending, ActivityRejected or ActivityFailed if the activity is not completed, OutcomeUnknown if
    upstream may have acted, and otherwise the Error of the last try.
    """
    state = Submit(method, request, key, wait, timeout)
    while True:
        try:
            response = method(state.request, timeout=state.remaining())
            delay = state.after_response(response)
        except grpc.RpcError as error:
            delay = state.after_error(Error.of(error))
        if delay is None:
            result: activity_result_pb2.ActivityResult = response.activity.result
            return result
        time.sleep(delay)


def subscribe(
    method: grpc.UnaryStreamMultiCallable[
        event_service_pb2.SubscribeRequest, event_service_pb2.SubscribeResponse
    ],
    request: event_service_pb2.SubscribeRequest,
    cursor: CursorStore | None = None,
) -> Iterator[events_pb2.Event]:
    """Iterates over events, and resumes by itself after the stream ends.

    Starts at the cursor that `cursor` has saved, or else where `request` starts. Saves the cursor of an event when the
    body of the loop has ended without an exception, `break` or `return`; also saves the cursors of heartbeats.

    Raises Gap if events are missing, and Error if a repetition cannot help.
    """
    state = Subscription(request, cursor)
    while True:
        call = method(state.request)
        try:
            for message in call:
                for event in message.events:
                    yield event
                    state.passed(event.cursor)
                state.passed(message.cursor)
            delay = state.after_end()
        except grpc.RpcError as error:
            delay = state.after_error(Error.of(error))
            _log.info('the subscription ended with %s; it resumes in %.1f s', error, delay)
        finally:
            call.cancel()
        time.sleep(delay)


def prepare(
    method: grpc.UnaryUnaryMultiCallable[stamp_service_pb2.PrepareRequest, stamp_service_pb2.PrepareResponse],
    prepared: grpc.UnaryUnaryMultiCallable[_Request, Any],
    request: _Request,
) -> stamp_service_pb2.PrepareResponse:
    """The bytes of `request` for an end user to stamp. `method` is StampService.Prepare, `prepared` the request's."""
    path: str = prepared.path  # type: ignore[attr-defined]
    return method(stamp_service_pb2.PrepareRequest(method=path, request=request.SerializeToString()))
