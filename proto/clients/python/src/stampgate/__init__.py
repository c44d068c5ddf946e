"""A client of stampgate. The generated stubs are in `stampgate.v1`; `stampgate.aio` is for asyncio."""

from stampgate._version import VERSION as __version__
from stampgate.calls import connect, prepare, submit, subscribe
from stampgate.channel import Channel
from stampgate.errors import (
    ActivityError,
    ActivityFailed,
    ActivityPending,
    ActivityRejected,
    Error,
    Gap,
    OutcomeUnknown,
    Violation,
)
from stampgate.events import CursorStore, FileCursor, verify
from stampgate.stamps import ApiKey, stamped

__all__ = [
    'ActivityError',
    'ActivityFailed',
    'ActivityPending',
    'ActivityRejected',
    'ApiKey',
    'Channel',
    'CursorStore',
    'Error',
    'FileCursor',
    'Gap',
    'OutcomeUnknown',
    'Violation',
    '__version__',
    'connect',
    'prepare',
    'stamped',
    'submit',
    'subscribe',
    'verify',
]
