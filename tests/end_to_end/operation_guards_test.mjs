// A file of operations adds a second statement of the chain to EarnWithdrawParameters: `chain` beside `chain_caip2`, or
// instead of it. An amount limit holds whatever both say, and a new field that nobody has reviewed cannot be used under a
// limit. Of the member that upstream has renamed, `chain_caip2` or `caip2`, callers use either name.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { addProtos, code, encode } from '../clients/gateway.mjs';
import { load } from '../clients/packages.mjs';
import { listServices } from '../clients/standard_services.mjs';
import { binary, root } from '../paths.mjs';
import { ORGANIZATION } from '../simulator/testing.mjs';
import { freeCaller, putConfig, run, scratch, startStack } from './harness.mjs';
import { logLines } from './log_lines.mjs';
import { reconfigure, reloaded } from './policy_callers.mjs';

const protobuf = load('protobufjs');

addProtos(join(root, 'tests/operation'), ['stampgate/testing/v1/teapot.proto']);

const TEAPOT_SERVICE = 'stampgate.testing.v1.TeapotService';
const WITHDRAW = 'EarnService/EarnWithdraw';
const PARAMETERS_FIELD = 3;
const CHAIN_FIELD = 7;
const ONE = 'EARN_CHAIN_EIP155_1';
const BASE = 'EARN_CHAIN_EIP155_8453';
const ADDRESS = '0xbeef01735c132ada46aa9aa4c54623caa92a64cb';

const operations = (name) => (name ? [binary(`tests/operation/${name}.binpb`)] : undefined);

/** The loopback caller, which may withdraw up to 1,000 on eip155:1. */
const limited = [
  {
    name: 'loopback',
    loopback: true,
    grants: [
      { methods: [WITHDRAW], all_organizations: true, amount_limits: [{ chain: 'eip155:1', max_amount: '1000' }] },
    ],
  },
];

const bytesField = (number, bytes) =>
  new protobuf.BufferWriter()
    .uint32((number << 3) | 2)
    .bytes(bytes)
    .finish();

/**
 * The request as bytes, because the test's own protos have no `chain`. `oldName` and `newName` are the value of the member
 * that upstream has renamed, and `chain` that of the added field. Leaves out values that are undefined.
 * @param {{oldName?: string | null, newName?: string, chain?: string, amount?: string, key?: string}} values
 */
function withdrawal({ oldName = ONE, newName, chain, amount = '500', key }) {
  const parameters = { wrapper_address: ADDRESS, sign_with: ADDRESS, amount_value: amount };
  if (oldName !== null) parameters.chain_caip2 = oldName;
  if (newName !== undefined) parameters.caip2 = newName;
  const request = encode(WITHDRAW, { organization_id: ORGANIZATION, parameters, idempotency_key: key });
  if (chain === undefined) return request;
  // The last field of a number is merged into the earlier ones.
  return Buffer.concat([request, bytesField(PARAMETERS_FIELD, bytesField(CHAIN_FIELD, Buffer.from(chain)))]);
}

/**
 * Starts a gateway whose config names this file of operations, or none.
 * @param {import('node:test').TestContext} t
 * @param {string | undefined} file
 * @param {object[]} [callers]
 */
async function startWith(t, file, callers = limited) {
  const { gateway, simulator } = await startStack(t, {
    config: { operations: operations(file), callers, store: { sqlite: { folder: scratch(t) } } },
  });
  /** Resolves to the body that upstream received. The simulator has no member `chain`, so it may refuse the body. */
  const sentBody = async (values) => {
    simulator.reset();
    await gateway.call(WITHDRAW, withdrawal(values)).catch(({ info }) => assert.equal(info?.domain, 'upstream'));
    return simulator.requests()[0].body;
  };
  return {
    gateway,
    simulator,
    sentBody,
    /** Resolves to the parameters that upstream received. */
    sent: async (values) => JSON.parse(await sentBody(values)).parameters,
    /** Resolves to the error. Nothing may have been sent. */
    refused: async (values) => {
      simulator.reset();
      const error = await gateway.refusal(WITHDRAW, withdrawal(values));
      assert.equal(simulator.stats().requests, 0);
      return error;
    },
  };
}

test('with a guard, both fields must state one chain, and the limit judges it', async (t) => {
  const { sent, refused } = await startWith(t, 'chain_guarded');
  const equal = await sent({ chain: 'eip155:1' });
  assert.equal(equal.chainCaip2, 'eip155:1');
  assert.equal(equal.chain, 'eip155:1');
  assert.equal((await sent({ chain: 'eip155:1', amount: '1000' })).amountValue, '1000');
  assert.equal((await refused({ chain: 'eip155:1', amount: '1001' })).code, code.PERMISSION_DENIED);
  assert.equal((await refused({ oldName: BASE, chain: 'eip155:8453' })).code, code.PERMISSION_DENIED);

  for (const values of [{ chain: 'eip155:8453' }, { oldName: BASE, chain: 'eip155:1' }, { chain: 'EIP155:1' }]) {
    const error = await refused(values);
    assert.equal(error.code, code.INVALID_ARGUMENT, JSON.stringify(values));
    assert.deepEqual(
      error.badRequest.field_violations.map(({ field, description }) => [field, description]),
      [['parameters.chain_caip2', 'must be equal to parameters.chain, which states the same thing']],
    );
  }
});

