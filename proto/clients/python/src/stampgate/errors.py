"""The errors of calls, with what the gateway states about them."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import grpc
from google.protobuf.message import DecodeError, Message
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]

from stampgate.v1 import activity_pb2

_UNAVAILABLE = grpc.StatusCode.UNAVAILABLE
_REPEATABLE = (_UNAVAILABLE, grpc.StatusCode.UNKNOWN, grpc.StatusCode.DEADLINE_EXCEEDED)
# Codes with which a library or a proxy ends a call that the gateway may have carried out.
_UNKNOWN_OUTCOME = (*_REPEATABLE, grpc.StatusCode.CANCELLED, grpc.StatusCode.INTERNAL)
_REASONS_OF_UNKNOWN_OUTCOME = ('OUTCOME_UNKNOWN', 'OUTCOME_NOT_STORED', 'IDEMPOTENCY_KEY_UNCERTAIN')
# Their codes are repeatable, but a repetition within the same deadline cannot help.
_FINAL_REASONS = ('OUTCOME_NOT_STORED', 'DEADLINE_TOO_SHORT')
# The texts with which gRPC ends a call that it could not send. No code or detail distinguishes such a call.
_NEVER_SENT = re.compile(
    'failed to connect to all addresses|connections to all backends failing|DNS resolution failed'
    '|Getting metadata from plugin failed'
)
# The texts after a connection that opened, but could not be used: TLS failed, or the peer closed it at once, as it does
# without a client certificate that it accepts.
_REJECTED = re.compile('ssl|tls|tsi_|handshake|certificate|backends failing.*(Socket closed|reset)', re.IGNORECASE)
# The text after a connection that broke before the end of its handshake, as when the gateway starts again.
_BROKEN_HANDSHAKE = 'Handshake read failed'
_STATUSES = activity_pb2.ActivityStatus.values()


@dataclasses.dataclass(frozen=True)
class Violation:
    """A rule that the request violates."""

    field: str
    description: str


class Error(grpc.RpcError):
    """The error of a call. Has gRPC's own methods code(), details() and trailing_metadata() too."""

    reason: str
    """Such as 'INVALID_REQUEST'; empty if a gRPC library or a proxy made the error."""
    domain: str
    """'stampgate' if the gateway made the error, 'upstream' if upstream refused the call, otherwise empty."""
    message: str
    """A description for people."""
    metadata: dict[str, str]
    """The metadata of the ErrorInfo, such as 'caller' or 'fingerprint'."""
    violations: list[Violation]
    """The rules that the request violates."""
    retry_delay: float | None
    """The seconds after which the gateway asks for a repetition; None if it does not ask for one."""
    request_id: str
    """The id of the call in the gateway's log and audit log; empty if the gateway did not answer."""

    def __init__(self, code: grpc.StatusCode, message: str, trailing_metadata: Any = ()) -> None:
        self._code, self.message = code, message
        self._trailing_metadata = tuple(trailing_metadata or ())
        metadata = dict(self._trailing_metadata)
        info, request = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
        retry = error_details_pb2.RetryInfo()
        try:
            status = status_pb2.Status.FromString(metadata.get('grpc-status-details-bin', b''))
            for detail in status.details:
                _ = detail.Unpack(info) or detail.Unpack(request) or detail.Unpack(retry)
        except DecodeError:
            pass  # A proxy's details. The error then has only its code and message.
        self.reason, self.domain, self.metadata = info.reason, info.domain, dict(info.metadata)
        self.violations = [Violation(each.field, each.description) for each in request.field_violations]
        delay = retry.retry_delay
        self.retry_delay = float(delay.seconds + delay.nanos / 1e9) if retry.HasField('retry_delay') else None
        self.request_id = metadata.get('x-request-id', '')
        super().__init__(str(self))

    @staticmethod
    def of(error: grpc.RpcError) -> Error:
        """The error that a stub or a call of gRPC's own library has raised, as an Error."""
        if isinstance(error, Error):
            return error
        return Error(error.code(), error.details() or '', error.trailing_metadata())

    def __str__(self) -> str:
        violations = ''.join(f'; {each.field}: {each.description}' for each in self.violations)
        request = f' (request {self.request_id})' if self.request_id else ''
        return f'{self._code.name} {self.reason or "without a reason"}: {self.message}{violations}{request}'

    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str:
        return self.message

    def trailing_metadata(self) -> Any:
        return self._trailing_metadata

    @property
    def is_repeatable(self) -> bool:
        """Whether the same call may succeed later: a query, or a submit with its key or timestamp."""
        return self.reason not in _FINAL_REASONS and (self.retry_delay is not None or self._code in _REPEATABLE)

    @property
    def is_outcome_unknown(self) -> bool:
        """Whether upstream may have carried out a submit that ended with this error."""
        if self.domain:
            return self.reason in _REASONS_OF_UNKNOWN_OUTCOME
        return self._code in _UNKNOWN_OUTCOME and not _NEVER_SENT.search(self.message)

    @property
    def is_connection_rejected(self) -> bool:
        """Whether the connection opened and could not be used, as after a failed TLS handshake. If this happens several
        times in a row, a certificate or a name is wrong."""
        if self._code is not _UNAVAILABLE or self.domain or _BROKEN_HANDSHAKE in self.message:
            return False
        return _REJECTED.search(self.message) is not None


class OutcomeUnknown(Error):
    """Upstream may have carried out the submit. `submit(method, error.request)` repeats it, and never acts twice."""

    def __init__(self, last: Error, request: Message) -> None:
        super().__init__(last.code(), last.message, last.trailing_metadata())
        self.request: Any = request
        """The request with the key, timestamp or stamp with which it was sent."""
        self.key: str = getattr(request, 'idempotency_key', '')
        self.timestamp_ms = int(self.metadata.get('timestamp_ms', getattr(request, 'timestamp_ms', 0)))
        """The time of the request; 0 if it is not known."""
        self.fingerprint = self.metadata.get('fingerprint', '')
        """The fingerprint of the activity, if there is one; empty if it is not known."""


class ActivityError(Exception):
    """An activity that is not completed."""

    def __init__(self, activity: activity_pb2.Activity, request: Message) -> None:
        self.activity = activity
        self.request: Any = request
        """The request with the key, timestamp or stamp with which it was sent."""
        status = activity_pb2.ActivityStatus.Name(activity.status) if activity.status in _STATUSES else activity.status
        failure = f': {activity.failure.message}' if activity.HasField('failure') else ''
        super().__init__(f'the activity {activity.id} has the status {status}{failure}')


class ActivityPending(ActivityError):
    """The activity has not ended. With the status ACTIVITY_STATUS_CONSENSUS_NEEDED it waits for votes.

    `submit(method, error.request, wait=True)` waits for its end.
    """


class ActivityRejected(ActivityError):
    """Users rejected the activity."""


class ActivityFailed(ActivityError):
    """The activity failed; `activity.failure` states why."""


class Gap(Error):
    """Events are missing after the cursor of a subscription: they were trimmed or lost, or belong to another log."""

    def __init__(self, error: Error) -> None:
        super().__init__(error.code(), error.message, error.trailing_metadata())
        self.cursor = self.metadata.get('earliest_cursor') or self.metadata.get('next_cursor')
        """Where the events continue. None if only a time or LOG_END_EARLIEST can be the next start."""
