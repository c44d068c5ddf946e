"""Requests that an end user stamps with a key of their own."""

from __future__ import annotations

import base64
import json
from typing import TypeVar

from google.protobuf.message import Message

from stampgate.v1 import client_stamp_pb2

_Request = TypeVar('_Request', bound=Message)


class ApiKey:
    """An end user's P-256 API key, as hexadecimal digits. Needs the extra `crypto`."""

    def __init__(self, public_key: str, private_key: str) -> None:
        from cryptography.hazmat.primitives.asymmetric import ec

        self._public_key = public_key
        self._private_key = ec.derive_private_key(int(private_key, 16), ec.SECP256R1())

    def stamp(self, body: bytes) -> client_stamp_pb2.ClientStamp:
        """Stamps the body that StampService.Prepare returned."""
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.hashes import SHA256

        stamp = {
            'publicKey': self._public_key,
            'scheme': 'SIGNATURE_SCHEME_TK_API_P256',
            'signature': self._private_key.sign(body, ec.ECDSA(SHA256())).hex(),
        }
        text = base64.urlsafe_b64encode(json.dumps(stamp).encode()).rstrip(b'=').decode()
        return client_stamp_pb2.ClientStamp(body=body, api_key=text)


def stamped(request: _Request, stamp: client_stamp_pb2.ClientStamp) -> _Request:
    """The request to send after the request was prepared and stamped: a request with the stamp and nothing else."""
    message = type(request)()
    message.client_stamp.CopyFrom(stamp)  # type: ignore[attr-defined]
    # No body contains the path of an operation of GeneralService.
    if 'path' in request.DESCRIPTOR.fields_by_name:
        message.path = request.path  # type: ignore[attr-defined]
    return message
