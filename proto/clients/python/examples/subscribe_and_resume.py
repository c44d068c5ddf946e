"""Prints each event at least once, also after a restart: subscribe_and_resume.py ADDRESS CURSOR_FILE."""

import sys

import stampgate
from stampgate.v1.event_service_pb2 import SubscribeRequest
from stampgate.v1.event_service_pb2_grpc import EventServiceStub
from stampgate.v1.events_pb2 import LOG_END_EARLIEST


def main(address: str, cursor_file: str) -> None:
    cursor = stampgate.FileCursor(cursor_file)
    request = SubscribeRequest(end=LOG_END_EARLIEST)
    with stampgate.connect(address) as channel:
        events = EventServiceStub(channel)
        while True:
            try:
                for event in stampgate.subscribe(events.Subscribe, request, cursor):
                    # Doing this twice must do no harm.
                    print(event.event_id, event.type, event.activity.status, flush=True)
            except stampgate.Gap as gap:
                # Events are missing. Read the current state from upstream, and continue after the gap.
                print('gap:', gap.reason, flush=True)
                if gap.cursor is None:
                    raise
                cursor.save(gap.cursor)


if __name__ == '__main__':
    main(*sys.argv[1:])
