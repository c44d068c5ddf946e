"""Creates a policy, and handles each kind of error: handle_errors.py [ADDRESS [ORGANIZATION [NAME]]].

Without a NAME, the gateway refuses the request, so nothing is created.
"""

import sys

import grpc

import stampgate
from stampgate.v1.policies_pb2 import EFFECT_ALLOW
from stampgate.v1.policy_service_pb2 import CreatePoliciesRequest
from stampgate.v1.policy_service_pb2_grpc import PolicyServiceStub

ADDRESS = '127.0.0.1:7443'
ORGANIZATION = '11111111-2222-4333-8444-555555555555'


def explain(error: stampgate.Error) -> str:
    """What to do about a call that was refused or never sent."""
    refusal = f'{error.code().name} {error.reason}'
    if error.violations:
        return '\n'.join(f'{refusal}: {each.field}: {each.description}' for each in error.violations)
    if error.domain == 'upstream':
        return f'upstream refused the call: {refusal}: {error.message}'
    if error.reason == 'DENIED_BY_POLICY':
        return f'the gateway does not allow {error.metadata["method"]} to {error.metadata["caller"]}'
    if error.code() is grpc.StatusCode.UNAVAILABLE and not error.domain:
        return f'the gateway cannot be reached: {error.message}'
    if error.retry_delay is not None:
        return f'repeat the call after {error.retry_delay} s: {error}'
    return str(error)


def main(address: str = ADDRESS, organization: str = ORGANIZATION, name: str = '') -> int:
    """Returns the exit status."""
    request = CreatePoliciesRequest(organization_id=organization)
    request.parameters.policies.add(policy_name=name, effect=EFFECT_ALLOW, notes='')
    try:
        with stampgate.connect(address) as channel:
            result = stampgate.submit(PolicyServiceStub(channel).CreatePolicies, request, timeout=10)
        print('created', *result.create_policies_result.policy_ids)
        return 0
    except stampgate.OutcomeUnknown as error:
        # Never forget this one: it is no stampgate.Error, and the policy may exist. Save the request with
        # error.request.SerializeToString(), and submit it again: it never acts twice.
        print(f'repeat the submit with the key {error.key}: {error.last}')
    except stampgate.ActivityPending as error:
        print(f'wait for the activity {error.activity.id}, for example for votes')
    except stampgate.ActivityRejected as error:
        print(f'users rejected the activity {error.activity.id}')
    except stampgate.ActivityFailed as error:
        print(f'the activity {error.activity.id} failed: {error.activity.failure.message}')
    except stampgate.Error as error:
        print(explain(error))
    return 1


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
