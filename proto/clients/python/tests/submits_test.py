"""Submits against the fake gateway."""

import _thread
import math
import time
import unittest
import uuid

import grpc

import stampgate
from stampgate.submits import Backoff
from stampgate.testing import FakeGateway, failure
from stampgate.v1 import activity_pb2, client_stamp_pb2, general_service_pb2, policy_service_pb2
from stampgate.v1.general_service_pb2_grpc import GeneralServiceStub
from stampgate.v1.policy_service_pb2_grpc import PolicyServiceStub

METHOD = 'PolicyService/CreatePolicies'
BROKEN = failure(grpc.StatusCode.UNAVAILABLE, message='Socket closed')
OUTCOME_UNKNOWN = failure(
    grpc.StatusCode.UNKNOWN, 'OUTCOME_UNKNOWN', metadata={'timestamp_ms': '1700000000000', 'fingerprint': 'sha256:00'}
)
DENIED = failure(grpc.StatusCode.PERMISSION_DENIED, 'DENIED_BY_POLICY')


def response(status: activity_pb2.ActivityStatus) -> policy_service_pb2.CreatePoliciesResponse:
    activity = activity_pb2.Activity(id='4711', status=status)
    if status == activity_pb2.ACTIVITY_STATUS_COMPLETED:
        activity.result.create_policies_result.policy_ids.append('one')
    return policy_service_pb2.CreatePoliciesResponse(activity=activity)


COMPLETED = response(activity_pb2.ACTIVITY_STATUS_COMPLETED)
NEEDS_VOTES = response(activity_pb2.ACTIVITY_STATUS_CONSENSUS_NEEDED)


