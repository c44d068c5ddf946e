"""Prints each event at least once, also after a restart: subscribe_and_resume.py [ADDRESS [CURSOR_FILE]].

Ctrl-C ends it. The cursor file is python.cursor unless you name another one.
"""

import contextlib
import sys

import stampgate
from stampgate.v1.activity_pb2 import ActivityStatus
from stampgate.v1.event_service_pb2 import SubscribeRequest
from stampgate.v1.event_service_pb2_grpc import EventServiceStub

ADDRESS = '127.0.0.1:7443'


def main(address: str = ADDRESS, cursor_file: str = 'python.cursor') -> None:
    cursor = stampgate.FileCursor(cursor_file)
    with stampgate.connect(address) as channel:
        events = EventServiceStub(channel)
        while True:
            try:
                for event in stampgate.subscribe(events.Subscribe, SubscribeRequest(), cursor):
                    # Doing this twice must do no harm.
                    print(event.event_id, event.type, ActivityStatus.Name(event.activity.status), flush=True)
            except stampgate.Gap as gap:
                if gap.cursor is None:
                    sys.exit(f'{gap.reason}: delete the file {cursor_file} to begin again at the earliest event')
                # Events are missing. Read the current state from upstream, and continue after the gap.
                print('gap:', gap.reason, flush=True)
                cursor.save(gap.cursor)


if __name__ == '__main__':
    with contextlib.suppress(KeyboardInterrupt):
        main(*sys.argv[1:])
