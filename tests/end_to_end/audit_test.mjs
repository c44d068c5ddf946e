// The audit: what was decided is on the disk before anything is stamped, and what came of it afterwards.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, beforeEach, describe, test } from 'node:test';
import { code } from '../clients/gateway.mjs';
import { startSimulator } from '../simulator/server.mjs';
import { ORGANIZATION, identifier, subOrganization } from '../simulator/testing.mjs';
import { Gateway, HANG_MS, auditConfig, freeCaller, run, scratch, startGateway, startStack, writeKey } from './harness.mjs';
import { until } from './processes.mjs';
import { fill, reasonToSkip, smallDisk } from './small_disk.mjs';

const HELD = { kind: 'slow', untilReleased: true };
const SUBMIT = {
  method: 'OrganizationService/UpdateOrganizationName',
  request: { organization_id: ORGANIZATION, parameters: { organization_name: 'n' } },
};
const QUERY = {
  method: 'PolicyService/GetPolicy',
  request: { organization_id: ORGANIZATION, policy_id: identifier(6) },
};
const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

const recordsOf = (file) => readFileSync(file, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));

/** The records of one kind, as soon as there are so many. */
async function records(file, kind, count) {
  const found = () => recordsOf(file).filter((record) => record.kind === kind);
  await until(() => found().length >= count, `${count} records of ${kind}`);
  assert.equal(found().length, count);
  return found();
}

const verify = (...args) => run(['audit', 'verify', ...args]);

const limited = { name: 'loopback', loopback: true, grants: [{ classes: ['query'], organizations: [ORGANIZATION] }] };

describe('of a gateway that works', async () => {
  const folder = scratch({ after });
  const audit = await auditConfig(folder);
  const { simulator, gateway } = await startStack({ after }, { config: { audit } });

  test('each call has its decision, and behind it its outcome', async () => {
    simulator.reset();
    const { activity } = await gateway.call(SUBMIT.method, SUBMIT.request);
    await gateway.call('WebhookService/GetWebhookKeySet', {});
    const missing = await gateway.refusal(QUERY.method, { ...QUERY.request, policy_id: 'none' });
    assert.equal(missing.code, code.NOT_FOUND);
    const outcomes = await records(audit.file, 'outcome', 3);
    const allows = await records(audit.file, 'allow', 3);
    const requests = simulator.requests();

    const [submit, discovery, query] = allows;
    const { seq, time, mac, policy_version, ...decided } = submit;
    assert.deepEqual(decided, {
      kind: 'allow',
      caller: 'loopback',
      method: `/stampgate.v1.${SUBMIT.method}`,
      organization_id: ORGANIZATION,
      key: 'main',
      body_sha256: sha256(requests[0].body),
    });
    assert.ok(Math.abs(Date.parse(time) - Date.now()) < HANG_MS);
    assert.match(mac, /^[0-9a-f]{64}$/);
    assert.match(policy_version, /^[0-9a-f]{16}$/);
    assert.equal(query.body_sha256, sha256(requests.at(-1).body));
    assert.deepEqual([discovery.key, discovery.body_sha256, discovery.organization_id], [undefined, undefined, undefined]);

    const outcomeOf = ({ seq: allow }) => outcomes.find((outcome) => outcome.allow === allow);
    const { duration_us: duration, ...end } = outcomeOf(submit);
    assert.ok(duration > 0 && duration < HANG_MS * 1000);
    assert.deepEqual(
      [end.code, end.reason, end.activity_id, end.activity_status, end.fingerprint],
      ['OK', undefined, activity.id, 'ACTIVITY_STATUS_COMPLETED', activity.fingerprint],
    );
    assert.ok(end.seq > seq);
    assert.equal(outcomeOf(query).code, 'NOT_FOUND');
    assert.equal(outcomeOf(discovery).code, 'OK');
  });

  test('a submit that its caller has left gets its outcome when it ends', async () => {
    simulator.reset();
    simulator.addFaults([HELD]);
    const before = recordsOf(audit.file).length;
    const gone = await gateway.refusal(SUBMIT.method, SUBMIT.request, { deadlineMs: 500 });
    assert.equal(gone.code, code.DEADLINE_EXCEEDED);
    await simulator.waitFor({ held: 1 });
    assert.deepEqual(recordsOf(audit.file).slice(before).map(({ kind }) => kind), ['allow']);
    simulator.release();
    const outcome = () => recordsOf(audit.file).slice(before).find(({ kind }) => kind === 'outcome');
    await until(() => outcome() !== undefined, 'the outcome');
    assert.deepEqual([outcome().code, outcome().activity_status], ['OK', 'ACTIVITY_STATUS_COMPLETED']);
  });

  test('every stamp that left has its allow, and there is no other allow of a stamp', async () => {
    simulator.reset();
    const before = recordsOf(audit.file).length;
    const organizations = [ORGANIZATION, subOrganization(1), 'no-such-organization'];
    const calls = Array.from({ length: 150 }, (_, i) => {
      const { method, request } = i % 2 ? SUBMIT : QUERY;
      // Some are refused for what they are, some cannot reach their deadline.
      const broken = i % 7 === 0 ? { organization_id: '' } : { organization_id: organizations[i % 3] };
      return gateway.call(method, { ...request, ...broken }, i % 11 === 0 ? { deadlineMs: 30 } : {}).catch(() => {});
    });
    await Promise.all(calls);
    const fresh = () => recordsOf(audit.file).slice(before);
    const of = (kind) => fresh().filter((record) => record.kind === kind);
    await until(() => of('allow').length === of('outcome').length, 'every outcome is there');
    const sent = simulator.requests().map(({ body }) => sha256(body));
    assert.ok(sent.length > 100);
    // An allow whose time was over before it could be used has an outcome that says so.
    const unused = of('outcome').filter(({ code: ended }) => ended === 'DEADLINE_EXCEEDED').map(({ allow }) => allow);
    const used = of('allow').filter(({ seq }) => !unused.includes(seq));
    const allowed = of('allow').map(({ body_sha256 }) => body_sha256);
    for (const digest of sent) assert.ok(allowed.includes(digest), 'a stamp without an allow');
    for (const { body_sha256 } of used) assert.ok(sent.includes(body_sha256), 'an allow without a stamp');
    assert.equal(new Set(of('outcome').map(({ allow }) => allow)).size, of('allow').length);
  });

  test('holds neither bodies nor stamps nor secrets', async () => {
    simulator.reset();
    const canary = 'canary-5f1c9b7e';
    await gateway
      .call('AuthenticationService/Oauth', {
        organization_id: ORGANIZATION,
        parameters: { oidc_token: canary, target_public_key: `02${'0'.repeat(64)}` },
      })
      .catch(() => {});
    await gateway.refusal(QUERY.method, { ...QUERY.request, policy_id: canary });
    const text = readFileSync(audit.file, 'utf8');
    assert.ok(!text.includes(canary));
    assert.ok(!text.includes('organizationId'));
    for (const { stamp } of simulator.requests()) if (stamp) assert.ok(!text.includes(stamp));
  });

  test('can be checked while it is written', async () => {
    const { status, stdout, stderr } = await verify('--key', audit.key_file, audit.file);
    assert.ok(status === 0 || status === 3, stdout + stderr);
  });
});

