"""When to repeat a call, and submits that are repeated until their outcome is known."""

from __future__ import annotations

import contextlib
import copy
import math
import random
import time
import uuid
from collections.abc import Iterator
from typing import Any

import grpc

from stampgate.channel import DEFAULT_TIMEOUT
from stampgate.errors import ActivityError, ActivityFailed, ActivityPending, ActivityRejected, Error, OutcomeUnknown
from stampgate.v1 import activity_pb2
from stampgate.v1.activity_result_pb2 import ActivityResult

_MOST_REJECTED_CONNECTIONS = 5
_ENDINGS: dict[int, type[ActivityError]] = {
    activity_pb2.ACTIVITY_STATUS_FAILED: ActivityFailed,
    activity_pb2.ACTIVITY_STATUS_REJECTED: ActivityRejected,
}


class Backoff:
    """The delays between tries in a row."""

    def __init__(self) -> None:
        self._repetitions = self._rejected_connections = 0

    def after(self, error: Error | None = None) -> float:
        """The seconds to wait after a try that ended with or without an error; infinite if a repetition cannot help."""
        is_rejected = error is not None and error.is_connection_rejected
        self._rejected_connections = self._rejected_connections + 1 if is_rejected else 0
        if error is not None:
            if not error.is_repeatable or self._rejected_connections == _MOST_REJECTED_CONNECTIONS:
                return math.inf
            if error.retry_delay is not None:
                return error.retry_delay * random.uniform(1, 1.25)
        self._repetitions += 1
        longest = 0.1 * 2.0 ** min(self._repetitions, 6)
        return random.uniform(longest / 2, longest)


class Submission:
    """A submit until its outcome is known, and the `delay` until its next try. submit() and aio.submit() share it."""

    def __init__(self, method: Any, request: Any, key: str | None, wait: bool, timeout: float | None) -> None:
        fields = request.DESCRIPTOR.fields_by_name
        # GeneralService.SubmitOperation has an activity_type, and returns its activity as JSON text.
        if 'idempotency_key' not in fields or 'activity_type' in fields:
            raise TypeError(f'{request.DESCRIPTOR.name} is not the request of a submit that returns an activity')
        if timeout is None:
            timeout = getattr(method, 'timeout', DEFAULT_TIMEOUT)
        self._method, self._wait, self._end = method, wait, time.monotonic() + timeout
        self._backoff, self.delay = Backoff(), 0.0
        self._may_have_acted = False
        self._known: dict[str, str] = {}
        self._pending: activity_pb2.Activity | None = None
        self.result: ActivityResult | None = None
        self._callers_request, self._request = request, copy.deepcopy(request)
        if wait:
            self._request.wait_until = activity_pb2.WAIT_UNTIL_FINAL
        if key is not None:
            self._request.idempotency_key = key
        elif not any(request.HasField(name) for name in ('idempotency_key', 'timestamp_ms', 'client_stamp')):
            self._request.idempotency_key = str(uuid.uuid4())

    @contextlib.contextmanager
    def attempt(self) -> Iterator[None]:
        """One try, after the delay. Raises an error if the submit ends without a result."""
        try:
            yield
        except ActivityError:
            raise
        except grpc.RpcError as error:
            self._fail(Error.of(error))
        except BaseException:
            # The caller gets no error with the request, so the caller's own request keeps the key.
            self._callers_request.CopyFrom(self._request)
            raise

    def send(self) -> Any:
        return self._method(self._request, timeout=max(self._remaining(), 0))

    def receive(self, response: Any) -> None:
        activity: activity_pb2.Activity = response.activity
        if activity.status == activity_pb2.ACTIVITY_STATUS_COMPLETED:
            self.result = activity.result
            return
        ending = _ENDINGS.get(activity.status, ActivityPending)
        self._pending, self.delay = activity, self._backoff.after()
        if ending is not ActivityPending or not self._wait or self.delay >= self._remaining():
            raise ending(activity, self._request)

    def _fail(self, error: Error) -> None:
        if error.is_outcome_unknown:
            self._may_have_acted = True
            self._known |= error.metadata
        self.delay = self._backoff.after(error)
        if self.delay < self._remaining():
            return
        if self._pending is not None:
            raise ActivityPending(self._pending, self._request) from error
        if self._may_have_acted:
            raise OutcomeUnknown(error, self._request, self._known) from error
        raise error from None

    def _remaining(self) -> float:
        return self._end - time.monotonic()
