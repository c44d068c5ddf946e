"""Submits that are repeated safely, until their outcome is known."""

from __future__ import annotations

import random
import time
import uuid
from typing import Any

from stampgate.connection import DEFAULT_TIMEOUT
from stampgate.errors import ActivityError, ActivityFailed, ActivityPending, ActivityRejected, Error, OutcomeUnknown
from stampgate.v1 import activity_pb2

_REJECTED_CONNECTIONS = 5
_ENDINGS: dict[int, type[ActivityError]] = {
    activity_pb2.ACTIVITY_STATUS_FAILED: ActivityFailed,
    activity_pb2.ACTIVITY_STATUS_REJECTED: ActivityRejected,
}


class Backoff:
    """How long to wait after each error in a row. Raises the error if repetitions do not help."""

    def __init__(self, longest: float) -> None:
        self._longest = longest
        self.reset()

    def reset(self) -> None:
        self._failures = self._rejected = 0

    def after(self, error: Error) -> float:
        self._rejected = self._rejected + 1 if error.is_connection_rejected else 0
        if self._rejected == _REJECTED_CONNECTIONS:
            raise error
        if error.retry_delay is not None:
            return error.retry_delay * random.uniform(1, 1.25)
        return self.next()

    def next(self) -> float:
        self._failures += 1
        return random.uniform(0.5, 1) * min(self._longest, 0.1 * 2.0**min(self._failures, 10))


class Submit:
    """One submit until its outcome is known: what to send, and when to repeat it. Makes no calls itself, so that
    submit() and aio.submit() share it."""

    def __init__(self, method: Any, request: Any, key: str | None, wait: bool, timeout: float | None) -> None:
        self.request = type(request)()
        self.request.CopyFrom(request)
        if timeout is None:
            timeout = getattr(method, 'timeout', DEFAULT_TIMEOUT)
        self._wait, self._end = wait, time.monotonic() + timeout
        self._backoff = Backoff(longest=3)
        self._is_outcome_unknown = False
        self._pending: activity_pb2.Activity | None = None
        fields = request.DESCRIPTOR.fields_by_name
        if fields.get('client_stamp') and request.HasField('client_stamp'):
            if key or wait:
                raise ValueError('a request with a client_stamp can have neither a key nor wait')
            return  # The stamped body contains the time, so that upstream recognizes a repetition.
        # GeneralService.SubmitOperation has an activity_type, and returns its activity as JSON text.
        if 'idempotency_key' not in fields or 'activity_type' in fields:
            raise TypeError(f'{request.DESCRIPTOR.name} is not the request of a submit that returns an activity')
        if wait:
            self.request.wait_until = activity_pb2.WAIT_UNTIL_FINAL
        if key is not None:
            self.request.idempotency_key = key
        elif not (request.HasField('idempotency_key') or request.HasField('timestamp_ms')):
            self.request.idempotency_key = str(uuid.uuid4())

    def remaining(self) -> float:
        return max(self._end - time.monotonic(), 0)

    def after_error(self, error: Error) -> float:
        """The seconds until the repetition. Raises an error if the submit ends."""
        self._is_outcome_unknown |= error.is_outcome_unknown
        if not error.is_repeatable:
            self._raise(error)
        try:
            delay = self._backoff.after(error)
        except Error:
            self._raise(error)
        if delay >= self.remaining():
            self._raise(error)
        return delay

    def after_response(self, response: Any) -> float | None:
        """The seconds until the repetition, which waits further; None if the activity is completed. Raises an error if
        the submit ends otherwise."""
        activity = response.activity
        if activity.status == activity_pb2.ACTIVITY_STATUS_COMPLETED:
            return None
        if ending := _ENDINGS.get(activity.status):
            raise ending(activity, self.request)
        self._pending = activity
        delay = self._backoff.next()
        if not self._wait or delay >= self.remaining():
            raise ActivityPending(activity, self.request)
        return delay

    def _raise(self, error: Error) -> None:
        if self._pending is not None:
            raise ActivityPending(self._pending, self.request) from error
        if self._is_outcome_unknown:
            raise OutcomeUnknown(error, self.request) from None
        raise error
