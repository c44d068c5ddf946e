"""The errors of calls, with what the gateway states about them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

import grpc
import grpc.aio
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]
from grpc import StatusCode

from stampgate.v1 import activity_pb2

_REPEATABLE = (StatusCode.UNAVAILABLE, StatusCode.UNKNOWN, StatusCode.DEADLINE_EXCEEDED)
# Codes with which a library or a proxy ends a call that the gateway may have carried out. RESOURCE_EXHAUSTED: a message
# is too large, perhaps the response.
_UNKNOWN_OUTCOME = (*_REPEATABLE, StatusCode.CANCELLED, StatusCode.INTERNAL, StatusCode.RESOURCE_EXHAUSTED)
_UNKNOWN_OUTCOME_REASONS = ('OUTCOME_UNKNOWN', 'OUTCOME_NOT_STORED', 'IDEMPOTENCY_KEY_UNCERTAIN', 'ANSWER_TOO_LARGE')
# Their codes are repeatable, but a repetition within the same deadline cannot help.
_FINAL_REASONS = ('OUTCOME_NOT_STORED', 'IDEMPOTENCY_KEY_UNCERTAIN', 'DEADLINE_TOO_SHORT')
# How gRPC's texts begin after a call that it could not send. No code or detail distinguishes such a call.
_NEVER_SENT = re.compile(
    'failed to connect to all addresses|connections to all backends failing|errors resolving|DNS resolution failed'
    '|Getting metadata from plugin failed'
)
# The texts after a connection that opened, but could not be used: TLS failed, or the peer closed it at once, as it does
# without a client certificate that it accepts.
_REJECTED = re.compile('ssl|tls|tsi_|handshake|certificate|backends failing.*(Socket closed|reset)', re.IGNORECASE)
# The texts after a connection that broke before the end of its handshake, as when the gateway starts again, and after a
# name that was not found. The name can contain any text.
_NOT_REJECTED = re.compile('Handshake read failed|errors resolving|DNS resolution failed')


class Violation(NamedTuple):
    """A rule that the request violates."""

    field: str
    description: str


class Error(grpc.aio.AioRpcError):
    """The error of a synchronous or asynchronous call. Has gRPC's code(), details() and trailing_metadata() too."""

    def __init__(self, error: grpc.RpcError) -> None:
        pairs: Any = error.trailing_metadata()
        trailing_metadata = grpc.aio.Metadata.from_tuple(pairs)
        super().__init__(error.code(), grpc.aio.Metadata(), trailing_metadata, error.details())
        info, request = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
        retry = error_details_pb2.RetryInfo()
        # A proxy's details cannot be decoded. The error then has only its code and message.
        with contextlib.suppress(DecodeError):
            status = status_pb2.Status.FromString(trailing_metadata.get('grpc-status-details-bin', b''))
            for detail in status.details:
                _ = detail.Unpack(info) or detail.Unpack(request) or detail.Unpack(retry)
        if info.domain not in ('stampgate', 'upstream'):
            info.Clear()  # A proxy can send an ErrorInfo too.
        self.message: str = error.details() or ''
        """A description for people."""
        self.reason: str = info.reason
        """Such as 'INVALID_REQUEST'; empty if a gRPC library or a proxy made the error."""
        self.domain: str = info.domain
        """'stampgate' if the gateway made the error, 'upstream' if upstream refused the call, otherwise empty."""
        self.metadata: dict[str, str] = dict(info.metadata)
        """The metadata of the ErrorInfo, such as 'caller' or 'fingerprint'."""
        self.violations = [Violation(each.field, each.description) for each in request.field_violations]
        """The rules that the request violates."""
        self.retry_delay: float | None = None
        """The seconds after which the gateway asks for a repetition; None if it does not ask for one."""
        if retry.HasField('retry_delay'):
            self.retry_delay = retry.retry_delay.ToTimedelta().total_seconds()
        self.request_id = str(trailing_metadata.get('x-request-id', ''))
        """The id of the call in the gateway's log and audit log; empty if the gateway did not answer."""

    @staticmethod
    def of(error: grpc.RpcError) -> Error:
        """The error that a call has raised, with what the gateway states about it."""
        return error if isinstance(error, Error) else Error(error)

    def __str__(self) -> str:
        violations = ''.join(f'; {each.field}: {each.description}' for each in self.violations)
        request = f' (request {self.request_id})' if self.request_id else ''
        return f'{self.code().name} {self.reason or "without a reason"}: {self.message}{violations}{request}'

    # Interceptors of the caller's own get the error as the call that has ended with it.

    def result(self, timeout: float | None = None) -> NoReturn:
        raise self

    def exception(self, timeout: float | None = None) -> Error:
        return self

    @property
    def is_repeatable(self) -> bool:
        """Whether the same call may succeed later: a query, or a submit with its key or timestamp."""
        # INTERNAL without a reason: the connection broke in the middle of a message.
        may_help = self.code() in _REPEATABLE or (self.code() is StatusCode.INTERNAL and not self.domain)
        return self.reason not in _FINAL_REASONS and (may_help or self.retry_delay is not None)

    @property
    def is_outcome_unknown(self) -> bool:
        """Whether upstream may have carried out a submit that ended with this error."""
        if self.domain:
            return self.reason in _UNKNOWN_OUTCOME_REASONS
        return self.code() in _UNKNOWN_OUTCOME and not _NEVER_SENT.match(self.message)

    @property
    def is_connection_rejected(self) -> bool:
        """Whether the connection opened and could not be used, as after a failed TLS handshake. If this happens several
        times in a row, a certificate or a name is wrong."""
        if self.code() is not StatusCode.UNAVAILABLE or self.domain or _NOT_REJECTED.search(self.message):
            return False
        return _REJECTED.search(self.message) is not None


