"""Creates a policy at most once, even if this program is started again: submit_safely.py ADDRESS ORGANIZATION KEY."""

import sys

import stampgate
from stampgate.v1.policies_pb2 import EFFECT_ALLOW
from stampgate.v1.policy_service_pb2 import CreatePoliciesRequest
from stampgate.v1.policy_service_pb2_grpc import PolicyServiceStub


def main(address: str, organization: str, key: str) -> None:
    request = CreatePoliciesRequest(organization_id=organization)
    request.parameters.policies.add(policy_name='two of three', effect=EFFECT_ALLOW, notes='')
    with stampgate.connect(address) as channel:
        # Save the key, such as the number of your order, before the first try: a later try with the same key
        # returns the same activity.
        result = stampgate.submit(PolicyServiceStub(channel).CreatePolicies, request, key=key)
    print(*result.create_policies_result.policy_ids)


if __name__ == '__main__':
    main(*sys.argv[1:])
