"""A gateway in the process of a unit test, with canned responses and errors.

    with FakeGateway() as gateway:
        gateway.answers('PolicyService/GetPolicy', failure(StatusCode.UNAVAILABLE), GetPolicyResponse(...))
        with stampgate.connect(gateway.address) as channel:
            ...
        assert gateway.requests('PolicyService/GetPolicy')[0].policy_id == '4711'
"""

from __future__ import annotations

import collections
import datetime
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import grpc.aio
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]

from stampgate.errors import Error, Violation

Answer = Message | Error | Iterable['Message | Error'] | Callable[[Any], 'Answer']


def failure(
    code: grpc.StatusCode,
    reason: str = '',
    message: str = '',
    *,
    domain: str = 'stampgate',
    metadata: Mapping[str, str] | None = None,
    violations: Sequence[Violation] = (),
    retry_delay: float | None = None,
) -> Error:
    """An error as the gateway sends it. Without a reason it has no ErrorInfo, as if the connection had broken."""
    status = status_pb2.Status(code=code.value[0], message=message)
    if reason:
        status.details.add().Pack(error_details_pb2.ErrorInfo(reason=reason, domain=domain, metadata=metadata))
    if violations:
        fields = [violation._asdict() for violation in violations]
        status.details.add().Pack(error_details_pb2.BadRequest(field_violations=fields))
    if retry_delay is not None:
        delay = datetime.timedelta(seconds=retry_delay)
        status.details.add().Pack(error_details_pb2.RetryInfo(retry_delay=delay))
    trailing_metadata = grpc.aio.Metadata(('grpc-status-details-bin', status.SerializeToString()))
    return Error(grpc.aio.AioRpcError(code, grpc.aio.Metadata(), trailing_metadata, message))


class FakeGateway:
    """Answers the calls of the real services at `address`, and records their requests."""

    def __init__(self, credentials: grpc.ServerCredentials | None = None) -> None:
        """Serves on a free port of the loopback address; with `credentials`, over TLS."""
        self._lock = threading.Lock()
        self._answers: dict[str, collections.deque[Answer]] = {}
        self._calls: dict[str, list[tuple[Any, dict[str, str | bytes]]]] = collections.defaultdict(list)
        # Each subscription in progress occupies a thread.
        self._server = grpc.server(ThreadPoolExecutor(max_workers=32))
        self._server.add_generic_rpc_handlers((_Handler(self._answer),))
        if credentials is None:
            port = self._server.add_insecure_port('127.0.0.1:0')
        else:
            port = self._server.add_secure_port('127.0.0.1:0', credentials)
        self.address = f'127.0.0.1:{port}'
        self._server.start()

    def answers(self, method: str, *answers: Answer) -> None:
        """Sets the answers to the next calls of `method`, such as 'PolicyService/GetPolicy'; the last one stays.

        An answer is a response, an error, the messages of a stream, which may end with an error, or a function that
        returns one of these for a request.
        """
        with self._lock:
            self._answers[method] = collections.deque(answers)

    def requests(self, method: str) -> list[Any]:
        """The requests of all calls of `method`, in order."""
        with self._lock:
            return [request for request, _ in self._calls[method]]

    def metadata(self, method: str) -> list[dict[str, str | bytes]]:
        """The metadata of all calls of `method`, in order."""
        with self._lock:
            return [metadata for _, metadata in self._calls[method]]

    def close(self) -> None:
        self._server.stop(None).wait()

    def __enter__(self) -> FakeGateway:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _answer(self, method: str, request: Any, metadata: dict[str, str | bytes]) -> Answer:
        with self._lock:
            self._calls[method].append((request, metadata))
            answers = self._answers.get(method)
            if not answers:
                return failure(grpc.StatusCode.UNIMPLEMENTED, message=f'the test has set no answer to {method}')
            answer = answers.popleft() if len(answers) > 1 else answers[0]
        return answer(request) if callable(answer) else answer


class _Handler(grpc.GenericRpcHandler):
    """Serves every method that the descriptors of the process contain."""

    def __init__(self, answer: Callable[[str, Any, dict[str, str | bytes]], Answer]) -> None:
        self._answer = answer

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[Any, Any] | None:
        service, _, name = handler_call_details.method.lstrip('/').partition('/')
        try:
            method = descriptor_pool.Default().FindServiceByName(service).FindMethodByName(name)
        except KeyError:
            return None
        path = f'{service.rpartition(".")[2]}/{name}'

        def messages(request: Any, context: grpc.ServicerContext) -> Iterator[bytes]:
            answer = self._answer(path, request, dict(context.invocation_metadata()))
            for each in answer if isinstance(answer, Iterable) else [answer]:
                if isinstance(each, Error):
                    context.set_trailing_metadata(tuple(each.trailing_metadata()))
                    context.abort(each.code(), each.message)
                assert isinstance(each, Message)
                yield each.SerializeToString()

        deserialize = message_factory.GetMessageClass(method.input_type).FromString
        if method.server_streaming:
            return grpc.unary_stream_rpc_method_handler(messages, deserialize)
        return grpc.unary_unary_rpc_method_handler(
            lambda request, context: next(messages(request, context)), deserialize
        )
