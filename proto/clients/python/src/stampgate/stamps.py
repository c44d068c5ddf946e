"""Requests that an end user stamps with a key of their own."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import TypeVar

from google.protobuf.message import Message

from stampgate.v1.client_stamp_pb2 import ClientStamp
from stampgate.v1.stamp_service_pb2 import PrepareRequest

_Request = TypeVar('_Request', bound=Message)
_Response = TypeVar('_Response')


class ApiKey:
    """An end user's P-256 API key, as hexadecimal digits. Needs the extra `crypto`."""

    def __init__(self, public_key: str, private_key: str) -> None:
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec

        self._public_key = public_key
        self._private_key = ec.derive_private_key(int(private_key, 16), ec.SECP256R1())
        self._algorithm = ec.ECDSA(hashes.SHA256())

    def stamp(self, body: bytes) -> ClientStamp:
        """Stamps the body that StampService.Prepare returned."""
        stamp = {
            'publicKey': self._public_key,
            'scheme': 'SIGNATURE_SCHEME_TK_API_P256',
            'signature': self._private_key.sign(body, self._algorithm).hex(),
        }
        text = base64.urlsafe_b64encode(json.dumps(stamp).encode()).rstrip(b'=').decode()
        return ClientStamp(body=body, api_key=text)


def prepare(method: Callable[[PrepareRequest], _Response], request: Message) -> _Response:
    """The bytes of `request` for an end user to stamp. `method` is StampService.Prepare; if its stub is for asyncio,
    await the result."""
    services = request.DESCRIPTOR.file.services_by_name.values()
    methods = {method.input_type: method for service in services for method in service.methods}
    prepared = methods[request.DESCRIPTOR]
    path = f'/{prepared.containing_service.full_name}/{prepared.name}'
    return method(PrepareRequest(method=path, request=request.SerializeToString()))


def stamped(request: _Request, stamp: ClientStamp) -> _Request:
    """The request to send after `request` was prepared and stamped: it has the stamp, and nothing that the stamped body
    contains."""
    # No body contains the path of an operation of GeneralService.
    path = {'path': request.path} if hasattr(request, 'path') else {}
    return type(request)(client_stamp=stamp, **path)
