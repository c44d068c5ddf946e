"""The calls for asyncio, against the fake gateway."""

import asyncio
import contextlib
import functools
import itertools
import threading
import unittest

import grpc

import stampgate
from stampgate import aio
from stampgate.testing import FakeGateway, failure
from stampgate.v1 import activity_pb2, events_pb2, policy_service_pb2, stamp_service_pb2, subscriptions_pb2
from stampgate.v1.event_service_pb2 import SubscribeRequest, SubscribeResponse
from stampgate.v1.event_service_pb2_grpc import EventServiceStub
from stampgate.v1.policy_service_pb2_grpc import PolicyServiceStub
from stampgate.v1.stamp_service_pb2_grpc import StampServiceStub
from stampgate.v1.subscription_service_pb2 import ConsumeResponse, SettleResponse
from stampgate.v1.subscription_service_pb2_grpc import SubscriptionServiceStub

METHOD = 'PolicyService/CreatePolicies'
COMPLETED = policy_service_pb2.CreatePoliciesResponse(
    activity=activity_pb2.Activity(status=activity_pb2.ACTIVITY_STATUS_COMPLETED)
)
BROKEN = failure(grpc.StatusCode.UNAVAILABLE, message='Socket closed')
DENIED = failure(grpc.StatusCode.PERMISSION_DENIED, 'DENIED_BY_POLICY')


