"""A channel for the generated stubs."""

from __future__ import annotations

from typing import Any

import grpc

from stampgate.connection import Connection, Settings
from stampgate.errors import Error


class Channel(grpc.Channel):
    """A channel for the generated stubs, whose calls have a deadline and raise Error."""

    def __init__(self, settings: Settings) -> None:
        self.timeout = settings.timeout
        self.connection = Connection(settings, _open)

    def unary_unary(self, method: str, *args: Any, **kwargs: Any) -> Any:
        return _Method(self, 'unary_unary', method, args, kwargs)

    def unary_stream(self, method: str, *args: Any, **kwargs: Any) -> Any:
        return _Method(self, 'unary_stream', method, args, kwargs)

    def stream_unary(self, *args: Any, **kwargs: Any) -> Any:
        return self.connection.current()[0].stream_unary(*args, **kwargs)

    def stream_stream(self, *args: Any, **kwargs: Any) -> Any:
        return self.connection.current()[0].stream_stream(*args, **kwargs)

    def subscribe(self, callback: Any, try_to_connect: bool = False) -> None:
        self.connection.current()[0].subscribe(callback, try_to_connect)

    def unsubscribe(self, callback: Any) -> None:
        self.connection.current()[0].unsubscribe(callback)

    def close(self) -> None:
        """Ends all calls in progress, and the connections."""
        for channel in self.connection.all():
            channel.close()

    def __enter__(self) -> Channel:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _open(settings: Settings) -> grpc.Channel:
    credentials = settings.credentials()
    if credentials is None:
        return grpc.insecure_channel(settings.address, settings.all_options())
    return grpc.secure_channel(settings.address, credentials, settings.all_options())


class _Method:
    """A method of a stub: gRPC's multi-callable of the current channel."""

    def __init__(self, channel: Channel, kind: str, path: str, args: Any, kwargs: Any) -> None:
        self._channel, self._kind, self._args, self._kwargs = channel, kind, (path, *args), kwargs
        self.path = path
        self.timeout = channel.timeout if kind == 'unary_unary' else None

    def _current(self) -> tuple[grpc.Channel, Any]:
        channel, methods = self._channel.connection.current()
        method = methods.get(self.path)
        if method is None:
            method = methods[self.path] = getattr(channel, self._kind)(*self._args, **self._kwargs)
        return channel, method

    def __call__(self, request: Any, timeout: float | None = None, *args: Any, **kwargs: Any) -> Any:
        channel, method = self._current()
        timeout = self.timeout if timeout is None else timeout
        if self._kind == 'unary_stream':
            return _Call(channel, method(request, timeout, *args, **kwargs))
        try:
            return method(request, timeout, *args, **kwargs)
        except grpc.RpcError as error:
            raise Error.of(error) from None

    def with_call(self, request: Any, timeout: float | None = None, *args: Any, **kwargs: Any) -> Any:
        _, method = self._current()
        try:
            return method.with_call(request, self.timeout if timeout is None else timeout, *args, **kwargs)
        except grpc.RpcError as error:
            raise Error.of(error) from None

    def future(self, request: Any, timeout: float | None = None, *args: Any, **kwargs: Any) -> Any:
        channel, method = self._current()
        timeout = self.timeout if timeout is None else timeout
        return _Call(channel, method.future(request, timeout, *args, **kwargs))


class _Call:
    """A call in progress that raises Error. Keeps the call's channel open."""

    def __init__(self, channel: grpc.Channel, call: Any) -> None:
        self._channel, self._call = channel, call

    def __getattr__(self, name: str) -> Any:
        return getattr(self._call, name)

    def __iter__(self) -> _Call:
        return self

    def __next__(self) -> Any:
        try:
            return next(self._call)
        except grpc.RpcError as error:
            raise Error.of(error) from None

    def result(self, timeout: float | None = None) -> Any:
        try:
            return self._call.result(timeout)
        except grpc.RpcError as error:
            raise Error.of(error) from None

    def exception(self, timeout: float | None = None) -> Any:
        error = self._call.exception(timeout)
        return Error.of(error) if isinstance(error, grpc.RpcError) else error
