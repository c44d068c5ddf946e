// What a denial states, and the rule of a grant that submits must have idempotency keys.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { code } from '../clients/gateway.mjs';
import { ORGANIZATION, apiKeyNamed, freshTimestamp, stampOf, subOrganization } from '../simulator/testing.mjs';
import { HANG_MS, auditConfig, putConfig, run, scratch, startStack } from './harness.mjs';
import { logLines, recordsOf } from './log_lines.mjs';
import { until } from './processes.mjs';
import { asCaller, callerOf, keyOf, publicKeyOf, reconfigure, stampKeyOf } from './policy_callers.mjs';

const CHILD = subOrganization(1);

/** A stack whose gateway has an audit log, a store, the keys `main` and `other`, and these callers. */
async function start(t, callers, more = {}) {
  const folder = scratch(t);
  const audit = await auditConfig(folder);
  const keys = [keyOf(folder, 'main'), keyOf(folder, 'other')];
  const config = { ...{ keys, callers, audit, store: { sqlite: { folder } }, reload_interval: '10m' }, ...more };
  return startStack(t, { config });
}

const deniedCall = (caller, method) => `the gateway's policy does not allow caller ${caller} this call of ${method}`;

const TIMEOUT = { timeout: HANG_MS };

test('a denial states what the grants of the caller lack: in the error, the log and the audit', TIMEOUT, async (t) => {
  const grants = [{ classes: ['query'], organizations: [CHILD] }];
  // The audit log has at most six denials of a caller in a minute.
  const { gateway } = await start(t, [callerOf('reader', grants), callerOf('second', grants)]);
  const cure = 'set it to this day or later, or name the method in a grant';
  const ofDay = 'a grant has class query, but ListWallets is of 2026-09-22 and class_grants_as_of is';
  const reasons = [];
  for (const [class_grants_as_of, method, why] of [
    [undefined, 'WalletService/ListWallets', `${ofDay} not set: ${cure}`],
    ['2026-08-01', 'WalletService/ListWallets', `${ofDay} 2026-08-01, which is earlier: ${cure}`],
    ['2026-09-22', 'ActivityService/GetActivity', 'no grant has class dangerous or names the method'],
    [
      ...['2026-09-22', 'OrganizationService/GetOrganization'],
      'GetOrganization is internal and in no class: a grant must name it',
    ],
    ['2026-09-22', 'EventService/ListEvents', 'no grant has class events or names the method'],
    [
      ...['2026-09-22', 'GeneralService/QueryOperation'],
      'QueryOperation is in no class: a grant must list the operation in general_operations',
    ],
  ]) {
    if (gateway.config.class_grants_as_of !== class_grants_as_of) await reconfigure(gateway, { class_grants_as_of });
    const error = await asCaller(gateway, 'reader').refusal(method, { organization_id: CHILD });
    assert.deepEqual([error.code, error.info.reason], [code.PERMISSION_DENIED, 'DENIED_BY_POLICY']);
    assert.equal(error.details, `${deniedCall('reader', method)}: ${why}`);
    reasons.push(why);
  }
  const lines = await logLines(gateway, reasons.length, 'call_refused');
  for (const [i, why] of reasons.entries()) assert.ok(lines[i].message.endsWith(`: ${why}`), lines[i].message);

  // The caller does not learn that only the organization is wrong. The operator does.
  const method = 'WalletService/ListWallets';
  const error = await asCaller(gateway, 'second').refusal(method, { organization_id: ORGANIZATION });
  assert.equal(error.details, deniedCall('second', method));
  reasons.push('no grant has this method for this organization');
  const denied = () => recordsOf(gateway.config.audit.file).filter(({ kind }) => kind === 'deny');
  await until(() => denied().length >= reasons.length, 'the records of the denials');
  assert.deepEqual(
    denied().map(({ reason }) => reason),
    reasons,
  );
});

test('a caller whose list of organizations is empty does not learn it from a denied read', TIMEOUT, async (t) => {
  const organizations_file = join(scratch(t), 'nobody.txt');
  writeFileSync(organizations_file, '# no organizations\n');
  const { gateway } = await start(t, [callerOf('reader', [{ classes: ['events'], organizations_file }])]);
  const error = await asCaller(gateway, 'reader').refusal('EventService/ListEvents', {});
  assert.equal(error.details, deniedCall('reader', 'EventService/ListEvents'));
});