class SubmitTest(unittest.TestCase):
    def setUp(self) -> None:
        self.gateway = self.enterContext(FakeGateway())
        self.channel = self.enterContext(stampgate.connect(self.gateway.address))
        self.policies = PolicyServiceStub(self.channel)
        self.request = policy_service_pb2.CreatePoliciesRequest(organization_id='here')

    def submit(self, *answers, **options):
        self.gateway.answers(METHOD, *answers)
        return stampgate.submit(self.policies.CreatePolicies, self.request, **options)

    def keys(self) -> list[str]:
        return [request.idempotency_key for request in self.gateway.requests(METHOD)]

    def test_the_result_of_a_completed_activity_is_returned(self):
        self.assertEqual(self.submit(COMPLETED).create_policies_result.policy_ids, ['one'])

    def test_a_key_is_a_uuid_that_the_repetitions_have_too(self):
        self.submit(BROKEN, OUTCOME_UNKNOWN, failure(grpc.StatusCode.DEADLINE_EXCEEDED, 'OUTCOME_UNKNOWN'), COMPLETED)
        self.assertEqual(len(self.keys()), 4)
        self.assertEqual(len(set(self.keys())), 1)
        uuid.UUID(self.keys()[0])
        self.assertFalse(self.request.HasField('idempotency_key'), 'the request of the caller is unchanged')

    def test_the_callers_own_key_timestamp_or_stamp_replaces_the_uuid(self):
        self.submit(COMPLETED, key='mine')
        self.request.idempotency_key = 'of the request'
        self.submit(COMPLETED)
        self.request.ClearField('idempotency_key')
        self.request.timestamp_ms = 1
        self.submit(COMPLETED)
        self.request = policy_service_pb2.CreatePoliciesRequest(client_stamp=client_stamp_pb2.ClientStamp(body=b'{}'))
        self.submit(COMPLETED)
        self.assertEqual(self.keys(), ['mine', 'of the request', '', ''])

    def test_a_delay_of_the_gateway_is_waited(self):
        start = time.monotonic()
        self.submit(failure(grpc.StatusCode.RESOURCE_EXHAUSTED, 'TOO_MANY_CALLS', retry_delay=0.3), COMPLETED)
        self.assertGreaterEqual(time.monotonic() - start, 0.3)

    def test_a_delay_that_ends_after_the_deadline_is_not_waited(self):
        start = time.monotonic()
        with self.assertRaises(stampgate.Error) as raised:
            self.submit(failure(grpc.StatusCode.UNAVAILABLE, 'UPSTREAM_FAILING', retry_delay=60), timeout=5)
        self.assertEqual(raised.exception.reason, 'UPSTREAM_FAILING')
        self.assertLess(time.monotonic() - start, 3)

    def test_a_refusal_is_not_repeated(self):
        with self.assertRaises(stampgate.Error) as raised:
            self.submit(DENIED, COMPLETED)
        self.assertIs(raised.exception.code(), grpc.StatusCode.PERMISSION_DENIED)
        self.assertEqual(len(self.keys()), 1)

    def test_a_stored_outcome_that_is_lost_is_unknown_and_not_repeated(self):
        for count, reason in enumerate(('OUTCOME_NOT_STORED', 'IDEMPOTENCY_KEY_UNCERTAIN'), start=1):
            with self.subTest(reason), self.assertRaises(stampgate.OutcomeUnknown) as raised:
                self.submit(failure(grpc.StatusCode.UNKNOWN, reason, retry_delay=0.001), COMPLETED)
            self.assertEqual(raised.exception.last.reason, reason)
            self.assertEqual(len(self.keys()), count)

    def test_an_outcome_that_stays_unknown_carries_the_request_to_repeat(self):
        with self.assertRaises(stampgate.OutcomeUnknown) as raised:
            self.submit(OUTCOME_UNKNOWN, key='mine', timeout=0.5)
        error = raised.exception
        self.assertEqual((error.key, error.timestamp_ms, error.fingerprint), ('mine', 1700000000000, 'sha256:00'))
        self.gateway.answers(METHOD, COMPLETED)
        stampgate.submit(self.policies.CreatePolicies, error.request)
        self.assertEqual(set(self.keys()), {'mine'})

    def test_a_refusal_after_an_unknown_outcome_leaves_the_outcome_unknown(self):
        refused = failure(grpc.StatusCode.PERMISSION_DENIED, 'REQUEST_NOT_AUTHORIZED', domain='upstream')
        for refusal in (DENIED, refused):
            with self.subTest(refusal.reason), self.assertRaises(stampgate.OutcomeUnknown) as raised:
                self.submit(OUTCOME_UNKNOWN, BROKEN, refusal)
            self.assertEqual(raised.exception.last.reason, refusal.reason)
            self.assertEqual(raised.exception.fingerprint, 'sha256:00')

    def test_a_key_that_cannot_be_looked_up_is_an_unknown_outcome_only_after_a_try_that_may_have_acted(self):
        no_store = failure(grpc.StatusCode.UNAVAILABLE, 'IDEMPOTENCY_UNAVAILABLE', retry_delay=0.001)
        with self.assertRaises(stampgate.Error):
            self.submit(no_store, timeout=0.3)
        with self.assertRaises(stampgate.OutcomeUnknown):
            self.submit(BROKEN, no_store, timeout=0.5)

    def test_a_response_that_is_too_large_is_an_unknown_outcome_and_not_repeated(self):
        large = failure(grpc.StatusCode.OUT_OF_RANGE, 'ANSWER_TOO_LARGE', metadata={'fingerprint': 'sha256:00'})
        with self.assertRaises(stampgate.OutcomeUnknown) as raised:
            self.submit(large)
        self.assertEqual(raised.exception.fingerprint, 'sha256:00')
        options = [('grpc.max_receive_message_length', 10)]
        with stampgate.connect(self.gateway.address, options=options) as channel:
            self.policies = PolicyServiceStub(channel)
            with self.assertRaises(stampgate.OutcomeUnknown) as raised:
                self.submit(COMPLETED)
        self.assertIs(raised.exception.last.code(), grpc.StatusCode.RESOURCE_EXHAUSTED)
        self.assertEqual(len(self.keys()), 2)

    def test_an_error_of_a_proxy_is_an_unknown_outcome(self):
        with_details = failure(grpc.StatusCode.UNAVAILABLE, 'RESET', domain='proxy.example')
        with_text = failure(grpc.StatusCode.UNAVAILABLE, message='the proxy: failed to connect to all addresses')
        for error in (with_details, with_text):
            with self.subTest(error), self.assertRaises(stampgate.OutcomeUnknown):
                self.submit(error, DENIED)

    def test_five_rejected_connections_in_a_row_end_the_repetitions(self):
        rejected = failure(grpc.StatusCode.UNAVAILABLE, message='failed to connect to all addresses; SSL alert')
        backoff = Backoff()
        for error in [*[rejected] * 4, None, *[rejected] * 4, BROKEN, *[rejected] * 4]:
            self.assertLess(backoff.after(error), math.inf)
        self.assertEqual(backoff.after(rejected), math.inf)

    def test_a_refusal_after_a_connection_that_never_opened_is_no_unknown_outcome(self):
        self.gateway.close()
        with self.assertRaises(stampgate.Error) as raised:
            self.submit(timeout=0.5)
        self.assertIs(raised.exception.code(), grpc.StatusCode.UNAVAILABLE)

    def test_a_name_that_is_not_found_is_no_unknown_outcome(self):
        with stampgate.connect('gateway..invalid:7443') as channel, self.assertRaises(stampgate.Error) as raised:
            stampgate.submit(PolicyServiceStub(channel).CreatePolicies, self.request, timeout=0.5)
        self.assertIs(raised.exception.code(), grpc.StatusCode.UNAVAILABLE)

    def test_a_gateway_that_goes_away_after_an_unknown_outcome_leaves_the_outcome_unknown(self):
        def close(_):
            self.gateway._server.stop(5)  # Only this call still gets its answer.
            return BROKEN

        with self.assertRaises(stampgate.OutcomeUnknown) as raised:
            self.submit(close, timeout=1)
        self.assertIn('Failed to connect', raised.exception.last.message)

    def test_a_handler_of_errors_does_not_catch_the_other_outcomes(self):
        for answer, outcome in [
            (BROKEN, stampgate.OutcomeUnknown),
            (NEEDS_VOTES, stampgate.ActivityPending),
            (response(activity_pb2.ACTIVITY_STATUS_REJECTED), stampgate.ActivityRejected),
            (response(activity_pb2.ACTIVITY_STATUS_FAILED), stampgate.ActivityFailed),
        ]:
            with self.subTest(outcome), self.assertRaises(outcome) as raised:
                self.submit(answer, timeout=0.3)
            self.assertNotIsInstance(raised.exception, (stampgate.Error, grpc.RpcError))

    def test_activities_that_are_not_completed_are_raised(self):
        for status, error in [
            (activity_pb2.ACTIVITY_STATUS_CREATED, stampgate.ActivityPending),
            (activity_pb2.ACTIVITY_STATUS_CONSENSUS_NEEDED, stampgate.ActivityPending),
            (activity_pb2.ACTIVITY_STATUS_REJECTED, stampgate.ActivityRejected),
            (activity_pb2.ACTIVITY_STATUS_FAILED, stampgate.ActivityFailed),
            (4711, stampgate.ActivityPending),
        ]:
            with self.subTest(status), self.assertRaises(error) as raised:
                self.submit(response(status))
            self.assertEqual(raised.exception.activity.id, '4711')
            self.assertEqual(raised.exception.request.idempotency_key, self.keys()[-1])

    def test_waiting_repeats_until_the_activity_has_ended(self):
        self.submit(NEEDS_VOTES, BROKEN, NEEDS_VOTES, COMPLETED, wait=True)
        requests = self.gateway.requests(METHOD)
        self.assertEqual({request.wait_until for request in requests}, {activity_pb2.WAIT_UNTIL_FINAL})
        self.assertEqual(len(set(self.keys())), 1)

    def test_waiting_ends_at_the_deadline_with_the_pending_activity(self):
        with self.assertRaises(stampgate.ActivityPending):
            self.submit(NEEDS_VOTES, wait=True, timeout=0.5)
        with self.assertRaises(stampgate.ActivityPending):
            self.submit(NEEDS_VOTES, BROKEN, wait=True, timeout=0.5)

    def test_an_interrupted_submit_leaves_its_key_in_the_request(self):
        def interrupt(_):
            _thread.interrupt_main()
            return BROKEN

        with self.assertRaises(KeyboardInterrupt):
            self.submit(interrupt)
        (key,) = self.keys()
        self.assertEqual(self.request.idempotency_key, key)
        self.submit(COMPLETED)
        self.assertEqual(self.keys(), [key, key])

    def test_an_error_leaves_the_request_unchanged(self):
        sent = policy_service_pb2.CreatePoliciesRequest.FromString(self.request.SerializeToString())
        for answer in (DENIED, NEEDS_VOTES):
            with self.subTest(answer), self.assertRaises((stampgate.Error, stampgate.ActivityError)):
                self.submit(answer)
            self.assertEqual(self.request, sent)

    def test_requests_that_cannot_be_submitted_are_refused(self):
        with self.assertRaises(TypeError):
            stampgate.submit(self.policies.GetPolicy, policy_service_pb2.GetPolicyRequest())
        with self.assertRaises(TypeError):
            request = general_service_pb2.SubmitOperationRequest(path='x')
            stampgate.submit(GeneralServiceStub(self.channel).SubmitOperation, request)

    def test_a_stub_on_a_channel_of_the_callers_own_can_submit(self):
        with grpc.insecure_channel(self.gateway.address) as channel:
            self.policies = PolicyServiceStub(channel)
            self.submit(BROKEN, COMPLETED)


if __name__ == '__main__':
    unittest.main()
