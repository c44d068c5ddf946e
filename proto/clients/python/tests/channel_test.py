"""TLS, tokens and files that change."""

import asyncio
import datetime
import ipaddress
import os
import pathlib
import tempfile
import threading
import time
import unittest
from unittest import mock

import grpc
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

import stampgate
from stampgate import aio, channel
from stampgate.testing import FakeGateway
from stampgate.v1 import events_pb2, policy_service_pb2
from stampgate.v1.event_service_pb2 import SubscribeRequest, SubscribeResponse
from stampgate.v1.event_service_pb2_grpc import EventServiceStub
from stampgate.v1.policy_service_pb2_grpc import PolicyServiceStub

REQUEST = policy_service_pb2.GetPolicyRequest()
CREATE = policy_service_pb2.CreatePoliciesRequest()
RESPONSE = policy_service_pb2.GetPolicyResponse()
METHOD = 'PolicyService/GetPolicy'


class Identity:
    """A self-signed certificate of 127.0.0.1, and its key."""

    def __init__(self, folder: pathlib.Path, name: str) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        now = datetime.datetime.now(datetime.timezone.utc)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(minutes=1))
            .not_valid_after(now + datetime.timedelta(hours=1))
            .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address('127.0.0.1'))]), False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
            .sign(key, hashes.SHA256())
        )
        self.certificate = certificate.public_bytes(serialization.Encoding.PEM)
        self.key = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        self.folder = folder
        self.put('tls.crt', self.certificate)
        self.put('tls.key', self.key)

    def put(self, name: str, content: bytes) -> str:
        path = self.folder / name
        path.with_suffix('.new').write_bytes(content)
        os.replace(path.with_suffix('.new'), path)
        return str(path)


class TlsTest(unittest.TestCase):
    def setUp(self) -> None:
        # Each call reads the files.
        self.enterContext(mock.patch.object(channel, '_READ_FILES_EVERY', 0))
        root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name in ('server', 'client', 'other'):
            (root / name).mkdir()
        self.server, self.client, self.other = (Identity(root / name, name) for name in ('server', 'client', 'other'))
        both = self.client.certificate + self.other.certificate
        self.gateway = self.enterContext(
            FakeGateway(grpc.ssl_server_credentials([(self.server.key, self.server.certificate)], both, True))
        )
        self.gateway.answers(METHOD, RESPONSE)
        self.files = {
            'ca': str(self.server.folder / 'tls.crt'),
            'certificate': str(self.client.folder / 'tls.crt'),
            'key': str(self.client.folder / 'tls.key'),
        }

    def rotate(self) -> None:
        self.client.put('tls.crt', self.other.certificate)
        self.client.put('tls.key', self.other.key)

    def test_calls_after_a_rotation_use_the_new_files_and_calls_in_progress_continue(self):
        ended = threading.Event()

        def events(_):
            yield SubscribeResponse(events=[events_pb2.Event(event_id='a')])
            ended.wait()
            yield SubscribeResponse(events=[events_pb2.Event(event_id='b')])

        self.gateway.answers('EventService/Subscribe', events)
        with stampgate.connect(self.gateway.address, **self.files) as channel:
            policies = PolicyServiceStub(channel)
            policies.GetPolicy(REQUEST)
            stream = iter(EventServiceStub(channel).Subscribe(SubscribeRequest()))
            next(stream)
            self.rotate()
            policies.GetPolicy(REQUEST)
            self.assertEqual(len(channel._opened), 2)
            ended.set()
            self.assertEqual(next(stream).events[0].event_id, 'b')
            del stream
            self.assertEqual(len(channel._opened), 1)

    def test_calls_for_asyncio_after_a_rotation_use_the_new_files_and_a_token(self):
        async def run():
            async with aio.connect(self.gateway.address, **self.files, token=lambda: 'one') as channel:
                policies = PolicyServiceStub(channel)
                await policies.GetPolicy(REQUEST)
                self.rotate()
                await policies.GetPolicy(REQUEST)
                self.assertEqual(len(channel._opened), 1)

        asyncio.run(run())
        seen = [metadata['authorization'] for metadata in self.gateway.metadata(METHOD)]
        self.assertEqual(seen, ['Bearer one', 'Bearer one'])

    def test_a_missing_file_keeps_the_connection(self):
        with stampgate.connect(self.gateway.address, **self.files) as channel:
            os.remove(self.files['key'])
            PolicyServiceStub(channel).GetPolicy(REQUEST)
        with self.assertRaises(FileNotFoundError):
            stampgate.connect(self.gateway.address, **self.files)

    def test_a_submit_does_not_repeat_a_failure_of_tls_until_its_deadline(self):
        for broken in ({**self.files, 'ca': self.files['certificate']}, {'ca': self.files['ca']}):
            with stampgate.connect(self.gateway.address, **broken) as channel:
                start = time.monotonic()
                with self.subTest(broken), self.assertRaises(stampgate.Error) as raised:
                    stampgate.submit(PolicyServiceStub(channel).CreatePolicies, CREATE, timeout=20)
                self.assertLess(time.monotonic() - start, 10)
                self.assertRegex(raised.exception.message, 'CERTIFICATE_VERIFY_FAILED|Socket closed')

    def test_a_token_is_read_for_each_call(self):
        file = pathlib.Path(self.client.put('token', b'one\n'))
        tokens = iter(['three', 'four'])
        with stampgate.connect(self.gateway.address, **self.files, token=file.read_text) as channel:
            PolicyServiceStub(channel).GetPolicy(REQUEST)
            self.client.put('token', b'two\n')
            PolicyServiceStub(channel).GetPolicy(REQUEST)
        with stampgate.connect(self.gateway.address, **self.files, token=lambda: next(tokens)) as channel:
            PolicyServiceStub(channel).GetPolicy(REQUEST)
            PolicyServiceStub(channel).GetPolicy(REQUEST)
        seen = [metadata['authorization'] for metadata in self.gateway.metadata(METHOD)]
        self.assertEqual(seen, ['Bearer one', 'Bearer two', 'Bearer three', 'Bearer four'])

    def test_tokens_and_certificates_need_tls(self):
        for options in ({'token': str}, {'certificate': 'a', 'key': 'b'}, {'ca': 'a', 'key': 'b'}):
            with self.subTest(options), self.assertRaises(ValueError):
                stampgate.connect('127.0.0.1:1', **options)


if __name__ == '__main__':
    unittest.main()
