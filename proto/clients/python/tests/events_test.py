"""Subscriptions against the fake gateway, and the signatures of events."""

import base64
import itertools
import pathlib
import tempfile
import threading
import unittest
from unittest import mock

import grpc
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import stampgate
from stampgate.testing import FakeGateway, failure
from stampgate.v1 import events_pb2, webhooks_pb2
from stampgate.v1.event_service_pb2 import SubscribeRequest, SubscribeResponse
from stampgate.v1.event_service_pb2_grpc import EventServiceStub

METHOD = 'EventService/Subscribe'
EARLIEST = SubscribeRequest(end=events_pb2.LOG_END_EARLIEST)
BROKEN = failure(grpc.StatusCode.UNAVAILABLE, message='Socket closed')
DENIED = failure(grpc.StatusCode.PERMISSION_DENIED, 'DENIED_BY_POLICY')


def message(*names: str, cursor: str | None = None) -> SubscribeResponse:
    """A message with these events, whose cursors are their names, or a heartbeat."""
    events = [events_pb2.Event(event_id=name, cursor=name) for name in names]
    return SubscribeResponse(events=events, cursor=cursor or names[-1])


class SubscribeTest(unittest.TestCase):
    def setUp(self) -> None:
        self.gateway = self.enterContext(FakeGateway())
        self.channel = self.enterContext(stampgate.connect(self.gateway.address))
        self.events = EventServiceStub(self.channel)
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.store = stampgate.FileCursor(self.folder / 'cursor')

    def subscribe(self, cursor=None):
        return stampgate.subscribe(self.events.Subscribe, EARLIEST, cursor)

    def starts(self) -> list[str]:
        return [request.cursor for request in self.gateway.requests(METHOD)]

    def test_a_subscription_resumes_after_the_last_event(self):
        self.gateway.answers(METHOD, [message('a', 'b'), BROKEN], [message('c'), DENIED])
        names = []
        with self.assertRaises(stampgate.Error):
            for event in self.subscribe():
                names.append(event.event_id)
        self.assertEqual(names, ['a', 'b', 'c'])
        self.assertEqual(self.starts(), ['', 'b'])
        self.assertEqual(self.gateway.requests(METHOD)[0].end, events_pb2.LOG_END_EARLIEST)

    def test_a_stream_that_ends_without_an_error_is_resumed(self):
        self.gateway.answers(METHOD, [message('a')], [DENIED])
        with self.assertRaises(stampgate.Error):
            list(self.subscribe())
        self.assertEqual(self.starts(), ['', 'a'])

    def test_a_subscription_without_a_start_begins_at_the_earliest_event(self):
        self.gateway.answers(METHOD, [DENIED])
        end, time = SubscribeRequest(end=events_pb2.LOG_END_LATEST), SubscribeRequest(time={'seconds': 1})
        for request, expected in [(SubscribeRequest(), EARLIEST), (end, end), (time, time)]:
            with self.assertRaises(stampgate.Error):
                next(stampgate.subscribe(self.events.Subscribe, request))
            self.assertEqual(self.gateway.requests(METHOD)[-1], expected)
        self.store.save('saved')
        with self.assertRaises(stampgate.Error):
            next(stampgate.subscribe(self.events.Subscribe, SubscribeRequest(), self.store))
        self.assertEqual(self.starts()[-1], 'saved')

    def test_a_subscription_logs_why_it_waits(self):
        self.gateway.answers(METHOD, [BROKEN], [DENIED])
        with self.assertLogs('stampgate', 'INFO') as logged, self.assertRaises(stampgate.Error):
            list(self.subscribe())
        (line,) = logged.output
        self.assertRegex(line, 'the subscription ended with UNAVAILABLE .*Socket closed; it resumes in')

    def test_closing_the_channel_ends_a_subscription(self):
        closed = threading.Event()
        self.addCleanup(closed.set)

        def events(_):
            yield message('a')
            closed.wait()

        self.gateway.answers(METHOD, events)
        subscription = self.subscribe()
        next(subscription)
        threading.Thread(target=self.channel.close).start()
        with self.assertRaises(stampgate.Error) as raised:
            next(subscription)
        self.assertIs(raised.exception.code(), grpc.StatusCode.CANCELLED)

    def test_the_cursor_is_saved_when_the_body_of_the_loop_has_ended(self):
        self.gateway.answers(METHOD, [message('a', 'b', 'c')])
        for event in self.subscribe(self.store):
            if event.event_id == 'b':
                self.assertEqual(self.store.load(), 'a')
                break
        self.assertEqual(self.store.load(), 'a', 'the body has not ended')
        next(self.subscribe(self.store))
        self.assertEqual(self.starts(), ['', 'a'])

    def test_a_cursor_is_on_the_disk_before_it_replaces_the_old_one_and_its_new_name_afterwards(self):
        self.store.save('old')
        synced = []

        def fsync(descriptor: int) -> None:
            synced.append((pathlib.Path(f'/proc/self/fd/{descriptor}').readlink().name, self.store.load()))

        with mock.patch('os.fsync', fsync):
            self.store.save('new')
        self.assertEqual(synced, [('cursor.new', 'old'), (self.folder.name, 'new')])

    def test_an_empty_file_is_an_error_and_starts_no_subscription(self):
        path = self.folder / 'cursor'
        for text in ('', '\n'):
            path.write_text(text)
            with self.assertRaisesRegex(ValueError, f'^{path} contains no cursor$'):
                next(self.subscribe(self.store))
        self.assertEqual(self.starts(), [])

    def test_a_line_feed_after_the_cursor_is_no_part_of_it(self):
        (self.folder / 'cursor').write_text('saved\n')
        self.assertEqual(self.store.load(), 'saved')

    def test_the_cursor_of_a_heartbeat_is_saved(self):
        self.gateway.answers(METHOD, [message(cursor='start'), message(cursor='later'), DENIED])
        with self.assertRaises(stampgate.Error):
            list(self.subscribe(self.store))
        self.assertEqual(self.store.load(), 'later')

    def test_a_gap_states_where_the_events_continue(self):
        for reason, name in [
            ('EVENTS_TRIMMED', 'earliest_cursor'),
            ('EVENTS_LOST', 'next_cursor'),
            ('EVENT_DAMAGED', 'next_cursor'),
            ('CURSOR_OF_ANOTHER_LOG', None),
            ('CURSOR_AHEAD_OF_LOG', None),
        ]:
            metadata = {name: 'x'} if name else {}
            self.gateway.answers(METHOD, [failure(grpc.StatusCode.DATA_LOSS, reason, metadata=metadata)])
            with self.subTest(reason), self.assertRaises(stampgate.Gap) as raised:
                next(self.subscribe())
            self.assertEqual((raised.exception.reason, raised.exception.cursor), (reason, 'x' if name else None))

    def test_a_loop_that_ends_early_leaves_no_call(self):
        self.gateway.answers(METHOD, lambda _: itertools.repeat(message('a')))
        for _ in self.subscribe():
            break
        # A gateway that closes waits for no call.
        self.gateway.close()