class AioTest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.gateway = self.enterContext(FakeGateway())
        self.channel = await self.enterAsyncContext(aio.connect(self.gateway.address, timeout=5))
        self.policies = PolicyServiceStub(self.channel)
        self.request = policy_service_pb2.CreatePoliciesRequest(organization_id='here')

    async def test_a_submit_is_repeated_with_its_key(self):
        self.gateway.answers(METHOD, BROKEN, COMPLETED)
        await aio.submit(self.policies.CreatePolicies, self.request)
        keys = [request.idempotency_key for request in self.gateway.requests(METHOD)]
        self.assertEqual(len(keys), 2)
        self.assertEqual(len(set(keys)), 1)

    async def test_an_outcome_that_stays_unknown_is_raised(self):
        self.gateway.answers(METHOD, BROKEN)
        with self.assertRaises(stampgate.OutcomeUnknown) as raised:
            await aio.submit(self.policies.CreatePolicies, self.request, timeout=0.3)
        self.assertIs(raised.exception.last.code(), grpc.StatusCode.UNAVAILABLE)

    async def test_a_cancelled_submit_leaves_its_key_in_the_request(self):
        loop, arrived = asyncio.get_running_loop(), asyncio.Event()

        def wait(_):
            loop.call_soon_threadsafe(arrived.set)
            return failure(grpc.StatusCode.UNAVAILABLE, 'UPSTREAM_FAILING', retry_delay=3)

        self.gateway.answers(METHOD, wait)
        submit = asyncio.create_task(aio.submit(self.policies.CreatePolicies, self.request))
        await arrived.wait()
        submit.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await submit
        (sent,) = self.gateway.requests(METHOD)
        self.assertEqual(self.request, sent)
        self.assertTrue(sent.HasField('idempotency_key'))

    async def test_calls_of_the_stubs_raise_the_error(self):
        self.gateway.answers(METHOD, DENIED)
        with self.assertRaises(stampgate.Error) as raised:
            await self.policies.CreatePolicies(self.request)
        self.assertEqual(raised.exception.reason, 'DENIED_BY_POLICY')
        self.gateway.answers('EventService/Subscribe', [DENIED])
        events = EventServiceStub(self.channel)
        with self.assertRaises(stampgate.Error):
            await events.Subscribe(SubscribeRequest()).read()
        with self.assertRaises(stampgate.Error):
            async for _ in events.Subscribe(SubscribeRequest()):
                pass

    async def test_a_subscription_resumes_after_the_last_event(self):
        event = events_pb2.Event(event_id='a', cursor='a')
        self.gateway.answers(
            'EventService/Subscribe', [SubscribeResponse(events=[event], cursor='a'), BROKEN], [DENIED]
        )
        names = []
        with self.assertRaises(stampgate.Error):
            async for each in aio.subscribe(EventServiceStub(self.channel).Subscribe, SubscribeRequest()):
                names.append(each.event_id)
        self.assertEqual(names, ['a'])
        first, second = self.gateway.requests('EventService/Subscribe')
        self.assertEqual((first.end, second.cursor), (events_pb2.LOG_END_EARLIEST, 'a'))

    async def test_a_loop_that_ends_early_ends_the_call(self):
        messages = [SubscribeResponse(events=[events_pb2.Event(cursor='a')], cursor='a')] * 100_000
        self.gateway.answers('EventService/Subscribe', messages)
        subscription = aio.subscribe(EventServiceStub(self.channel).Subscribe, SubscribeRequest())
        async with contextlib.aclosing(subscription):
            async for _ in subscription:
                break

    def consumes(self, *settles, within_ms=30_000):
        """Sets a stream with the deliveries a and b that stays open, and the answers to settles. Returns consume()."""
        ended = threading.Event()
        self.addCleanup(ended.set)
        deliveries = [
            subscriptions_pb2.Delivery(event=events_pb2.Event(event_id=name), token=name, delivery_count=1)
            for name in 'ab'
        ]
        first = [ConsumeResponse(settle_within_ms=within_ms), ConsumeResponse(deliveries=deliveries)]
        self.gateway.answers('SubscriptionService/Consume', lambda _: itertools.chain(first, iter(ended.wait, True)))
        self.gateway.answers('SubscriptionService/Settle', *settles or [SettleResponse()])
        return functools.partial(aio.consume, SubscriptionServiceStub(self.channel), 'payouts')

    def settles(self):
        return [
            (subscriptions_pb2.SettleOutcome.Name(request.outcome).removeprefix('SETTLE_OUTCOME_'), *request.tokens)
            for request in self.gateway.requests('SubscriptionService/Settle')
        ]

    async def test_a_consumer_handles_one_event_at_a_time_until_it_is_stopped(self):
        stop = asyncio.Event()

        async def handle(delivery):
            if delivery.event.event_id == 'a':
                raise stampgate.Park('no such account')
            stop.set()

        await self.consumes()(handle, stop=stop)
        self.assertEqual(self.settles(), [('PARK', 'a'), ('DONE', 'b')])

    async def test_a_later_event_of_the_key_that_was_on_its_way_at_the_retry_is_not_handled(self):
        retried, ended, handled, stop = threading.Event(), threading.Event(), [], asyncio.Event()
        self.addCleanup(ended.set)

        def delivered(name):
            event = events_pb2.Event(event_id=name)
            return ConsumeResponse(deliveries=[subscriptions_pb2.Delivery(event=event, token=name, delivery_count=1)])

        def crossing(_):
            yield from (ConsumeResponse(settle_within_ms=30_000), delivered('a'))
            retried.wait(20)
            yield from (delivered('b'), delivered('c'))
            yield from iter(ended.wait, True)

        def settle(request):
            if request.outcome == subscriptions_pb2.SETTLE_OUTCOME_RETRY:
                retried.set()
            is_extension = request.outcome == subscriptions_pb2.SETTLE_OUTCOME_EXTEND
            return SettleResponse(superseded_tokens=['b'] if is_extension else [])

        async def handle(delivery):
            handled.append(delivery.event.event_id)
            if handled == ['a']:
                raise OSError
            stop.set()

        consume = self.consumes()
        self.gateway.answers('SubscriptionService/Consume', crossing)
        self.gateway.answers('SubscriptionService/Settle', settle)
        await asyncio.wait_for(consume(handle, stop=stop), 20)
        self.assertEqual(handled, ['a', 'c'])

    async def test_stop_ends_a_consumer_that_waits(self):
        stop = asyncio.Event()

        async def handle(delivery):
            if delivery.event.event_id == 'b':
                asyncio.get_running_loop().call_later(0.1, stop.set)

        await self.consumes()(handle, stop=stop)
        self.assertEqual(self.settles(), [('DONE', 'a'), ('DONE', 'b')])

    async def test_a_cancelled_consumer_gives_back_what_it_holds(self):
        started = asyncio.Event()

        async def handle(_):
            started.set()
            await asyncio.Event().wait()

        consumer = asyncio.create_task(self.consumes()(handle))
        await started.wait()
        consumer.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await consumer
        self.assertEqual(self.settles(), [('RETRY', 'a', 'b')])

    async def test_a_slow_handler_has_its_events_extended(self):
        late, stop = failure(grpc.StatusCode.DEADLINE_EXCEEDED), asyncio.Event()
        consume = self.consumes(late, SettleResponse(), within_ms=300)

        async def handle(_):
            while len(self.settles()) < 2:
                await asyncio.sleep(0.01)
            stop.set()

        await consume(handle, stop=stop)
        self.assertEqual(self.settles()[:2], [('EXTEND', 'a', 'b')] * 2)
        self.assertEqual(self.settles()[-2:], [('DONE', 'a'), ('RETRY', 'b')])

    async def test_held_events_are_extended_within_the_time_that_the_latest_stream_states(self):
        consume, extended = self.consumes(), asyncio.Semaphore(0)
        loop = asyncio.get_running_loop()

        def settle(_):
            loop.call_soon_threadsafe(extended.release)
            return SettleResponse()

        async def handle(_):
            for _ in range(2):  # The second extension needs the new time too.
                await extended.acquire()

        first = ConsumeResponse(settle_within_ms=30_000)
        delivered = ConsumeResponse(deliveries=[subscriptions_pb2.Delivery(token='a', delivery_count=1)])
        streams = [[first, delivered, BROKEN], [ConsumeResponse(settle_within_ms=300), DENIED]]
        self.gateway.answers('SubscriptionService/Consume', *streams)
        self.gateway.answers('SubscriptionService/Settle', settle)
        with self.assertRaises(stampgate.Error):
            await asyncio.wait_for(consume(handle), 20)
        self.assertEqual(self.settles(), [('EXTEND', 'a'), ('EXTEND', 'a'), ('DONE', 'a')])

    async def test_a_consumer_resumes_with_what_it_holds_and_ends_with_the_error_of_the_gateway(self):
        consume, resumed = self.consumes(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def again(_):
            loop.call_soon_threadsafe(resumed.set)
            return [DENIED]

        delivered = ConsumeResponse(deliveries=[subscriptions_pb2.Delivery(token='a', delivery_count=1)])
        first = ConsumeResponse(settle_within_ms=30_000)
        self.gateway.answers('SubscriptionService/Consume', [first, delivered, BROKEN], again)
        with self.assertRaises(stampgate.Error):
            await consume(lambda _: resumed.wait())
        _, second = self.gateway.requests('SubscriptionService/Consume')
        self.assertEqual(second.held_tokens, ['a'])
        self.assertEqual(self.settles(), [('DONE', 'a')])

    async def test_prepare_sends_the_request_of_the_method(self):
        self.gateway.answers('StampService/Prepare', stamp_service_pb2.PrepareResponse(body=b'{}'))
        prepared = await stampgate.prepare(StampServiceStub(self.channel).Prepare, self.request)
        self.assertEqual(prepared.body, b'{}')
        (sent,) = self.gateway.requests('StampService/Prepare')
        self.assertEqual(sent.method, '/stampgate.v1.PolicyService/CreatePolicies')
        self.assertEqual(sent.request, self.request.SerializeToString())


if __name__ == '__main__':
    unittest.main()