test('with a guard, one field alone is judged by its value', async (t) => {
  const { sent, refused } = await startWith(t, 'chain_guarded');
  assert.equal((await sent({})).chainCaip2, 'eip155:1');
  assert.equal((await refused({ oldName: BASE })).code, code.PERMISSION_DENIED);
  // The program requires chain_caip2, and a file does not change that.
  const error = await refused({ oldName: null, chain: 'eip155:1' });
  assert.equal(error.code, code.INVALID_ARGUMENT);
  assert.deepEqual(
    error.badRequest.field_violations.map(({ field }) => field),
    ['parameters.chain_caip2'],
  );
});

test('without a limit, contradictory fields are refused too', async (t) => {
  const { sent, refused } = await startWith(t, 'chain_guarded', freeCaller());
  assert.equal((await refused({ chain: 'eip155:8453' })).code, code.INVALID_ARGUMENT);
  assert.equal((await sent({ oldName: BASE, chain: 'eip155:8453' })).chain, 'eip155:8453');
});

test('a field that nobody has reviewed cannot be used under a limit', async (t) => {
  const { gateway, sent, refused } = await startWith(t, 'chain_unreviewed');
  for (const chain of ['eip155:8453', 'eip155:1']) {
    assert.equal((await refused({ chain })).code, code.PERMISSION_DENIED);
  }
  assert.equal((await sent({})).chainCaip2, 'eip155:1');

  const { status, stderr } = await run(['check', '--config', gateway.configFile]);
  assert.equal(status, 0, stderr);
  assert.match(stderr, /operations: stampgate\.v1\.EarnWithdrawParameters\.chain has no guard: .* \(warning\)/);
});

test('a field that nobody has reviewed can be used without limits', async (t) => {
  const { sent } = await startWith(t, 'chain_unreviewed', freeCaller());
  assert.equal((await sent({ chain: 'eip155:8453' })).chain, 'eip155:8453');
});

test('a field that takes the JSON name of a guarded one is left out, and the limit holds', async (t) => {
  const { gateway, sent, refused } = await startWith(t, 'chain_guarded');
  await reconfigure(gateway, { operations: operations('chain_reserved') });
  const [{ message }] = await logLines(gateway, 1, 'config_warnings');
  assert.match(message, /EarnWithdrawParameters\.chain has the JSON name of \S*\.chain_caip2; it is left out/);
  assert.equal((await refused({ oldName: BASE })).code, code.PERMISSION_DENIED);
  assert.equal((await refused({ chain: 'eip155:1' })).code, code.INVALID_ARGUMENT);
  assert.equal((await sent({})).chainCaip2, 'eip155:1');
});

test('a file that renames a guarded field adds its other operations, and the field stays as it is', async (t) => {
  const grants = [...limited[0].grants, { methods: [`${TEAPOT_SERVICE}/GetTeapot`], all_organizations: true }];
  const { gateway, simulator, sent, refused } = await startWith(t, 'chain_renamed', [{ ...limited[0], grants }]);
  const sentences = [
    'EarnWithdrawParameters.chain_caip2 has another name, number, type, list or oneof; it stays as it is',
    'LeaveService.Leave is left out, because it needs stampgate.v1.EarnWithdrawParameters',
  ];
  const [{ message, warnings }] = await logLines(gateway, 1, 'config_warnings');
  assert.equal(warnings, sentences.length);
  const { status, stderr } = await run(['check', '--config', gateway.configFile]);
  assert.equal(status, 0, stderr);
  for (const sentence of sentences) {
    assert.ok(message.includes(`operations[0]: stampgate.v1.${sentence}`), message);
    assert.ok(stderr.includes(`operations[0]: stampgate.v1.${sentence} (warning)\n`), stderr);
  }

  const answersInForce = async () => {
    assert.equal((await sent({})).chainCaip2, 'eip155:1');
    assert.equal((await refused({ oldName: BASE })).code, code.PERMISSION_DENIED);
    assert.equal((await refused({ amount: '1001' })).code, code.PERMISSION_DENIED);
  };
  await answersInForce();
  assert.ok(!(await listServices(gateway.client)).includes('stampgate.v1.LeaveService'));
  simulator.addFaults([{ kind: 'status', status: 200, body: '{"shortAndStout":true}' }]);
  const request = { organization_id: ORGANIZATION, teapot_id: 't' };
  assert.deepEqual(await gateway.call('TeapotService/GetTeapot', request), { short_and_stout: true });

  await reconfigure(gateway, { callers: limited, operations: operations('chain_guarded') });
  await reconfigure(gateway, { operations: operations('chain_renamed') });
  assert.equal((await logLines(gateway, 2, 'config_warnings')).length, 2);
  await answersInForce();
});

