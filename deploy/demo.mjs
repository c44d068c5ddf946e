// The calls that deploy/quickstart makes, and a client for calls of your own:
//
//   node deploy/demo.mjs GATEWAY SIMULATOR_URL             the demonstration
//   node deploy/demo.mjs GATEWAY Service/Method REQUEST    one call; REQUEST is the message as JSON
import { randomUUID } from 'node:crypto';
import { call, code, connect } from '../tests/clients/gateway.mjs';

const [gateway, second, third] = process.argv.slice(2);
if (!second) {
  console.error('usage: demo.mjs GATEWAY SIMULATOR_URL | demo.mjs GATEWAY Service/Method REQUEST');
  process.exit(2);
}

const organizationId = '11111111-2222-4333-8444-555555555555';
const client = connect(gateway);
// The votes repeat the whole user and the body once more.
const brief = (key, value) => (key === 'votes' ? `(${value.length} left out here)` : value);
const show = (value) => JSON.stringify(value, brief, 2).replace(/^/gm, '  ');
const nameOf = (number) => Object.keys(code).find((name) => code[name] === number);

async function tell(method, request) {
  console.log(`\n-- ${method} ${JSON.stringify(request)}`);
  try {
    const response = await call(client, method, request);
    await showUpstream();
    console.log(`the caller got\n${show(response)}`);
    return response;
  } catch (error) {
    await showUpstream();
    console.log(`the caller got ${nameOf(error.code)} ${error.info?.reason ?? ''}: ${error.details}`);
    for (const { field, description } of error.badRequest?.field_violations ?? []) {
      console.log(`    ${field} ${description}`);
    }
    return undefined;
  }
}

async function control(path, method = 'GET') {
  const answer = await fetch(`${second}/_simulator/${path}`, { method });
  return answer.json();
}

async function showUpstream() {
  if (!second.startsWith('http')) return;
  const { requests } = await control('requests');
  await control('requests', 'DELETE');
  if (requests.length === 0) console.log('nothing was sent upstream');
  for (const { path, body, headers } of requests) {
    const stamp = headers.find(([name]) => name.toLowerCase() === 'x-stamp')?.[1] ?? '';
    console.log(`what went out: POST ${path}`);
    console.log(`  X-Stamp: ${stamp.slice(0, 40)}... (${stamp.length} characters)\n  ${body}`);
  }
}

function expect(what, holds) {
  if (holds) return;
  console.error(`the demonstration went wrong: ${what}`);
  process.exit(1);
}

if (second.startsWith('http')) {
  console.log('\nA typed call becomes a stamped POST, and its activity a typed answer.');
  const consensus = 'approvers.count() >= 2';
  const policy = { policy_name: 'two of three', effect: 'EFFECT_ALLOW', consensus, notes: '' };
  const submit = {
    organization_id: organizationId,
    parameters: { policies: [policy] },
    idempotency_key: randomUUID(),
  };
  const created = await tell('PolicyService/CreatePolicies', submit);
  const policyId = created?.activity?.result?.create_policies_result?.policy_ids?.[0];
  expect('the policy was not created', policyId);

  console.log('\nThe same request with the same key is the same bytes, and the same activity: upstream acts once.');
  const repeated = await tell('PolicyService/CreatePolicies', submit);
  expect('the repeated submit acted twice', repeated?.activity?.id === created.activity.id);

  console.log('\nA query finds it.');
  const found = await tell('PolicyService/GetPolicy', { organization_id: organizationId, policy_id: policyId });
  expect('the policy was not found', found?.policy?.policy_name === 'two of three');

  console.log('\nA request that breaks rules is refused with all of them at once, before anything is signed.');
  const refused = await tell('WalletService/ListWalletAccounts', { pagination_options: { limit: 101 } });
  expect('a bad request was let through', refused === undefined);

  console.log('\nAn error of upstream arrives as a status that says what to do next.');
  const unknown = { organization_id: organizationId, policy_id: 'no-such-policy' };
  const missing = await tell('PolicyService/GetPolicy', unknown);
  expect('a policy was found that is not there', missing === undefined);
} else {
  await tell(second, JSON.parse(third ?? '{}'));
}
client.close();
