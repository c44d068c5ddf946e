// Renames an organization whose policies need a second vote: one caller submits and waits, another one approves.
//
//   node wait_and_vote.ts GATEWAY APPROVERS_GATEWAY ORGANIZATION NAME
import { setTimeout as pause } from 'node:timers/promises';
import { connect } from '@stampgate/client';
import { ActivityService, ActivityStatus, OrganizationService } from '@stampgate/client/v1';

const [
  address = '127.0.0.1:7443',
  approversAddress = address,
  organizationId = '11111111-2222-4333-8444-555555555555',
  organizationName = 'Approved',
] = process.argv.slice(2);
const proposer = connect(address);
// In production, the approver is another program, whose credentials belong to another user.
const approver = connect(approversAddress);

/** Approves the first activity that needs votes. */
async function approve() {
  const filter = { organizationId, filterByStatus: [ActivityStatus.CONSENSUS_NEEDED] };
  for (;;) {
    const { activities } = await approver.client(ActivityService).listActivities(filter);
    const [waiting] = activities;
    if (waiting) {
      const request = { organizationId, parameters: { fingerprint: waiting.fingerprint } };
      return approver.client(ActivityService).approveActivity(request);
    }
    await pause(200);
  }
}

const rename = OrganizationService.method.updateOrganizationName;
const request = { organizationId, parameters: { organizationName } };
const [result] = await Promise.all([proposer.submit(rename, request, { wait: true }), approve()]);
if (result.case === 'updateOrganizationNameResult') console.log(`renamed to ${result.value.organizationName}`);
proposer.close();
approver.close();