test('a file with the API of the first release is valid, and check names its options that are not used', async (t) => {
  const { gateway, sent } = await startWith(t, 'chain_guarded');
  const released = { ...gateway.config, operations: [join(root, 'proto/releases/0.1.0.binpb')] };
  await reloaded(gateway, () => putConfig(gateway.configFile, JSON.stringify(released)));
  assert.equal((await sent({})).chainCaip2, 'eip155:1');

  const { status, stderr } = await run(['check', '--config', gateway.configFile]);
  assert.equal(status, 0, stderr);
  assert.match(
    stderr,
    /operations\[0\]: stampgate\.v1\.EarnWithdrawParameters\.sign_with has other options .* \(warning\)/,
  );
});

/** The members of the parameters that name the chain. */
const chainIn = ({ chainCaip2, caip2 }) => ({ chainCaip2, caip2 });
const oldName = { chainCaip2: 'eip155:1', caip2: undefined };
const newName = { chainCaip2: undefined, caip2: 'eip155:1' };
const renamed = { oldName: null, newName: 'eip155:1' };

test('of a renamed member, callers use either name, and the config chooses the one that upstream receives', async (t) => {
  const { gateway, sent, refused } = await startWith(t, undefined);
  const lineOf = async () => (await run(['check', '--config', gateway.configFile])).stdout;
  const oldest = { expected: oldName, line: /upstream receives the oldest names of members .* on 2026-10-21/ };
  const newest = { day: '2026-10-21', expected: newName, line: /upstream receives the names of 2026-10-21 of members/ };
  for (const { day, expected, line } of [oldest, newest, oldest]) {
    if (day !== gateway.config.member_names_as_of) await reconfigure(gateway, { member_names_as_of: day });
    for (const values of [{}, renamed]) assert.deepEqual(chainIn(await sent(values)), expected);
    for (const values of [
      { oldName: BASE },
      { oldName: null, newName: 'eip155:8453' },
      { ...renamed, amount: '1001' },
    ]) {
      assert.equal((await refused(values)).code, code.PERMISSION_DENIED, JSON.stringify(values));
    }
    for (const values of [
      { newName: 'eip155:1' },
      { newName: 'eip155:8453' },
      { oldName: null, newName: 'eip155:2' },
    ]) {
      const error = await refused(values);
      assert.equal(error.code, code.INVALID_ARGUMENT, JSON.stringify(values));
      assert.equal(error.badRequest.field_violations[0].field, 'parameters.caip2');
    }
    assert.match(await lineOf(), line);
  }
});

test('a key is repeated with the name that its first request had, whatever name is in force', async (t) => {
  const { gateway, sentBody } = await startWith(t, undefined);
  const first = await sentBody({ key: 'old' });
  assert.deepEqual(chainIn(JSON.parse(first).parameters), oldName);

  await reconfigure(gateway, { member_names_as_of: '2026-10-21' });
  assert.equal(await sentBody({ key: 'old' }), first);
  assert.equal(await sentBody({ ...renamed, key: 'old' }), first);
  const second = await sentBody({ key: 'new' });
  assert.deepEqual(chainIn(JSON.parse(second).parameters), newName);

  await reconfigure(gateway, { member_names_as_of: undefined });
  assert.equal(await sentBody({ ...renamed, key: 'old' }), first);
  const { reason } = (await gateway.refusal(WITHDRAW, withdrawal({ ...renamed, amount: '7', key: 'old' }))).info;
  assert.equal(reason, 'IDEMPOTENCY_KEY_REUSED');
});

test('a day that is later than each newer name is refused', async (t) => {
  const { gateway, sent } = await startWith(t, undefined);
  const faulty = JSON.stringify({ ...gateway.config, member_names_as_of: '2026-10-22' });
  const { message } = await reloaded(gateway, () => putConfig(gateway.configFile, faulty), 'reload_failed');
  assert.match(message, /member_names_as_of: must not be later than the newest name, which is of 2026-10-21/);
  assert.deepEqual(chainIn(await sent({})), oldName);
});

test('check names the methods of a file that no class covers', async (t) => {
  const { gateway } = await startWith(t, 'teapot', freeCaller());
  const { status, stdout } = await run(['check', '--config', gateway.configFile]);
  assert.equal(status, 0);
  for (const method of ['BrewTea', 'GetTeapot']) {
    assert.match(
      stdout,
      new RegExp(`no class covers stampgate\\.testing\\.v1\\.TeapotService/${method}, which a file adds`),
    );
  }
});
