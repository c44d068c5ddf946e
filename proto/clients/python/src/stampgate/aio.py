"""The calls for asyncio: connect, submit, subscribe, prepare."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from typing import Any, TypeVar

import grpc
import grpc.aio
from google.protobuf.message import Message

from stampgate.connection import DEFAULT_TIMEOUT, Connection, Settings
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
    """A channel for the generated stubs; see stampgate.connect. gRPC calls `token` in a thread of its own."""
    return Channel(Settings(address, ca, certificate, key, token, token_file, timeout, tuple(options)))


async def submit(
    method: grpc.aio.UnaryUnaryMultiCallable[_Request, Any],
    request: _Request,
    *,
    key: str | None = None,
    wait: bool = False,
    timeout: float | None = None,
) -> activity_result_pb2.ActivityResult:
    """Makes a submit, repeats it while a repetition is safe and may help; see stampgate.submit."""
    state = Submit(method, request, key, wait, timeout)
    while True:
        try:
            response = await method(state.request, timeout=state.remaining())
            delay = state.after_response(response)
        except grpc.RpcError as error:
            delay = state.after_error(Error.of(error))
        if delay is None:
            result: activity_result_pb2.ActivityResult = response.activity.result
            return result
        await asyncio.sleep(delay)


async def subscribe(
    method: grpc.aio.UnaryStreamMultiCallable[
        event_service_pb2.SubscribeRequest, event_service_pb2.SubscribeResponse
    ],
    request: event_service_pb2.SubscribeRequest,
    cursor: CursorStore | None = None,
) -> AsyncIterator[events_pb2.Event]:
    """Iterates over events, and resumes by itself; see stampgate.subscribe. To leave the loop early, use aclosing()."""
    state = Subscription(request, cursor)
    while True:
        call = method(state.request)
        try:
            async for message in call:
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
        await asyncio.sleep(delay)


async def prepare(
    method: grpc.aio.UnaryUnaryMultiCallable[stamp_service_pb2.PrepareRequest, stamp_service_pb2.PrepareResponse],
    prepared: grpc.aio.UnaryUnaryMultiCallable[_Request, Any],
    request: _Request,
) -> stamp_service_pb2.PrepareResponse:
    """The bytes of `request` for an end user to stamp; see stampgate.prepare."""
    path: str = prepared.path  # type: ignore[attr-defined]
    return await method(stamp_service_pb2.PrepareRequest(method=path, request=request.SerializeToString()))


class Channel(grpc.aio.Channel):
    """A channel for the generated stubs, whose calls have a deadline and raise Error."""

    def __init__(self, settings: Settings) -> None:
        self.timeout = settings.timeout
        self.connection = Connection(settings, _open)

    def unary_unary(self, method: str, *args: Any, **kwargs: Any) -> Any:
        return _Method(self, 'unary_unary', method, args, kwargs)

    def unary_stream(self, method: str, *args: Any, **kwargs: Any) -> Any:
        return _Method(self, 'unary_stream', method, args, kwargs)

    def stream_unary(self, *args: Any, **kwargs: Any) -> Any:
        return self.connection.current()[0].stream_unary(*args, **kwargs)

    def stream_stream(self, *args: Any, **kwargs: Any) -> Any:
        return self.connection.current()[0].stream_stream(*args, **kwargs)

    def get_state(self, try_to_connect: bool = False) -> grpc.ChannelConnectivity:
        return self.connection.current()[0].get_state(try_to_connect)

    async def wait_for_state_change(self, last_observed_state: grpc.ChannelConnectivity) -> None:
        await self.connection.current()[0].wait_for_state_change(last_observed_state)

    async def channel_ready(self) -> None:
        await self.connection.current()[0].channel_ready()

    async def close(self, grace: float | None = None) -> None:
        """Ends all calls in progress after `grace` seconds, and the connections."""
        for channel in self.connection.all():
            await channel.close(grace)

    async def __aenter__(self) -> Channel:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()


def _open(settings: Settings) -> grpc.aio.Channel:
    credentials = settings.credentials()
    if credentials is None:
        return grpc.aio.insecure_channel(settings.address, settings.all_options())
    return grpc.aio.secure_channel(settings.address, credentials, settings.all_options())


class _Method:
    """A method of a stub: gRPC's multi-callable of the current channel."""

    def __init__(self, channel: Channel, kind: str, path: str, args: Any, kwargs: Any) -> None:
        self._channel, self._kind, self._args, self._kwargs = channel, kind, (path, *args), kwargs
        self.path = path
        self.timeout = channel.timeout if kind == 'unary_unary' else None

    def __call__(self, request: Any, *, timeout: float | None = None, **kwargs: Any) -> _Call:
        channel, methods = self._channel.connection.current()
        method = methods.get(self.path)
        if method is None:
            method = methods[self.path] = getattr(channel, self._kind)(*self._args, **self._kwargs)
        return _Call(channel, method(request, timeout=self.timeout if timeout is None else timeout, **kwargs))


class _Call:
    """A call in progress that raises Error. Keeps the call's channel open."""

    def __init__(self, channel: grpc.aio.Channel, call: Any) -> None:
        self._channel, self._call = channel, call

    def __getattr__(self, name: str) -> Any:
        return getattr(self._call, name)

    def __await__(self) -> Generator[Any, None, Any]:
        try:
            return (yield from self._call.__await__())
        except grpc.RpcError as error:
            raise Error.of(error) from None

    async def __aiter__(self) -> AsyncIterator[Any]:
        try:
            async for message in self._call:
                yield message
        except grpc.RpcError as error:
            raise Error.of(error) from None

    async def read(self) -> Any:
        try:
            return await self._call.read()
        except grpc.RpcError as error:
            raise Error.of(error) from None
