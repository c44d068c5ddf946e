"""Consumers of shared subscriptions against the fake gateway."""

import contextlib
import itertools
import logging
import threading
import unittest

import grpc

import stampgate
from stampgate.consumers import Consumer
from stampgate.testing import FakeGateway, failure
from stampgate.v1 import events_pb2, subscriptions_pb2
from stampgate.v1.subscription_service_pb2 import ConsumeResponse, SettleResponse
from stampgate.v1.subscription_service_pb2_grpc import SubscriptionServiceStub
from stampgate.v1.subscriptions_pb2 import SettleOutcome

CONSUME = 'SubscriptionService/Consume'
SETTLE = 'SubscriptionService/Settle'
BROKEN = failure(grpc.StatusCode.UNAVAILABLE, message='Socket closed')
# gRPC itself repeats a settle after UNAVAILABLE, but not after this error.
LATE = failure(grpc.StatusCode.DEADLINE_EXCEEDED)
DENIED = failure(grpc.StatusCode.PERMISSION_DENIED, 'DENIED_BY_POLICY')
FIRST = ConsumeResponse(settle_within_ms=30_000)
SHORT = ConsumeResponse(settle_within_ms=300)
HEARTBEAT = ConsumeResponse()
LIMIT = 20
"""The seconds after which a test that waits has failed."""


def message(*names: str, count: int = 1) -> ConsumeResponse:
    """A message with deliveries of these events. The token of event a is "token a"."""
    return ConsumeResponse(
        deliveries=[
            subscriptions_pb2.Delivery(
                event=events_pb2.Event(event_id=name), token=f'token {name}', delivery_count=count
            )
            for name in names
        ]
    )


def superseded(*names: str) -> list[str]:
    return [f'token {name}' for name in names]