@contextlib.contextmanager
def typed_errors() -> Iterator[None]:
    """Raises Error instead of gRPC's own errors."""
    try:
        yield
    except grpc.RpcError as error:
        raise Error.of(error) from None


class OutcomeUnknown(Exception):
    """Upstream may have carried out the submit. `submit(method, error.request)` repeats it, and upstream acts at most
    once. With a key, do so while the gateway keeps it, by default for 24 hours, and otherwise within an hour.

    It is no kind of Error, so that a program that catches Error does not mistake it for a refusal.
    """

    def __init__(self, last: Error, request: Any, known: Mapping[str, str]) -> None:
        """`known` is the metadata of all tries that upstream may have carried out."""
        self.last = last
        """The error of the last try, which does not state the outcome of the submit."""
        self.request = request
        """The request with the key, timestamp or stamp with which it was sent."""
        self.key: str = request.idempotency_key
        self.timestamp_ms = int(known.get('timestamp_ms', request.timestamp_ms))
        """The time of the request; 0 if it is not known."""
        self.fingerprint = known.get('fingerprint', '')
        """The fingerprint of the activity, if there is one; empty if it is not known."""
        super().__init__(f'the outcome of the submit with the key {self.key!r} is unknown: {last}')


class Gap(Error):
    """Events are missing after the cursor of a subscription: they were trimmed or lost, or belong to another log."""

    @property
    def cursor(self) -> str | None:
        """Where the events continue. None if only a time or LOG_END_EARLIEST can be the next start."""
        return self.metadata.get('earliest_cursor') or self.metadata.get('next_cursor')


class ActivityError(Exception):
    """An activity that is not completed. It is no kind of Error: the call succeeded."""

    def __init__(self, activity: activity_pb2.Activity, request: Any) -> None:
        self.activity = activity
        self.request = request
        """The request with the key, timestamp or stamp with which it was sent."""
        names = activity_pb2.ActivityStatus.DESCRIPTOR.values_by_number
        status = names[activity.status].name if activity.status in names else activity.status
        super().__init__(f'the activity {activity.id} has the status {status} {activity.failure.message}'.rstrip())


class ActivityPending(ActivityError):
    """The activity has not ended. With the status ACTIVITY_STATUS_CONSENSUS_NEEDED it waits for votes.

    `submit(method, error.request, wait=True)` waits for its end.
    """


class ActivityRejected(ActivityError):
    """Users rejected the activity."""


class ActivityFailed(ActivityError):
    """The activity failed; `activity.failure` states why."""
