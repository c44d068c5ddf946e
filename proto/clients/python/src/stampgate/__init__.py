"""A client of stampgate. The generated stubs are in `stampgate.v1`; `stampgate.aio` is for asyncio."""

from stampgate._version import __version__ as __version__
from stampgate.calls import (
    Channel as Channel,
    connect as connect,
    consume as consume,
    submit as submit,
    subscribe as subscribe,
)
from stampgate.consumers import Park as Park
from stampgate.errors import (
    ActivityError as ActivityError,
    ActivityFailed as ActivityFailed,
    ActivityPending as ActivityPending,
    ActivityRejected as ActivityRejected,
    Error as Error,
    Gap as Gap,
    OutcomeUnknown as OutcomeUnknown,
    Violation as Violation,
)
from stampgate.events import CursorStore as CursorStore, FileCursor as FileCursor, verify as verify
from stampgate.stamps import ApiKey as ApiKey, prepare as prepare, stamped as stamped
