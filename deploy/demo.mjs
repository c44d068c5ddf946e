// Makes the calls that deploy/quickstart demonstrates, and prints their effects.
//
//   node deploy/demo.mjs GATEWAY SIMULATOR_URL ADMIN_URL AUDIT_FILE
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { call, connect } from '../tests/clients/gateway.mjs';
import { describeError, describeMessage } from './describe.mjs';

const [gateway, simulator, admin, auditFile] = process.argv.slice(2);
if (!auditFile) {
  console.error('usage: demo.mjs GATEWAY SIMULATOR_URL ADMIN_URL AUDIT_FILE');
  process.exit(2);
}

const organization_id = '11111111-2222-4333-8444-555555555555';
const client = connect(gateway);

function expect(what, holds) {
  if (holds) return;
  console.error(`the demonstration failed: ${what}`);
  process.exit(1);
}

async function control(path, method = 'GET', body = undefined) {
  const answer = await fetch(`${simulator}/_simulator/${path}`, { method, body: body && JSON.stringify(body) });
  expect(`the simulator answered ${answer.status}`, answer.ok);
  /** @type {any} */
  const content = await answer.json();
  return content;
}

/**
 * Makes a call. Prints it, the request that the gateway sent upstream, and the response. Resolves to the response or to
 * the error.
 */
async function show(method, request) {
  console.log(`\n-- ${method} ${JSON.stringify(request)}`);
  await control('requests', 'DELETE');
  const answer = await call(client, method, request).catch((error) => error);
  const { requests } = await control('requests');
  // The gateway's GET requests fetch the webhook key set and belong to no call.
  const posts = requests.filter((sent) => sent.method === 'POST');
  if (posts.length === 0) console.log('nothing was sent upstream');
  for (const { path, body, headers } of posts) {
    const stamp = headers.find(([name]) => name.toLowerCase() === 'x-stamp')[1];
    console.log(`the gateway sent: POST ${path}`);
    console.log(`  X-Stamp: ${stamp.slice(0, 40)}... (${stamp.length} characters)\n  ${body}`);
  }
  const isError = answer instanceof Error;
  console.log(`the caller got\n${isError ? describeError(answer) : describeMessage(answer)}`);
  return answer;
}

console.log('\nThe gateway translates a typed call to a stamped POST, and the activity to a typed response.');
const consensus = 'approvers.count() >= 2';
const policy = { policy_name: 'two of three', effect: 'EFFECT_ALLOW', consensus, notes: '' };
const submit = { organization_id, parameters: { policies: [policy] }, idempotency_key: randomUUID() };
const created = await show('PolicyService/CreatePolicies', submit);
const policy_id = created.activity?.result?.create_policies_result?.policy_ids?.[0];
expect('the policy was not created', policy_id);

console.log('\nA query finds the policy.');
const found = await show('PolicyService/GetPolicy', { organization_id, policy_id });
expect('the policy was not found', found.policy?.policy_name === 'two of three');

console.log('\nUpstream carries out a call, and its response is lost. The gateway sends the same bytes again, and the');
console.log('second response is lost too. The error reports that the outcome is unknown.');
const name = { organization_id, parameters: { organization_name: 'Renamed' }, idempotency_key: randomUUID() };
await control('faults', 'POST', { kind: 'readAndClose', match: { path: 'update_organization_name' }, times: 2 });
const lost = await show('OrganizationService/UpdateOrganizationName', name);
expect('the outcome was known', lost.info?.reason === 'OUTCOME_UNKNOWN');

console.log('\nThe caller repeats the request with the same key. The gateway sends the same bytes again, and upstream');
console.log('returns the activity of the first try.');
const renamed = await show('OrganizationService/UpdateOrganizationName', name);
expect('the repetition failed', renamed.activity?.status === 'ACTIVITY_STATUS_COMPLETED');
expect('the bytes differ', renamed.activity.fingerprint === lost.info.metadata.fingerprint);

console.log('\nThe gateway refuses an invalid request before it signs anything. The error lists all violations.');
const refused = await show('WalletService/ListWalletAccounts', { pagination_options: { limit: 101 } });
expect('the gateway accepted an invalid request', refused.info?.reason === 'INVALID_REQUEST');

console.log('\nThe gateway denies a call that no grant of this caller allows.');
const denied = await show('OrganizationService/DeleteSubOrganization', { organization_id, parameters: {} });
expect('the gateway allowed a call that no grant allows', denied.info?.reason === 'DENIED_BY_POLICY');

console.log('\nThe gateway translates an error of upstream to a gRPC status, whose code states what to do next.');
const missing = await show('PolicyService/GetPolicy', { organization_id, policy_id: 'no-such-policy' });
expect('the gateway found a policy that does not exist', missing.info?.domain === 'upstream');
client.close();

console.log('\nThe audit log has every decision. The gateway signs only after a decision is on disk. The denial:');
const records = readFileSync(auditFile, 'utf8').split('\n');
const denial = records.find((line) => line.includes('"kind":"deny"'));
expect('the audit log has no denial', denial);
console.log(`  ${denial}`);

console.log('\nThe metrics on the admin port count the calls of each method, by their result:');
const metrics = await (await fetch(`${admin}/metrics`)).text();
const counted = metrics
  .split('\n')
  .filter((line) => /^stampgate_calls_total\{.* [1-9]\d*$/.test(line))
  .sort();
expect('the metrics count no call', counted.length > 0);
for (const line of counted) console.log(`  ${line}`);
