"""Renames an organization, which needs votes: one caller waits, and another one approves.

wait_and_vote.py ADDRESS ORGANIZATION NAME APPROVERS_TOKEN

The token is that of a caller whose grant has the key of another user.
"""

import asyncio
import sys

import stampgate
from stampgate import aio
from stampgate.v1.activity_pb2 import ACTIVITY_STATUS_CONSENSUS_NEEDED, Activity
from stampgate.v1.activity_service_pb2 import ApproveActivityRequest
from stampgate.v1.activity_service_pb2_grpc import ActivityServiceStub
from stampgate.v1.organization_service_pb2 import UpdateOrganizationNameRequest
from stampgate.v1.organization_service_pb2_grpc import OrganizationServiceStub


async def approve(channel: aio.Channel, activity: Activity, token: str) -> None:
    vote = ApproveActivityRequest(organization_id=activity.organization_id)
    vote.parameters.fingerprint = activity.fingerprint
    await ActivityServiceStub(channel).ApproveActivity(vote, metadata=[('authorization', f'Bearer {token}')])


async def main(address: str, organization: str, name: str, token: str) -> None:
    request = UpdateOrganizationNameRequest(organization_id=organization)
    request.parameters.organization_name = name
    async with aio.connect(address) as channel:
        rename = OrganizationServiceStub(channel).UpdateOrganizationName
        try:
            result = await aio.submit(rename, request)
        except stampgate.ActivityPending as pending:
            if pending.activity.status != ACTIVITY_STATUS_CONSENSUS_NEEDED:
                raise
            print('the activity needs votes:', pending.activity.id)
            await approve(channel, pending.activity, token)
            # This request has the key of the first one, so it waits for the same activity.
            result = await aio.submit(rename, pending.request, wait=True, timeout=300)
        print('renamed:', result.update_organization_name_result.organization_name)


if __name__ == '__main__':
    asyncio.run(main(*sys.argv[1:]))