class Logged(logging.Handler):
    """Waits for a line of the log."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text, self._seen = text, threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if self._text in record.getMessage():
            self._seen.set()

    def wait(self) -> None:
        assert self._seen.wait(LIMIT), self._text

    def __enter__(self) -> 'Logged':
        logging.getLogger('stampgate').addHandler(self)
        return self

    def __exit__(self, *exception: object) -> None:
        logging.getLogger('stampgate').removeHandler(self)


class ConsumeTest(unittest.TestCase):
    def setUp(self) -> None:
        logger, silent = logging.getLogger('stampgate'), logging.NullHandler()
        logger.addHandler(silent)
        self.addCleanup(logger.removeHandler, silent)
        self.gateway = self.enterContext(FakeGateway())
        self.channel = self.enterContext(stampgate.connect(self.gateway.address))
        self.stub = SubscriptionServiceStub(self.channel)
        self.gateway.answers(SETTLE, SettleResponse())
        self.handled: list[str] = []

    def consume(self, handle=lambda delivery: None, **options):
        def record(delivery):
            self.handled.append(delivery.event.event_id)
            handle(delivery)

        stampgate.consume(self.stub, 'payouts', record, **options)

    def consume_until_denied(self, handle=lambda delivery: None, **options):
        """Consumes until the gateway denies it, which the last answer to Consume must do."""
        with self.assertRaises(stampgate.Error) as raised:
            self.consume(handle, **options)
        self.assertEqual(raised.exception.reason, 'DENIED_BY_POLICY')

    def settles(self) -> list[tuple[str, list[str]]]:
        """The outcomes and tokens of all settles."""
        return [
            (SettleOutcome.Name(request.outcome).removeprefix('SETTLE_OUTCOME_'), list(request.tokens))
            for request in self.gateway.requests(SETTLE)
        ]

    def open(self, *messages: ConsumeResponse):
        """An answer to Consume: a stream that stays open after its messages."""
        ended = threading.Event()
        self.addCleanup(ended.set)
        return lambda _: itertools.chain(messages, (HEARTBEAT for _ in iter(ended.wait, True)))

    def test_events_are_handled_in_order_and_each_is_settled_before_the_next_one(self):
        self.gateway.answers(CONSUME, [FIRST, message('a', 'b'), message('c'), DENIED])
        settled = []
        self.consume_until_denied(lambda _: settled.append(len(self.settles())), max_unsettled=3)
        self.assertEqual((self.handled, settled), (['a', 'b', 'c'], [0, 1, 2]))
        self.assertEqual(self.settles(), [('DONE', [f'token {name}']) for name in 'abc'])
        (request,) = self.gateway.requests(CONSUME)
        self.assertEqual((request.subscription, request.max_unsettled), ('payouts', 3))

    def test_a_consumer_resumes_with_the_tokens_that_it_holds(self):
        resumed = threading.Event()

        def again(request):
            resumed.set()
            return [FIRST, message('c'), DENIED]

        self.gateway.answers(CONSUME, [FIRST, message('a', 'b'), BROKEN], again)
        self.consume_until_denied(lambda _: self.assertTrue(resumed.wait(LIMIT)))
        first, second = self.gateway.requests(CONSUME)
        self.assertEqual((list(first.held_tokens), list(second.held_tokens)), ([], ['token a', 'token b']))
        self.assertEqual(self.handled, ['a', 'b', 'c'])

    def test_an_event_that_another_consumer_can_have_received_is_not_handled(self):
        again = ConsumeResponse(settle_within_ms=30_000, superseded_tokens=superseded('b'))
        self.gateway.answers(CONSUME, [FIRST, message('a', 'b'), BROKEN], [again, message('c'), DENIED])
        with Logged('has lost event b') as lost:
            self.consume_until_denied(lambda _: lost.wait())
        self.assertEqual(self.handled, ['a', 'c'])

    def test_a_settle_is_repeated_until_it_succeeds(self):
        self.gateway.answers(CONSUME, [FIRST, message('a', 'b'), DENIED])
        self.gateway.answers(SETTLE, BROKEN, LATE, SettleResponse())
        self.consume_until_denied()
        done = [('DONE', ['token a'])] * 3 + [('DONE', ['token b'])]
        self.assertEqual((self.handled, self.settles()), (['a', 'b'], done))

    def test_a_settle_that_is_denied_ends_the_consumer(self):
        self.gateway.answers(CONSUME, self.open(FIRST, message('a', 'b')))
        self.gateway.answers(SETTLE, DENIED)
        self.consume_until_denied()
        self.assertEqual(self.handled, ['a'])

    def test_an_event_whose_handler_fails_is_delivered_again_later_and_later(self):
        def fail(_):
            raise OSError('no connection')

        for count, delay_ms in [(1, 1_000), (2, 2_000), (5, 16_000), (1000, 3_600_000)]:
            self.gateway.answers(CONSUME, [FIRST, message('a', count=count), DENIED])
            with self.subTest(count), self.assertLogs('stampgate', 'WARNING') as logged:
                self.consume_until_denied(fail)
            settle = self.gateway.requests(SETTLE)[-1]
            self.assertEqual((settle.outcome, settle.retry_delay_ms), (subscriptions_pb2.SETTLE_OUTCOME_RETRY, delay_ms))
            self.assertIn('OSError: no connection', logged.output[0])

    def test_after_a_retry_the_later_events_of_the_key_are_not_handled(self):
        def fail_first(delivery):
            if delivery.event.event_id == 'a':
                raise OSError

        self.gateway.answers(CONSUME, [FIRST, message('a', 'b', 'c'), DENIED])
        lost = SettleResponse(superseded_tokens=superseded('b'))
        self.gateway.answers(SETTLE, SettleResponse(), LATE, lost, SettleResponse())
        self.consume_until_denied(fail_first, retry_delay=0)
        check = ('EXTEND', ['token b', 'token c'])
        self.assertEqual(self.handled, ['a', 'c'])
        self.assertEqual(self.settles(), [('RETRY', ['token a']), check, check, ('DONE', ['token c'])])

    def test_a_later_event_of_the_key_that_was_on_its_way_at_the_retry_is_not_handled(self):
        retried = threading.Event()

        def crossing(_):
            yield from (FIRST, message('a'))
            self.assertTrue(retried.wait(LIMIT))
            yield from (message('b'), message('c'), DENIED)

        def settle(request):
            if request.outcome == subscriptions_pb2.SETTLE_OUTCOME_RETRY:
                retried.set()
            is_extension = request.outcome == subscriptions_pb2.SETTLE_OUTCOME_EXTEND
            return SettleResponse(superseded_tokens=superseded('b') if is_extension else [])

        def fail_first(delivery):
            if delivery.event.event_id == 'a':
                raise OSError

        self.gateway.answers(CONSUME, crossing)
        self.gateway.answers(SETTLE, settle)
        self.consume_until_denied(fail_first, retry_delay=0)
        self.assertEqual(self.handled, ['a', 'c'])

    def test_after_an_event_is_lost_the_later_events_of_its_key_are_not_handled(self):
        self.gateway.answers(CONSUME, [FIRST, message('a', 'b'), DENIED])
        lost = [SettleResponse(superseded_tokens=superseded(name)) for name in 'ab']
        self.gateway.answers(SETTLE, *lost)
        with self.assertLogs('stampgate', 'WARNING') as logged:
            self.consume_until_denied()
        self.assertEqual(self.handled, ['a'])
        self.assertEqual(self.settles(), [('DONE', ['token a']), ('EXTEND', ['token b'])])
        self.assertRegex('\n'.join(logged.output), '(?s)has lost event a.*has lost event b')

    def test_an_event_whose_handler_parks_it_is_parked_with_the_reason(self):
        def park(_):
            raise stampgate.Park('é' * 200)

        self.gateway.answers(CONSUME, [FIRST, message('a', 'b'), DENIED])
        self.consume_until_denied(park)
        self.assertEqual(self.settles(), [('PARK', ['token a']), ('PARK', ['token b'])])
        self.assertEqual(self.gateway.requests(SETTLE)[0].park_reason, 'é' * 128)

    def test_all_held_events_are_extended_while_a_handler_is_slow(self):
        self.gateway.answers(CONSUME, [SHORT, message('a', 'b', 'c'), HEARTBEAT, DENIED])
        lost = SettleResponse(superseded_tokens=superseded('b'))
        self.gateway.answers(SETTLE, LATE, lost, SettleResponse())
        with Logged('has lost event b') as extended:
            self.consume_until_denied(lambda _: extended.wait())
        self.assertEqual(self.handled, ['a', 'c'])
        extension = ('EXTEND', ['token a', 'token b', 'token c'])
        self.assertEqual(self.settles()[:2], [extension] * 2)

    def test_held_events_are_extended_within_the_time_that_the_latest_stream_states(self):
        self.gateway.answers(CONSUME, [FIRST, message('a'), BROKEN], [SHORT, DENIED])
        extended = threading.Semaphore(0)

        def settle(request):
            extended.release()
            return SettleResponse()

        self.gateway.answers(SETTLE, settle)
        # The second extension needs the new time too.
        self.consume_until_denied(lambda _: self.assertTrue(all(extended.acquire(timeout=LIMIT) for _ in range(2))))
        self.assertEqual(self.settles(), [('EXTEND', ['token a'])] * 2 + [('DONE', ['token a'])])

    def test_the_time_is_30_seconds_if_the_latest_stream_states_none(self):
        consumer = Consumer(self.stub, 'payouts', 10, 1.0)
        for first, within in [(SHORT, 0.3), (ConsumeResponse(), 30), (ConsumeResponse(settle_within_ms=60_000), 60)]:
            self.gateway.answers(CONSUME, [first, HEARTBEAT])
            with consumer.stream() as stream:
                for received in stream:
                    consumer.received(received)
            self.assertAlmostEqual(consumer.extend_every, within / 3)

    def test_stop_lets_the_handler_return_settles_its_event_and_gives_the_others_back(self):
        self.gateway.answers(CONSUME, self.open(FIRST, message('a', 'b', 'c')))
        stop = threading.Event()
        self.consume(lambda _: stop.set(), stop=stop)
        self.assertEqual(self.handled, ['a'])
        self.assertEqual(self.settles(), [('DONE', ['token a']), ('RETRY', ['token b', 'token c'])])

    def test_stop_ends_a_consumer_that_waits(self):
        self.gateway.answers(CONSUME, self.open(FIRST))
        stop = threading.Event()
        threading.Timer(0.1, stop.set).start()
        self.consume(stop=stop)

    def test_stop_ends_the_repetitions_of_a_settle(self):
        self.gateway.answers(CONSUME, self.open(FIRST, message('a')))
        self.gateway.answers(SETTLE, LATE)
        stop = threading.Event()
        self.consume(lambda _: stop.set(), stop=stop)
        self.assertEqual(self.settles(), [('DONE', ['token a']), ('RETRY', ['token a'])])

    def test_an_interrupt_gives_back_the_event_that_is_handled_too(self):
        def interrupt(_):
            raise KeyboardInterrupt

        self.gateway.answers(CONSUME, self.open(FIRST, message('a', 'b')))
        with self.assertRaises(KeyboardInterrupt):
            self.consume(interrupt)
        self.assertEqual((self.handled, self.settles()), (['a'], [('RETRY', ['token a', 'token b'])]))

    def test_a_consumer_that_ends_leaves_no_call(self):
        self.gateway.answers(CONSUME, lambda _: itertools.chain([FIRST, message('a')], itertools.repeat(HEARTBEAT)))
        stop = threading.Event()
        self.consume(lambda _: stop.set(), stop=stop)
        # A gateway that closes waits for no call.
        self.gateway.close()

    def test_a_gap_is_raised_after_the_held_events_are_handled(self):
        for reason in ('EVENTS_TRIMMED', 'EVENTS_LOST', 'EVENT_DAMAGED'):
            self.handled.clear()
            gap = failure(grpc.StatusCode.DATA_LOSS, reason, 'the events from 4 to 7 are missing')
            self.gateway.answers(CONSUME, [FIRST, message('a', 'b'), gap])
            with self.subTest(reason), self.assertRaises(stampgate.Gap) as raised:
                self.consume()
            self.assertEqual((raised.exception.reason, raised.exception.cursor), (reason, None))
            self.assertEqual(self.handled, ['a', 'b'])

    def test_closing_the_channel_ends_a_consumer_that_waits(self):
        self.gateway.answers(CONSUME, self.open(FIRST, message('a')))
        closing = threading.Timer(0.2, self.channel.close)
        closing.start()
        with contextlib.suppress(ValueError), self.assertRaises(stampgate.Error):
            self.consume()


if __name__ == '__main__':
    unittest.main()