describe('denials', async () => {
  const folder = scratch({ after });
  const audit = await auditConfig(folder);
  const { simulator, gateway } = await startStack({ after }, { config: { audit, callers: [limited] } });
  beforeEach(() => simulator.reset());

  test('are recorded with who, what and why, and nothing is sent', async () => {
    const denied = [
      [SUBMIT.method, ORGANIZATION, SUBMIT.request],
      [QUERY.method, subOrganization(1), { ...QUERY.request, organization_id: subOrganization(1) }],
    ];
    for (const [method, , request] of denied) {
      const error = await gateway.refusal(method, request);
      assert.deepEqual([error.code, error.info.reason], [code.PERMISSION_DENIED, 'DENIED_BY_POLICY']);
    }
    const found = await records(audit.file, 'deny', 2);
    assert.deepEqual(
      found.map(({ caller, method, organization_id, reason }) => [caller, method, organization_id, reason]),
      [
        ['loopback', `/stampgate.v1.${SUBMIT.method}`, ORGANIZATION, 'no grant has this method'],
        ['loopback', `/stampgate.v1.${QUERY.method}`, subOrganization(1), 'no grant has this method for this organization'],
      ],
    );
    assert.equal(simulator.stats().requests, 0);
    assert.deepEqual(recordsOf(audit.file).filter(({ kind }) => kind === 'allow'), []);
  });

  test('of strangers name what they showed', async (t) => {
    const other = scratch(t);
    const theirs = await auditConfig(other);
    const callers = [{ ...limited, loopback: false, dns_names: ['a.example'] }];
    const stranger = await startGateway(t, simulator, { audit: theirs, callers }, { folder: other });
    const error = await stranger.refusal(QUERY.method, QUERY.request);
    assert.deepEqual([error.code, error.info.reason], [code.UNAUTHENTICATED, 'CALLER_NOT_RECOGNIZED']);
    const [{ caller, reason }] = await records(theirs.file, 'deny', 1);
    assert.equal(caller, '(loopback)');
    assert.match(reason, /nobody/);
  });
});