describe('a grant can require the idempotency key of a submit:', TIMEOUT, () => {
  const METHOD = 'OrganizationService/UpdateOrganizationName';
  const rule = { require_idempotency_key: true };
  const strict = { methods: [METHOD], organizations: [ORGANIZATION, CHILD], key: 'main', ...rule };
  const lax = { methods: [METHOD], organizations: [CHILD], key: 'other' };
  const tea = { path: 'brew_tea', activity_type: 'ACTIVITY_TYPE_BREW_TEA_V3' };
  const general = {
    general_operations: [tea, { path: 'find_teapot' }],
    methods: ['PolicyService/GetPolicy', 'AuthenticationService/StampLogin'],
    ...{ organizations: [CHILD], key: 'main', ...rule },
  };
  const rename = (organization_id, more = {}) => [
    METHOD,
    { organization_id, parameters: { organization_name: 'Renamed' }, ...more },
  ];
  const brew = (more = {}) => [
    'GeneralService/SubmitOperation',
    { organization_id: CHILD, ...tea, parameters: '{"leaves":"l"}', ...more },
  ];
  const keyed = () => ({ idempotency_key: randomUUID() });

  /** A stack, with a check that a call is refused and one that returns which key signed a call. */
  async function scene(t) {
    const stack = await start(t, [callerOf('desk', [strict, general]), callerOf('keeper', [strict, lax])]);
    const sent = () => stack.simulator.stats().requests;
    const isRefused = async (name, call) => {
      const before = sent();
      const error = await asCaller(stack.gateway, name).refusal(...call);
      assert.deepEqual([error.code, error.info.reason], [code.INVALID_ARGUMENT, 'INVALID_REQUEST']);
      const description = 'is required: the grant of this call has require_idempotency_key';
      assert.deepEqual(error.badRequest.field_violations, [{ field: 'idempotency_key', description }]);
      assert.equal(sent(), before);
    };
    const signer = async (name, call) => {
      const before = sent();
      await asCaller(stack.gateway, name)
        .call(...call)
        .catch(() => {});
      assert.equal(sent(), before + 1);
      return stampKeyOf(stack.simulator.requests().at(-1));
    };
    return { ...stack, isRefused, signer };
  }

  test('a submit without a key is refused, also through GeneralService and with a timestamp_ms', async (t) => {
    const { gateway, isRefused, signer } = await scene(t);
    await isRefused('desk', rename(CHILD));
    await isRefused('desk', rename(CHILD, { timestamp_ms: freshTimestamp() }));
    await isRefused('desk', brew());
    assert.equal(await signer('desk', rename(CHILD, keyed())), publicKeyOf('main'));
    assert.equal(await signer('desk', brew(keyed())), publicKeyOf('main'));
    const denied = () => recordsOf(gateway.config.audit.file).filter(({ kind }) => kind === 'deny');
    await until(() => denied().length >= 3, 'the records of the denials');
    const reason = 'idempotency_key is not set, and the grant has require_idempotency_key';
    assert.deepEqual(
      denied().map((record) => record.reason),
      [reason, reason, reason],
    );
  });

  test("a query and a request with a client's stamp need none", async (t) => {
    const { signer } = await scene(t);
    const policy = { organization_id: CHILD, policy_id: 'p' };
    assert.equal(await signer('desk', ['PolicyService/GetPolicy', policy]), publicKeyOf('main'));
    const teapot = { organization_id: CHILD, path: 'find_teapot', parameters: '{}' };
    assert.equal(await signer('desk', ['GeneralService/QueryOperation', teapot]), publicKeyOf('main'));
    const user = apiKeyNamed('end user 1');
    const type = 'ACTIVITY_TYPE_STAMP_LOGIN';
    const fields = { timestampMs: freshTimestamp(), organizationId: CHILD, parameters: { publicKey: user.publicKey } };
    const body = Buffer.from(JSON.stringify({ type, ...fields }));
    const login = { client_stamp: { body, api_key: stampOf(body, user) } };
    assert.equal(await signer('desk', ['AuthenticationService/StampLogin', login]), user.publicKey);
  });

  test('of several grants, the first that allows the call decides', async (t) => {
    const { gateway, isRefused, signer } = await scene(t);
    assert.equal(await signer('keeper', rename(CHILD, keyed())), publicKeyOf('main'));
    // Without a key, only the grant without the rule allows the call.
    assert.equal(await signer('keeper', rename(CHILD)), publicKeyOf('other'));
    await isRefused('keeper', rename(ORGANIZATION));
    const { stdout } = await run(['check', '--config', gateway.configFile, '--as', 'keeper']);
    assert.match(stdout, /^grant 1: .*, key main, submits only with an idempotency_key$/m);
    assert.match(stdout, /^grant 2: .*, key other$/m);
  });

  test('the rule needs a store', async (t) => {
    const { gateway } = await scene(t);
    putConfig(gateway.configFile, JSON.stringify({ ...gateway.config, store: undefined }));
    const { status, stderr } = await run(['check', '--config', gateway.configFile]);
    assert.equal(status, 1);
    assert.match(stderr, /callers\[0\]\.grants\[0\]\.require_idempotency_key: needs store/);
  });
});
