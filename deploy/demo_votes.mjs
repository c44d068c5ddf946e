// Makes a call that waits for consensus: a second caller approves its activity, and the first call returns the result.
// deploy/quickstart runs this after demo_consumers.mjs.
//
//   node deploy/demo_votes.mjs GATEWAY SIMULATOR_URL APPROVERS_TOKEN
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { call, connect } from '../tests/clients/gateway.mjs';

const [gateway, simulator, token] = process.argv.slice(2);
if (!token) {
  console.error('usage: demo_votes.mjs GATEWAY SIMULATOR_URL APPROVERS_TOKEN');
  process.exit(2);
}

const organization_id = '11111111-2222-4333-8444-555555555555';
const client = connect(gateway);
const asApprover = { metadata: { authorization: `Bearer ${token}` } };

function expect(what, holds) {
  if (holds) return;
  console.error(`the demonstration failed: ${what}`);
  process.exit(1);
}

const voters = ({ votes }) => votes.map(({ user }) => user.user_name).join(', ');

const fault = { kind: 'pending', approvals: 2, match: { path: 'update_organization_name' } };
await fetch(`${simulator}/_simulator/faults`, { method: 'POST', body: JSON.stringify(fault) });

console.log('\nA caller renames the organization. Upstream needs the approval of a second user, and the call waits.');
const request = {
  ...{ organization_id, parameters: { organization_name: 'Approved' }, idempotency_key: randomUUID() },
  wait_until: 'WAIT_UNTIL_FINAL',
};
const renamed = call(client, 'OrganizationService/UpdateOrganizationName', request, { deadlineMs: 30_000 });
renamed.catch(() => {}); // reported below

console.log('\nA second caller finds the activity that needs consensus, and approves it with a key of its own.');
const filter = { organization_id, filter_by_status: ['ACTIVITY_STATUS_CONSENSUS_NEEDED'] };
let waiting;
for (let tries = 0; waiting === undefined && tries < 100; ++tries) {
  await pause(50);
  const { activities = [] } = await call(client, 'ActivityService/ListActivities', filter, asApprover);
  [waiting] = activities;
}
expect('no activity needs consensus', waiting);
console.log(`  ${waiting.type} ${waiting.id}, approved by: ${voters(waiting)}`);
const { fingerprint } = waiting;
await call(client, 'ActivityService/ApproveActivity', { organization_id, parameters: { fingerprint } }, asApprover);

const { activity } = await renamed;
console.log('\nThe event of the activity ends the wait of the first call, which returns the result.');
console.log(`  ${activity.status}, approved by: ${voters(activity)}`);
expect('the activity was not completed', activity.status === 'ACTIVITY_STATUS_COMPLETED');
expect('the result is missing', activity.result.update_organization_name_result.organization_name === 'Approved');
client.close();