describe('stampgate audit verify', { timeout: HANG_MS }, async () => {
  const folder = scratch({ after });
  const audit = await auditConfig(folder);
  const { gateway } = await startStack({ after }, { config: { audit } });
  await gateway.call(SUBMIT.method, SUBMIT.request);
  await gateway.call(SUBMIT.method, SUBMIT.request);
  await gateway.stop();
  const log = readFileSync(audit.file);
  const [head] = gateway.output
    .split('\n')
    .filter((line) => line.includes('audit_head'))
    .map((line) => JSON.parse(line).head)
    .slice(-1);

  const checkText = async (text, ...args) => {
    const file = join(folder, 'copy.log');
    writeFileSync(file, text);
    return verify('--key', audit.key_file, ...args, file);
  };

  test('says ok to what was written, also with the head that the log told', async () => {
    for (const args of [[], ['--head', head]]) {
      const { status, stdout } = await checkText(log, ...args);
      assert.equal(status, 0, stdout);
      assert.match(stdout, /^allowed 2, denied 0/m);
      assert.match(stdout.trimEnd().split('\n').at(-1), /^ok/);
    }
  });

  test('finds a changed byte', async () => {
    for (let at = 0; at < log.length; at += 37) {
      const changed = Buffer.from(log);
      changed[at] ^= 1;
      const { status, stdout } = await checkText(changed);
      assert.notEqual(status, 0, `byte ${at}: ${stdout}`);
    }
  });

  test('finds a line that is gone, and an end that is gone if it has the head', async () => {
    const lines = log.toString().split('\n').slice(0, -1);
    const without = (n) => `${lines.filter((_, i) => i !== n).join('\n')}\n`;
    for (let n = 0; n < lines.length - 1; ++n) assert.equal((await checkText(without(n))).status, 1);
    const cut = without(lines.length - 1);
    assert.equal((await checkText(cut)).status, 0);
    assert.equal((await checkText(cut, '--head', head)).status, 1);
  });

  test('tells an end that a crash cut off from a change', async () => {
    const { status, stdout } = await checkText(log.subarray(0, log.length - 5));
    assert.equal(status, 3, stdout);
  });

  test('needs the right key', async () => {
    const key = join(folder, 'other.key');
    await run(['audit', 'keygen', '--out', key]);
    assert.equal((await verify('--key', key, audit.file)).status, 1);
  });
});

test('an allow that a crash left without an outcome is closed at the next start', async (t) => {
  const folder = scratch(t);
  const audit = await auditConfig(folder);
  const simulator = await startSimulator();
  t.after(() => simulator.close());
  const config = {
    listen_address: '127.0.0.1:0',
    upstream: { base_url: simulator.url },
    keys: [{ name: 'main', file: writeKey(folder), all_organizations: true }],
    callers: freeCaller(),
    audit,
  };
  const crashing = await Gateway.start(config, { folder });
  simulator.addFaults([HELD]);
  const lost = crashing.call(SUBMIT.method, SUBMIT.request).catch((error) => error);
  await simulator.waitFor({ held: 1 });
  await crashing.stop('SIGKILL');
  await lost;
  const next = await Gateway.start(config, { folder });
  const [{ allow, code: ending, reason }] = await records(audit.file, 'outcome', 1);
  await next.stop();
  assert.deepEqual([ending, reason], ['UNKNOWN', 'PROCESS_ENDED']);
  assert.equal(recordsOf(audit.file).find(({ kind }) => kind === 'allow').seq, allow);
  const { status, stdout } = await verify('--key', audit.key_file, audit.file);
  assert.equal(status, 0, stdout);
});

test('two gateways do not share an audit', async (t) => {
  const folder = scratch(t);
  const audit = await auditConfig(folder);
  const { simulator } = await startStack(t, { config: { audit } });
  const other = { listen_address: '127.0.0.1:0', upstream: { base_url: simulator.url }, callers: freeCaller(), audit };
  const keys = [{ name: 'main', file: writeKey(folder, undefined, 'second.key'), all_organizations: true }];
  await assert.rejects(Gateway.start({ ...other, keys }, { folder }), /audit\.log/);
});

test('a full disk: nothing is stamped, and it goes on when there is room', { skip: reasonToSkip(), timeout: HANG_MS }, async (t) => {
  const folder = scratch(t);
  const { inside, command, seenFrom } = smallDisk(folder, 2);
  const audit = await auditConfig(folder, join(inside, 'audit.log'));
  const { simulator, gateway } = await startStack(t, { config: { audit }, command });
  const ballast = join(seenFrom(gateway), 'ballast');
  await gateway.call(SUBMIT.method, SUBMIT.request);
  fill(ballast, 0);
  // What the file's last page has room for may still be written.
  let refused;
  await until(async () => {
    simulator.reset();
    refused = await gateway.call(SUBMIT.method, SUBMIT.request).catch((error) => error);
    return refused instanceof Error;
  }, 'a call is refused');
  assert.deepEqual([refused.code, refused.info.reason], [code.UNAVAILABLE, 'AUDIT_UNAVAILABLE']);
  assert.equal(simulator.stats().requests, 0);
  for (const { method, request } of [SUBMIT, QUERY]) {
    const error = await gateway.refusal(method, request);
    assert.equal(error.info.reason, 'AUDIT_UNAVAILABLE');
  }
  assert.equal(simulator.stats().requests, 0);
  rmSync(ballast);
  await until(
    () => gateway.call(SUBMIT.method, SUBMIT.request).then(() => true, () => false),
    'calls are allowed again',
  );
  const copy = join(folder, 'copy.log');
  writeFileSync(copy, readFileSync(join(seenFrom(gateway), 'audit.log')));
  const { status, stdout } = await verify('--key', audit.key_file, copy);
  assert.ok(status === 0 || status === 3, stdout);
});
