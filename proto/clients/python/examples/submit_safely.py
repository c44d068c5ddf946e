"""Creates a policy at most once, even if it is started again: submit_safely.py [ADDRESS [ORGANIZATION [KEY]]]."""

import sys

import stampgate
from stampgate.v1.policies_pb2 import EFFECT_ALLOW
from stampgate.v1.policy_service_pb2 import CreatePoliciesRequest
from stampgate.v1.policy_service_pb2_grpc import PolicyServiceStub

ADDRESS = '127.0.0.1:7443'
ORGANIZATION = '11111111-2222-4333-8444-555555555555'


def main(address: str = ADDRESS, organization: str = ORGANIZATION, key: str = 'order-4711') -> None:
    request = CreatePoliciesRequest(organization_id=organization)
    request.parameters.policies.add(policy_name='two of three', effect=EFFECT_ALLOW, notes='')
    with stampgate.connect(address) as channel:
        # Save the key, such as the number of your order, before the first try: a later try with the same key
        # returns the same activity.
        result = stampgate.submit(PolicyServiceStub(channel).CreatePolicies, request, key=key)
    print(*result.create_policies_result.policy_ids)


if __name__ == '__main__':
    main(*sys.argv[1:])
