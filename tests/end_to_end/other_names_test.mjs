// A file of the operator has an operation that the gateway has too, under another name: both names work, with the rules
// of the gateway. What only has the path of an operation is left out alone.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { addProtos, code } from '../clients/gateway.mjs';
import { describeSymbol } from '../clients/standard_services.mjs';
import { binary, root } from '../paths.mjs';
import { ORGANIZATION, identifier } from '../simulator/testing.mjs';
import { run, scratch, startStack } from './harness.mjs';
import { logLines } from './log_lines.mjs';
import { reconfigure } from './policy_callers.mjs';

addProtos(join(root, 'tests/operation'), ['stampgate/testing/v1/own_earn.proto']);

const OWN_SERVICE = 'stampgate.testing.v1.OwnEarnService';
const OWN = 'OwnEarnService/Withdraw';
const RELEASED = 'EarnService/EarnWithdraw';
const WRAPPER = '0x0101010101010101010101010101010101010101';
const SIGNER = '0x0202020202020202020202020202020202020202';
const NOW = String(Date.now());

const grantOf = (rights) => [
  {
    name: 'loopback',
    loopback: true,
    grants: [{ ...rights, all_organizations: true, amount_limits: [{ chain: 'eip155:1', max_amount: '1000' }] }],
  },
];

const { gateway, simulator } = await startStack(
  { after },
  {
    config: {
      operations: [binary('tests/operation/own_earn.binpb')],
      callers: grantOf({ methods: [`${OWN_SERVICE}/Withdraw`, RELEASED] }),
      store: { sqlite: { folder: scratch({ after }) } },
    },
  },
);

beforeEach(() => simulator.reset());

const own = (values = {}, more = {}) => ({
  organization_id: ORGANIZATION,
  timestamp_ms: NOW,
  parameters: { amount: '500', chain: 'CHAIN_ETHEREUM', sign_with: SIGNER, wrapper_address: WRAPPER, ...values },
  ...more,
});
const released = (more = {}) => ({
  organization_id: ORGANIZATION,
  timestamp_ms: NOW,
  parameters: {
    amount_value: '500',
    chain_caip2: 'EARN_CHAIN_EIP155_1',
    sign_with: SIGNER,
    wrapper_address: WRAPPER,
  },
  ...more,
});

/** The body that upstream received. */
const sent = () => simulator.requests().at(-1).body;

test('upstream receives the same bytes under both names, and the caller the response', async () => {
  const { activity } = await gateway.call(OWN, own());
  const body = sent();
  await gateway.call(RELEASED, released());
  assert.deepEqual(body, sent());
  assert.equal(activity.type, 'ACTIVITY_TYPE_EARN_WITHDRAW');
  assert.ok(activity.intent.earn_withdraw_intent);
});

test("the gateway's guards and rules apply under the other name, although the file has none", async () => {
  for (const values of [{ amount: '1001' }, { chain: 'CHAIN_BASE' }]) {
    assert.equal((await gateway.refusal(OWN, own(values))).code, code.PERMISSION_DENIED, JSON.stringify(values));
  }
  const error = await gateway.refusal(OWN, own({ amount: '', sign_with: '' }));
  assert.equal(error.code, code.INVALID_ARGUMENT);
  assert.deepEqual(
    error.badRequest.field_violations.map(({ field }) => field),
    ['parameters.sign_with', 'parameters.amount_value'],
  );
  assert.equal(simulator.stats().requests, 0);
});

test('upstream receives the name of a renamed member that the config chooses, also under the other name', async () => {
  await reconfigure(gateway, { member_names_as_of: '2026-10-21' });
  await gateway.call(OWN, own());
  assert.equal(JSON.parse(sent()).parameters.caip2, 'eip155:1');
  await reconfigure(gateway, { member_names_as_of: undefined });
});

test('an idempotency key belongs to the name under which it was used first', async () => {
  const key = { idempotency_key: 'k1', timestamp_ms: undefined };
  const first = await gateway.call(OWN, own({}, key));
  assert.equal((await gateway.call(OWN, own({}, key))).activity.id, first.activity.id);
  const requests = simulator.stats().requests;
  const error = await gateway.refusal(RELEASED, released(key));
  assert.equal(error.code, code.INVALID_ARGUMENT);
  assert.equal(error.info.reason, 'IDEMPOTENCY_KEY_REUSED');
  assert.equal(simulator.stats().requests, requests);
});

test('check and the log name the other name and what was left out, and reflection describes it', async () => {
  const leftOut =
    `operations[0]: ${OWN_SERVICE}.ReadPolicy has the path of stampgate.v1.PolicyService.GetPolicy, but not its ` +
    'requests: stampgate.testing.v1.ReadPolicyRequest.policy_name has another type, list, oneof, JSON name, text form ' +
    'or role than stampgate.v1.GetPolicyRequest.policy_id; it is left out';
  const { status, stdout, stderr } = await run(['check', '--config', gateway.configFile]);
  assert.equal(status, 0, stderr);
  assert.ok(stderr.includes(`${leftOut} (warning)\n`), stderr);
  assert.ok(stdout.includes(`${OWN_SERVICE}/Withdraw is another name of ${RELEASED}, with the same rules\n`), stdout);
  assert.ok(stderr.includes(`${OWN_SERVICE}.Withdraw has other options in this file, which are not used`), stderr);
  const [{ message }] = await logLines(gateway, 1, 'config_warnings');
  assert.ok(message.includes(leftOut), message);

  const refusal = await gateway.refusal('OwnEarnService/ReadPolicy', {
    organization_id: ORGANIZATION,
    policy_name: 'p',
  });
  assert.equal(refusal.code, code.UNIMPLEMENTED);
  const policy = { organization_id: ORGANIZATION, policy_id: identifier(6) };
  assert.equal((await gateway.refusal('PolicyService/GetPolicy', policy)).code, code.PERMISSION_DENIED);
  const file = await describeSymbol(gateway.client, OWN_SERVICE);
  assert.deepEqual(
    file.service[0].method.map(({ name }) => name),
    ['Withdraw'],
  );
});

test('a grant must name the other name too, unless it has the class of the operation', async () => {
  await reconfigure(gateway, { callers: grantOf({ methods: [RELEASED] }) });
  await gateway.call(RELEASED, released());
  assert.equal((await gateway.refusal(OWN, own())).code, code.PERMISSION_DENIED);
  await reconfigure(gateway, { callers: grantOf({ classes: ['dangerous'] }) });
  await gateway.call(OWN, own());
  assert.equal((await gateway.refusal(OWN, own({ amount: '1001' }))).code, code.PERMISSION_DENIED);
});
