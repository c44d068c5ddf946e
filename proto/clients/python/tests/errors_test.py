"""The errors of calls of the generated stubs."""

import threading
import unittest

import grpc

import stampgate
from stampgate import Violation
from stampgate.testing import FakeGateway, failure
from stampgate.v1 import event_service_pb2, policy_service_pb2
from stampgate.v1.event_service_pb2_grpc import EventServiceStub
from stampgate.v1.policy_service_pb2_grpc import PolicyServiceStub

REQUEST = policy_service_pb2.GetPolicyRequest(organization_id='here', policy_id='4711')
METHOD = 'PolicyService/GetPolicy'


class ErrorTest(unittest.TestCase):
    def setUp(self) -> None:
        self.gateway = self.enterContext(FakeGateway())
        self.channel = self.enterContext(stampgate.connect(self.gateway.address))
        self.policies = PolicyServiceStub(self.channel)

    def test_an_error_carries_all_details(self):
        self.gateway.answers(
            METHOD,
            failure(
                grpc.StatusCode.INVALID_ARGUMENT,
                'INVALID_REQUEST',
                'the request is invalid',
                metadata={'caller': 'me'},
                violations=[Violation('policy_id', 'is required')],
                retry_delay=1.25,
            ),
        )
        with self.assertRaises(stampgate.Error) as raised:
            self.policies.GetPolicy(REQUEST)
        error = raised.exception
        self.assertIs(error.code(), grpc.StatusCode.INVALID_ARGUMENT)
        self.assertEqual((error.reason, error.domain), ('INVALID_REQUEST', 'stampgate'))
        self.assertEqual((error.message, error.details()), ('the request is invalid',) * 2)
        self.assertEqual(error.metadata, {'caller': 'me'})
        self.assertEqual(error.violations, [Violation('policy_id', 'is required')])
        self.assertEqual(error.retry_delay, 1.25)
        self.assertEqual(str(error), 'INVALID_ARGUMENT INVALID_REQUEST: the request is invalid; policy_id: is required')

    def test_an_error_of_the_library_has_no_reason(self):
        self.gateway.answers(METHOD, failure(grpc.StatusCode.INTERNAL, message='broken'))
        with self.assertRaises(stampgate.Error) as raised:
            self.policies.GetPolicy(REQUEST)
        self.assertEqual((raised.exception.reason, raised.exception.retry_delay), ('', None))

    def test_details_that_cannot_be_decoded_leave_code_and_message(self):
        details = grpc.aio.Metadata(('grpc-status-details-bin', b'\xff'))
        error = stampgate.Error(grpc.aio.AioRpcError(grpc.StatusCode.UNKNOWN, grpc.aio.Metadata(), details, 'broken'))
        self.assertEqual((error.message, error.reason), ('broken', ''))

    def test_a_name_that_is_not_found_is_no_rejected_connection(self):
        for message, rejected in [
            ('connections to all backends failing; last error: Ssl handshake failed', True),
            ('errors resolving tls.example:7443: address lookup failed', False),
        ]:
            error = failure(grpc.StatusCode.UNAVAILABLE, message=message)
            with self.subTest(message):
                self.assertIs(error.is_connection_rejected, rejected)
                self.assertFalse(error.is_outcome_unknown)

    def test_every_way_to_call_raises_the_error(self):
        self.gateway.answers(METHOD, failure(grpc.StatusCode.NOT_FOUND, 'POLICY_NOT_FOUND', domain='upstream'))
        self.gateway.answers('EventService/Subscribe', [failure(grpc.StatusCode.NOT_FOUND, 'POLICY_NOT_FOUND')])
        events = EventServiceStub(self.channel)
        future = self.policies.GetPolicy.future(REQUEST)
        self.assertIsInstance(future.exception(), stampgate.Error)
        for call in (
            lambda: self.policies.GetPolicy(REQUEST),
            lambda: self.policies.GetPolicy.with_call(REQUEST),
            future.result,
            lambda: next(events.Subscribe(event_service_pb2.SubscribeRequest())),
        ):
            with self.assertRaises(stampgate.Error) as raised:
                call()
            self.assertEqual(raised.exception.reason, 'POLICY_NOT_FOUND')

    def test_a_channel_with_an_interceptor_of_the_callers_own_raises_the_error(self):
        class Interceptor(grpc.UnaryUnaryClientInterceptor):
            def intercept_unary_unary(self, continuation, details, request):
                call = continuation(details, request)
                self.seen = call.exception()
                return call

        interceptor = Interceptor()
        policies = PolicyServiceStub(grpc.intercept_channel(self.channel, interceptor))
        self.gateway.answers(METHOD, failure(grpc.StatusCode.NOT_FOUND, 'POLICY_NOT_FOUND'))
        method = policies.GetPolicy
        for call in (method, method.with_call, lambda request: method.future(request).result()):
            with self.assertRaises(stampgate.Error) as raised:
                call(REQUEST)
            self.assertEqual(raised.exception.reason, 'POLICY_NOT_FOUND')
            self.assertIsInstance(interceptor.seen, stampgate.Error)

    def test_a_call_without_a_deadline_has_that_of_the_channel(self):
        self.enterContext(Blocked(self.gateway))
        with stampgate.connect(self.gateway.address, timeout=0.2) as channel:
            with self.assertRaises(stampgate.Error) as raised:
                PolicyServiceStub(channel).GetPolicy(REQUEST)
        self.assertIs(raised.exception.code(), grpc.StatusCode.DEADLINE_EXCEEDED)

    def test_a_future_can_be_cancelled(self):
        self.enterContext(Blocked(self.gateway))
        future = self.policies.GetPolicy.future(REQUEST)
        future.cancel()
        with self.assertRaises(grpc.FutureCancelledError):
            future.result()


class Blocked:
    """Lets the calls of GetPolicy wait."""

    def __init__(self, gateway: FakeGateway) -> None:
        self._ended = threading.Event()
        gateway.answers(METHOD, self._answer)

    def _answer(self, _):
        self._ended.wait()
        return policy_service_pb2.GetPolicyResponse()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._ended.set()


if __name__ == '__main__':
    unittest.main()
