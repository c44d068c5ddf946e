"""The judge's driver of the Python package. Commands that `start` starts use stampgate.aio, all others stampgate."""

import asyncio
import concurrent.futures
import importlib
import itertools
import json
import pathlib
import pkgutil
import sys
import threading
import time

from google.protobuf import descriptor_pool, json_format, message_factory

import stampgate
import stampgate.v1
from stampgate import aio
from stampgate.v1 import activity_pb2, events_pb2, webhook_service_pb2
from stampgate.v1.event_service_pb2 import SubscribeRequest
from stampgate.v1.event_service_pb2_grpc import EventServiceStub
from stampgate.v1.stamp_service_pb2_grpc import StampServiceStub
from stampgate.v1.subscription_service_pb2_grpc import SubscriptionServiceStub

STUBS = {
    name: stub
    for module in pkgutil.iter_modules(stampgate.v1.__path__)
    if module.name.endswith('_pb2_grpc')
    for name, stub in vars(importlib.import_module(f'stampgate.v1.{module.name}')).items()
    if name.endswith('Stub')
}
ENDINGS = {
    stampgate.ActivityPending: 'pending',
    stampgate.ActivityRejected: 'rejected',
    stampgate.ActivityFailed: 'failed',
}
ERRORS = (stampgate.Error, stampgate.OutcomeUnknown, stampgate.ActivityError, concurrent.futures.CancelledError)


def to_json(message):
    return json_format.MessageToDict(message, preserving_proto_field_name=True)


def error_of(error):
    """The line of an error: of a call, of an activity, or of an unknown outcome."""
    if isinstance(error, concurrent.futures.CancelledError):
        return {'error': {'code': 'CANCELLED'}}
    if isinstance(error, stampgate.ActivityError):
        activity = activity_pb2.Activity(id=error.activity.id, status=error.activity.status)
        return {ENDINGS[type(error)]: to_json(activity)}
    if isinstance(error, stampgate.OutcomeUnknown):
        parts = {'key': error.key, 'timestamp_ms': str(error.timestamp_ms), 'fingerprint': error.fingerprint}
        return {'outcome_unknown': {**parts, 'request': to_json(error.request)}}
    delay = {} if error.retry_delay is None else {'retry_delay_ms': round(error.retry_delay * 1000)}
    violations = [violation._asdict() for violation in error.violations]
    names = ('reason', 'domain', 'message', 'metadata', 'request_id')
    members = {name: getattr(error, name) for name in names}
    return {'error': {'code': error.code().name, **members, 'violations': violations, **delay}}


class Driver:
    def __init__(self):
        self.started = {}
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    def connect(self, address, deadline_ms, tls=None, token_file=None, max_response_bytes=None):
        options = {name: path or None for name, path in (tls or {}).items()}
        options['options'] = [('grpc.max_receive_message_length', max_response_bytes)] if max_response_bytes else []
        options |= {'token': token_file and pathlib.Path(token_file).read_text, 'timeout': deadline_ms / 1000}
        self.channel = stampgate.connect(address, **options)

        async def open_channel():
            return aio.connect(address, **options)

        self.aio_channel = asyncio.run_coroutine_threadsafe(open_channel(), self.loop).result()
        return {'ok': True}

    def arguments(self, channel, method, request, deadline_ms=None, **options):
        """The method of the stub, its request, and the options of the call."""
        service, name = method.split('/')
        descriptor = descriptor_pool.Default().FindServiceByName(f'stampgate.v1.{service}').FindMethodByName(name)
        message = json_format.ParseDict(request, message_factory.GetMessageClass(descriptor.input_type)())
        options['timeout'] = deadline_ms and deadline_ms / 1000
        return getattr(STUBS[f'{service}Stub'](channel), name), message, options

    def call(self, **command):
        method, request, options = self.arguments(self.channel, **command)
        return {'response': to_json(method(request, **options))}

    def submit(self, **command):
        method, request, options = self.arguments(self.channel, **command)
        return {'result': to_json(stampgate.submit(method, request, **options))}

    def start(self, what, **command):
        method, request, options = self.arguments(self.aio_channel, **command)

        async def outcome():
            if what == 'submit':
                return {'result': to_json(await aio.submit(method, request, **options))}
            return {'response': to_json(await method(request, **options))}

        self.started[self.id] = asyncio.run_coroutine_threadsafe(outcome(), self.loop)
        return {'ok': True}

    def wait(self):
        return self.started.pop(self.id).result()

    def cancel(self):
        self.started[self.id].cancel()
        return {'ok': True}

    def subscribe(self, request, events, cursor=None, cursor_file=None):
        start = json_format.ParseDict(request | ({'cursor': cursor} if cursor else {}), SubscribeRequest())
        store = stampgate.FileCursor(cursor_file) if cursor_file else None
        subscription = stampgate.subscribe(EventServiceStub(self.channel).Subscribe, start, store)
        try:
            for event in itertools.islice(subscription, events):
                write({'id': self.id, 'event': {'event_id': event.event_id, 'cursor': event.cursor}})
        except stampgate.Gap as gap:
            write({'id': self.id, 'gap': {'reason': gap.reason, 'cursor': gap.cursor}})
        except ValueError as error:
            return {'cursor_error': str(error)}
        return {'done': True}

    def consume(self, subscription, events, fails=None, park_reason='', handler_ms=0, retry_delay_ms=1000):
        stop, number = threading.Event(), itertools.count(1)

        def handle(delivery):
            name, count = delivery.event.event_id, delivery.delivery_count
            write({'id': self.id, 'delivery': {'event_id': name, 'count': count}})
            if next(number) == events:
                stop.set()
            time.sleep(handler_ms / 1000)
            failure = (fails or {}).get(name)
            if failure == 'park':
                raise stampgate.Park(park_reason)
            if failure == 'retry' and count == 1:
                raise RuntimeError('the handler of the case fails')

        stub = SubscriptionServiceStub(self.channel)
        try:
            stampgate.consume(stub, subscription, handle, retry_delay=retry_delay_ms / 1000, stop=stop)
        except stampgate.Gap as gap:
            write({'id': self.id, 'gap': {'reason': gap.reason}})
        return {'done': True}

    def verify(self, event, keys):
        keys = json_format.ParseDict(keys, webhook_service_pb2.GetWebhookKeySetResponse()).keys
        return {'valid': stampgate.verify(json_format.ParseDict(event, events_pb2.Event()), keys)}

    def prepare(self, api_key, **command):
        method, request, options = self.arguments(self.channel, **command)
        body = stampgate.prepare(StampServiceStub(self.channel).Prepare, request).body
        stamp = stampgate.ApiKey(api_key['public'], api_key['private']).stamp(body)
        return {'response': to_json(method(stampgate.stamped(request, stamp), **options))}

    def close(self):
        self.channel.close()
        asyncio.run_coroutine_threadsafe(self.aio_channel.close(), self.loop).result()
        return {'ok': True}


def write(line):
    print(json.dumps(line), flush=True)


driver = Driver()
for line in sys.stdin:
    command = json.loads(line)
    do, driver.id = command.pop('do'), command.pop('id', None)
    try:
        outcome = getattr(driver, do)(**command)
    except ERRORS as error:
        outcome = error_of(error)
    write(outcome if driver.id is None else {'id': driver.id, **outcome})
