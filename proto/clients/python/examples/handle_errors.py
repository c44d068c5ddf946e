"""Creates a policy and handles each kind of error: handle_errors.py ADDRESS ORGANIZATION NAME."""

import sys

import grpc

import stampgate
from stampgate.v1.policies_pb2 import EFFECT_ALLOW
from stampgate.v1.policy_service_pb2 import CreatePoliciesRequest
from stampgate.v1.policy_service_pb2_grpc import PolicyServiceStub


def create(policies: PolicyServiceStub, request: CreatePoliciesRequest) -> str:
    try:
        result = stampgate.submit(policies.CreatePolicies, request, timeout=10)
        return f'created {", ".join(result.create_policies_result.policy_ids)}'
    except stampgate.ActivityPending as error:
        return f'wait for the activity {error.activity.id}, for example for votes'
    except stampgate.ActivityRejected as error:
        return f'users rejected the activity {error.activity.id}'
    except stampgate.ActivityFailed as error:
        return f'the activity {error.activity.id} failed: {error.activity.failure.message}'
    except stampgate.OutcomeUnknown as error:
        # Save error.request.SerializeToString(), and submit it again: it never acts twice.
        return f'repeat the submit with the key {error.key}: {error.message}'
    except stampgate.Error as error:
        if error.violations:
            return '\n'.join(f'{each.field}: {each.description}' for each in error.violations)
        if error.domain == 'upstream':
            return f'upstream refused the call: {error.reason}: {error.message}'
        if error.reason == 'DENIED_BY_POLICY':
            return f'the gateway does not allow {error.metadata["method"]} to {error.metadata["caller"]}'
        if error.code() is grpc.StatusCode.UNAVAILABLE:
            return f'the gateway cannot be reached: {error.message}'
        return f'{error} (delay {error.retry_delay}, request {error.request_id})'


def main(address: str, organization: str, name: str) -> None:
    request = CreatePoliciesRequest(organization_id=organization)
    request.parameters.policies.add(policy_name=name, effect=EFFECT_ALLOW, notes='')
    with stampgate.connect(address) as channel:
        print(create(PolicyServiceStub(channel), request))


if __name__ == '__main__':
    main(*sys.argv[1:])
