"""Makes submits in eight threads, and prints their outcomes as JSON.

many_submits.py ADDRESS ORGANIZATION COUNT [new-keys]

With `new-keys`, does what callers must not do: repeats a submit with another key.
"""

import concurrent.futures
import gc
import json
import os
import pathlib
import sys
import threading
import uuid

import grpc

import stampgate
from stampgate.v1.policies_pb2 import EFFECT_ALLOW
from stampgate.v1.policy_service_pb2 import CreatePoliciesRequest
from stampgate.v1.policy_service_pb2_grpc import PolicyServiceStub


def sockets() -> int:
    links = [os.readlink(link) for link in pathlib.Path('/proc/self/fd').iterdir() if link.is_symlink()]
    return sum(link.startswith('socket:') for link in links)


def submit_with_new_keys(method, request):
    while True:
        try:
            return method(request).activity.result
        except stampgate.Error as error:
            if error.code() is not grpc.StatusCode.UNAVAILABLE:
                raise
            request.idempotency_key = str(uuid.uuid4())


def main(address: str, organization: str, count: str, new_keys: str = '') -> None:
    threads, connections = threading.active_count(), sockets()
    results, errors = {}, {}
    submit = submit_with_new_keys if new_keys else stampgate.submit

    def create(policies: PolicyServiceStub, name: str) -> None:
        request = CreatePoliciesRequest(organization_id=organization)
        request.parameters.policies.add(policy_name=name, effect=EFFECT_ALLOW, notes='')
        try:
            result = submit(policies.CreatePolicies, request)
            results[name] = result.create_policies_result.policy_ids[0]
        except stampgate.Error as error:
            errors[name] = str(error)

    with stampgate.connect(address) as channel:
        policies = PolicyServiceStub(channel)
        with concurrent.futures.ThreadPoolExecutor(8) as executor:
            for done in [executor.submit(create, policies, f'policy {number}') for number in range(int(count))]:
                done.result()
    del channel, policies
    gc.collect()
    left = {'threads': threading.active_count() - threads, 'connections': sockets() - connections}
    print(json.dumps({'results': results, 'errors': errors, 'left': left}))


if __name__ == '__main__':
    main(*sys.argv[1:])
