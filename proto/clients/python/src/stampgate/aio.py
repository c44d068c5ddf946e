"""The calls for asyncio: connect, submit, subscribe, consume."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

import grpc
import grpc.aio
from google.protobuf.message import Message

from stampgate.channel import RenewedChannel
from stampgate.consumers import RELEASE_TIMEOUT, Consumer
from stampgate.events import CursorStore, Subscription
from stampgate.submits import Submission
from stampgate.v1.activity_result_pb2 import ActivityResult
from stampgate.v1.event_service_pb2 import SubscribeRequest, SubscribeResponse
from stampgate.v1.events_pb2 import Event
from stampgate.v1.subscriptions_pb2 import Delivery

if TYPE_CHECKING:
    from stampgate.v1.subscription_service_pb2_grpc import SubscriptionServiceAsyncStub

_Request = TypeVar('_Request', bound=Message)


class Channel(RenewedChannel, grpc.aio.Channel):
    """A channel for the generated stubs; see stampgate.Channel. gRPC calls `token` in a thread of its own."""

    _library = grpc.aio

    def get_state(self, try_to_connect: bool = False) -> Any:
        return self.current().get_state(try_to_connect)

    async def wait_for_state_change(self, last_observed_state: grpc.ChannelConnectivity) -> None:
        await self.current().wait_for_state_change(last_observed_state)

    async def channel_ready(self) -> None:
        await self.current().channel_ready()

    async def close(self, grace: float | None = None) -> None:
        """Ends all calls in progress after `grace` seconds, and the connections."""
        for channel in list(self._opened):
            await channel.close(grace)

    async def __aenter__(self) -> Channel:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()


connect = Channel


async def submit(
    method: grpc.aio.UnaryUnaryMultiCallable[_Request, Any],
    request: _Request,
    *,
    key: str | None = None,
    wait: bool = False,
    timeout: float | None = None,
) -> ActivityResult:
    """Makes a submit, and repeats it while a repetition is safe and may help; see stampgate.submit.

    If asyncio.CancelledError ends it, `request` has the key, and `submit(method, request)` repeats it safely.
    """
    submission = Submission(method, request, key, wait, timeout)
    while submission.result is None:
        with submission.attempt():
            await asyncio.sleep(submission.delay)
            submission.receive(await submission.send())
    return submission.result


async def subscribe(
    method: grpc.aio.UnaryStreamMultiCallable[SubscribeRequest, SubscribeResponse],
    request: SubscribeRequest,
    cursor: CursorStore | None = None,
) -> AsyncIterator[Event]:
    """Iterates over events, and resumes by itself; see stampgate.subscribe. To leave the loop early, use aclosing()."""
    subscription = Subscription(method, request, cursor)
    while True:
        await asyncio.sleep(subscription.delay)
        with subscription.stream() as stream:
            async for message in stream:
                for event in subscription.events(message):
                    yield event


async def consume(
    stub: SubscriptionServiceAsyncStub,
    subscription: str,
    handle: Callable[[Delivery], Awaitable[object]],
    *,
    max_unsettled: int = 10,
    retry_delay: float = 1.0,
    stop: asyncio.Event | None = None,
) -> None:
    """Handles the events of a shared subscription; see stampgate.consume. For more events at a time, start more tasks.

    If the task is cancelled, the gateway delivers all held events again at once, also the one that is handled.
    """
    consumer = Consumer(stub, subscription, max_unsettled, retry_delay)
    arrived, must_extend = asyncio.Event(), asyncio.Event()

    async def receive() -> None:
        try:
            while True:
                await asyncio.sleep(consumer.delay)
                with consumer.stream() as stream:
                    async for message in stream:
                        if consumer.received(message):
                            must_extend.set()
                        arrived.set()
        finally:
            arrived.set()

    async def extend() -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(consumer.extend_every):
                    await must_extend.wait()
            must_extend.clear()
            if (request := consumer.extension()) is not None:
                with consumer.trying():
                    consumer.extended(await stub.Settle(request, timeout=consumer.extend_every))

    async def wake() -> None:
        if stop is not None:
            await stop.wait()
            arrived.set()

    tasks = [asyncio.create_task(run()) for run in (receive, extend, wake)]
    receiving = tasks[0]
    try:
        while stop is None or not stop.is_set():
            arrived.clear()
            if (delivery := consumer.next()) is None:
                if receiving.done():
                    return receiving.result()
                await arrived.wait()
                continue
            if not consumer.must_confirm():
                failure = None
                try:
                    await handle(delivery)
                except Exception as raised:
                    failure = raised
                consumer.handled(delivery, failure)
            while (settle := consumer.settle(stop)) is not None:
                with consumer.settling():
                    await asyncio.sleep(consumer.settle_delay)
                    consumer.settled(settle, await stub.Settle(settle))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if (request := consumer.release()) is not None:
            with consumer.trying():
                await stub.Settle(request, timeout=RELEASE_TIMEOUT)
