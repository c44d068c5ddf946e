"""The calls for asyncio, against the fake gateway."""

import asyncio
import contextlib
import unittest

import grpc

import stampgate
from stampgate import aio
from stampgate.testing import FakeGateway, failure
from stampgate.v1 import activity_pb2, events_pb2, policy_service_pb2, stamp_service_pb2
from stampgate.v1.event_service_pb2 import SubscribeRequest, SubscribeResponse
from stampgate.v1.event_service_pb2_grpc import EventServiceStub
from stampgate.v1.policy_service_pb2_grpc import PolicyServiceStub
from stampgate.v1.stamp_service_pb2_grpc import StampServiceStub

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

    async def test_prepare_sends_the_request_of_the_method(self):
        self.gateway.answers('StampService/Prepare', stamp_service_pb2.PrepareResponse(body=b'{}'))
        prepared = await stampgate.prepare(StampServiceStub(self.channel).Prepare, self.request)
        self.assertEqual(prepared.body, b'{}')
        (sent,) = self.gateway.requests('StampService/Prepare')
        self.assertEqual(sent.method, '/stampgate.v1.PolicyService/CreatePolicies')
        self.assertEqual(sent.request, self.request.SerializeToString())


if __name__ == '__main__':
    unittest.main()