class VerifyTest(unittest.TestCase):
    def setUp(self) -> None:
        private_key = Ed25519PrivateKey.generate()
        x = base64.urlsafe_b64encode(private_key.public_key().public_bytes_raw()).rstrip(b'=').decode()
        self.keys = [webhooks_pb2.WebhookKey(kid='k', crv='Ed25519', x=x)]
        self.event = events_pb2.Event(event_id='e', body=b'{}')
        self.event.signature.key_id, self.event.signature.timestamp = 'k', '017'
        self.event.signature.signature = private_key.sign(b'v1.ed25519.k.017.e.{}')

    def test_a_signature_over_the_exact_bytes_is_valid(self):
        self.assertTrue(stampgate.verify(self.event, self.keys))

    def test_every_change_makes_the_signature_invalid(self):
        for change in ({'body': b'{} '}, {'event_id': 'f'}, {'signature': {'key_id': 'l'}}):
            event = events_pb2.Event()
            event.CopyFrom(self.event)
            event.MergeFrom(events_pb2.Event(**change))
            with self.subTest(change):
                self.assertFalse(stampgate.verify(event, self.keys))
        self.assertFalse(stampgate.verify(self.event, []))

    def test_an_omitted_body_cannot_be_verified(self):
        self.event.body_omitted = True
        with self.assertRaises(ValueError):
            stampgate.verify(self.event, self.keys)


if __name__ == '__main__':
    unittest.main()
