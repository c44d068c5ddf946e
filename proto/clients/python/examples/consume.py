"""Handles the events of a shared subscription, until SIGTERM or Ctrl-C: consume.py [ADDRESS [SUBSCRIPTION]].

Run it several times: the programs divide the events.
"""

import signal
import sys
import threading

import stampgate
from stampgate.v1.activity_pb2 import ActivityStatus
from stampgate.v1.subscription_service_pb2_grpc import SubscriptionServiceStub
from stampgate.v1.subscriptions_pb2 import Delivery

ADDRESS = '127.0.0.1:7443'


def handle(delivery: Delivery) -> None:
    """Doing this twice must do no harm. If it raises an exception, the event is delivered again later."""
    event = delivery.event
    if event.type != 'ACTIVITY_UPDATES':
        raise stampgate.Park(f'this service handles no events of type {event.type}')
    print(event.event_id, ActivityStatus.Name(event.activity.status), flush=True)


def main(address: str = ADDRESS, subscription: str = 'payouts') -> None:
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with stampgate.connect(address) as channel:
        while not stop.is_set():
            try:
                stampgate.consume(SubscriptionServiceStub(channel), subscription, handle, stop=stop)
            except stampgate.Gap as gap:
                # Events are missing. Read the current state from upstream, and continue after the gap.
                print('gap:', gap, flush=True)


if __name__ == '__main__':
    main(*sys.argv[1:])
