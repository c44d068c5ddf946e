// Tests the audit log: the gateway writes each decision to disk before it stamps a request, and later the outcome.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, beforeEach, describe, test } from 'node:test';
import { code, encode } from '../clients/gateway.mjs';
import { startSimulator } from '../simulator/server.mjs';
import { ORGANIZATION, subOrganization } from '../simulator/testing.mjs';
import { ADMIN, metricsOf, statusOf } from './admin_port.mjs';
import { deliver } from './event_stack.mjs';
import { GENERAL_SUBMIT, QUERY, SUBMIT } from './failures.mjs';
import {
  Gateway,
  HANG_MS,
  auditConfig,
  freeCaller,
  plainConfig,
  run,
  scratch,
  startGateway,
  startStack,
} from './harness.mjs';
import { HeldCall } from './held_call.mjs';
import { logLines, recordsOf } from './log_lines.mjs';
import { asCaller, callerOf } from './policy_callers.mjs';
import { until } from './processes.mjs';
import { fill, reasonToSkip, smallDisk } from './small_disk.mjs';

const HELD = { kind: 'slow', untilReleased: true };

/** The number of occurrences of each value. */
function countsOf(values) {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

/** Resolves to the records of one kind as soon as the file has `count` of them. */
async function records(file, kind, count) {
  const found = () => recordsOf(file).filter((record) => record.kind === kind);
  await until(() => found().length >= count, `${count} records of ${kind}`);
  assert.equal(found().length, count);
  return found();
}

const verify = (...args) => run(['audit', 'verify', ...args]);

const limited = {
  name: 'loopback',
  loopback: true,
  grants: [{ classes: ['query'], general_operations: [{ path: 'whoami' }], organizations: [ORGANIZATION] }],
};

describe('in the audit log of a working gateway', async () => {
  const folder = scratch({ after });
  const audit = await auditConfig(folder);
  const { simulator, gateway } = await startStack({ after }, { config: { audit } });

  test('each call has a decision and a later outcome', async () => {
    simulator.reset();
    const { activity } = await gateway.call(SUBMIT.method, SUBMIT.request);
    await gateway.call('WebhookService/GetWebhookKeySet', {});
    const missing = await gateway.refusal(QUERY.method, { ...QUERY.request, policy_id: 'none' });
    assert.equal(missing.code, code.NOT_FOUND);
    const outcomes = await records(audit.file, 'outcome', 3);
    const allows = await records(audit.file, 'allow', 3);
    const requests = simulator.requests();

    const [submit, discovery, query] = allows;
    const { seq, time, mac, policy_version, previous_mac, request_id, ...decided } = submit;
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
    assert.match(request_id, /^[0-9a-f]{32}$/);
    assert.equal(previous_mac, recordsOf(audit.file)[seq - 2].mac);
    assert.match(policy_version, /^[0-9a-f]{16}$/);
    assert.equal(query.body_sha256, sha256(requests.at(-1).body));
    assert.deepEqual(
      [discovery.key, discovery.body_sha256, discovery.organization_id],
      [undefined, undefined, undefined],
    );

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

  test('the record of a general operation names it, and the outcome of a submit names the activity', async () => {
    simulator.reset();
    const before = recordsOf(audit.file).length;
    const { answer } = await gateway.call(GENERAL_SUBMIT.method, GENERAL_SUBMIT.request);
    const { activity } = JSON.parse(answer);
    await gateway.call('ActivityService/GetActivity', { organization_id: ORGANIZATION, activity_id: activity.id });
    const of = (kind) =>
      recordsOf(audit.file)
        .slice(before)
        .filter((record) => record.kind === kind);
    await until(() => of('outcome').length === 2, 'the outcomes');
    assert.deepEqual(
      of('allow').map(({ method, path, activity_type }) => [method, path, activity_type]),
      [
        [`/stampgate.v1.${GENERAL_SUBMIT.method}`, 'init_otp', 'ACTIVITY_TYPE_INIT_OTP_V3'],
        ['/stampgate.v1.ActivityService/GetActivity', undefined, undefined],
      ],
    );
    for (const { activity_id, activity_status } of of('outcome')) {
      assert.deepEqual([activity_id, activity_status], [activity.id, 'ACTIVITY_STATUS_COMPLETED']);
    }
  });

  test('a call of Prepare has a decision and an outcome too, and nothing is sent', async () => {
    simulator.reset();
    const before = recordsOf(audit.file).length;
    const prepare = ({ method, request }) =>
      gateway.call('StampService/Prepare', { method, request: encode(method, request) });
    const submit = await prepare(SUBMIT);
    const query = await prepare(QUERY);
    const of = (kind) =>
      recordsOf(audit.file)
        .slice(before)
        .filter((record) => record.kind === kind);
    await until(() => of('outcome').length === 2, 'the outcomes');
    assert.deepEqual(
      of('allow').map(({ caller, method, prepared_method, organization_id, key, body_sha256 }) => [
        ...[caller, method, prepared_method, organization_id, key, body_sha256],
      ]),
      [[SUBMIT.method, submit], [QUERY.method, query]].map(([method, { body }]) => [
        ...['loopback', '/stampgate.v1.StampService/Prepare', `/stampgate.v1.${method}`, ORGANIZATION, undefined],
        sha256(body),
      ]),
    ); // prettier-ignore
    assert.deepEqual(
      of('outcome').map(({ code: ended, fingerprint }) => [ended, fingerprint]),
      [['OK', `sha256:${sha256(submit.body)}`], ['OK', undefined]],
    ); // prettier-ignore
    assert.equal(simulator.stats().requests, 0);
  });

  test('a submit whose caller has left gets its outcome when it ends', async () => {
    simulator.reset();
    simulator.addFaults([HELD]);
    const before = recordsOf(audit.file).length;
    const gone = await gateway.refusal(SUBMIT.method, SUBMIT.request, { deadlineMs: 500 });
    assert.equal(gone.code, code.DEADLINE_EXCEEDED);
    await simulator.waitFor({ held: 1 });
    assert.deepEqual(
      recordsOf(audit.file)
        .slice(before)
        .map(({ kind }) => kind),
      ['allow'],
    );
    simulator.release();
    const outcome = () =>
      recordsOf(audit.file)
        .slice(before)
        .find(({ kind }) => kind === 'outcome');
    await until(() => outcome() !== undefined, 'the outcome');
    assert.deepEqual([outcome().code, outcome().activity_status], ['OK', 'ACTIVITY_STATUS_COMPLETED']);
  });

  test('each sent stamp has an allow record, and each used allow record has a sent stamp', async () => {
    simulator.reset();
    const before = recordsOf(audit.file).length;
    const organizations = [ORGANIZATION, subOrganization(1), 'no-such-organization'];
    const calls = Array.from({ length: 150 }, (_, i) => {
      const { method, request } = i % 2 ? SUBMIT : QUERY;
      // Some of the requests are invalid, and some have a deadline that is too short.
      const broken = i % 7 === 0 ? { organization_id: '' } : { organization_id: organizations[i % 3] };
      return gateway.call(method, { ...request, ...broken }, i % 11 === 0 ? { deadlineMs: 30 } : {}).catch(() => {});
    });
    await Promise.all(calls);
    const fresh = () => recordsOf(audit.file).slice(before);
    const of = (kind) => fresh().filter((record) => record.kind === kind);
    await until(() => of('allow').length === of('outcome').length, 'every outcome is there');
    assert.ok(simulator.requests().length > 100);
    // Two queries of the same organization have the same bytes.
    const sent = countsOf(simulator.requests().map(({ body }) => sha256(body)));
    assert.ok(Math.max(...sent.values()) > 10);
    // If the deadline passed before the gateway used the allow, the outcome has the code DEADLINE_EXCEEDED.
    const unused = of('outcome')
      .filter(({ code: ended }) => ended === 'DEADLINE_EXCEEDED')
      .map(({ allow }) => allow);
    const digestsOf = (records) => countsOf(records.map(({ body_sha256 }) => body_sha256));
    const allowed = digestsOf(of('allow'));
    const used = digestsOf(of('allow').filter(({ seq }) => !unused.includes(seq)));
    for (const [digest, count] of sent) assert.ok(count <= (allowed.get(digest) ?? 0), 'a stamp without an allow');
    for (const [digest, count] of used) assert.ok(count <= (sent.get(digest) ?? 0), 'an allow without a stamp');
    assert.equal(new Set(of('outcome').map(({ allow }) => allow)).size, of('allow').length);
  });

  test('there are no bodies, stamps or secrets', async () => {
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

  test('records can be verified while the gateway writes others', async () => {
    const { status, stdout, stderr } = await verify('--key', audit.key_file, audit.file);
    assert.ok(status === 0 || status === 3, stdout + stderr);
  });
});

describe('the records of denials', async () => {
  const folder = scratch({ after });
  const audit = await auditConfig(folder);
  const { simulator, gateway } = await startStack({ after }, { config: { audit, callers: [limited] } });
  beforeEach(() => simulator.reset());

  test('have the caller, the method, the organization and the reason, and nothing is sent', async () => {
    const denied = [
      [SUBMIT.method, SUBMIT.request],
      [QUERY.method, { ...QUERY.request, organization_id: subOrganization(1) }],
    ];
    for (const [method, request] of denied) {
      const error = await gateway.refusal(method, request);
      assert.deepEqual([error.code, error.info.reason], [code.PERMISSION_DENIED, 'DENIED_BY_POLICY']);
    }
    const found = await records(audit.file, 'deny', 2);
    assert.deepEqual(
      found.map(({ caller, method, organization_id, reason }) => [caller, method, organization_id, reason]),
      [
        // The gateway has not decoded this request.
        ['loopback', `/stampgate.v1.${SUBMIT.method}`, undefined, 'no grant has class write or names the method'],
        [
          'loopback',
          `/stampgate.v1.${QUERY.method}`,
          subOrganization(1),
          'no grant has this method for this organization',
        ],
      ],
    );
    assert.equal(simulator.stats().requests, 0);
    assert.deepEqual(
      recordsOf(audit.file).filter(({ kind }) => kind === 'allow'),
      [],
    );
  });

  test('name the general operation, or the method that Prepare prepares', async () => {
    const before = recordsOf(audit.file).length;
    const prepare = (method, request) => ({ method, request: encode(method, request) });
    for (const [method, request] of [
      [GENERAL_SUBMIT.method, GENERAL_SUBMIT.request],
      ['StampService/Prepare', prepare(GENERAL_SUBMIT.method, GENERAL_SUBMIT.request)],
      ['StampService/Prepare', prepare(SUBMIT.method, SUBMIT.request)],
    ]) {
      assert.equal((await gateway.refusal(method, request)).info.reason, 'DENIED_BY_POLICY');
    }
    const found = () =>
      recordsOf(audit.file)
        .slice(before)
        .filter(({ kind }) => kind === 'deny');
    await until(() => found().length === 3, 'the denials');
    const ours = (method) => `/stampgate.v1.${method}`;
    assert.deepEqual(
      found().map(({ method, prepared_method, path, activity_type }) => [method, prepared_method, path, activity_type]),
      [
        [ours(GENERAL_SUBMIT.method), undefined, GENERAL_SUBMIT.request.path, GENERAL_SUBMIT.request.activity_type],
        [
          ours('StampService/Prepare'),
          ours(GENERAL_SUBMIT.method),
          GENERAL_SUBMIT.request.path,
          GENERAL_SUBMIT.request.activity_type,
        ],
        [ours('StampService/Prepare'), ours(SUBMIT.method), undefined, undefined],
      ],
    );
    assert.deepEqual(
      found().map(({ organization_id }) => organization_id),
      [ORGANIZATION, ORGANIZATION, undefined],
    );
  });

  test('name a stranger by its connection', async (t) => {
    const other = scratch(t);
    const theirs = await auditConfig(other);
    const callers = [{ ...limited, loopback: false, dns_names: ['a.example'] }];
    const stranger = await startGateway(t, simulator, { audit: theirs, callers }, { folder: other });
    const error = await stranger.refusal(QUERY.method, QUERY.request);
    assert.deepEqual([error.code, error.info.reason], [code.UNAUTHENTICATED, 'CALLER_NOT_RECOGNIZED']);
    const [{ caller, reason }] = await records(theirs.file, 'deny', 1);
    assert.equal(caller, '(loopback)');
    assert.match(reason, /no configured caller/);
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

  test('accepts the log of a gateway, also with the head from the log of the process', async () => {
    for (const args of [[], ['--head', head]]) {
      const { status, stdout } = await checkText(log, ...args);
      assert.equal(status, 0, stdout);
      assert.match(stdout, /^allowed 2, denied 0/m);
      assert.match(stdout.trimEnd().split('\n').at(-1), /^ok/);
    }
  });

  test('detects a changed byte', async () => {
    for (let at = 0; at < log.length; at += 37) {
      const changed = Buffer.from(log);
      changed[at] ^= 1;
      const { status, stdout } = await checkText(changed);
      assert.notEqual(status, 0, `byte ${at}: ${stdout}`);
    }
  });

  test('detects a missing line, and, with the head, a missing end', async () => {
    const lines = log.toString().split('\n').slice(0, -1);
    const without = (n) => `${lines.filter((_, i) => i !== n).join('\n')}\n`;
    // A crash can damage the last group of records, so a missing line in that group gives status 3 instead of 1.
    const lastGroup = lines.findLastIndex((line) => line.includes('"previous_mac"'));
    assert.ok(lastGroup > 1);
    for (let n = 0; n < lines.length - 1; ++n) {
      assert.equal((await checkText(without(n))).status, n < lastGroup ? 1 : 3, `line ${n}`);
    }
    const cut = without(lines.length - 1);
    assert.equal((await checkText(cut)).status, 0);
    assert.equal((await checkText(cut, '--head', head)).status, 1);
  });

  test('distinguishes an end that a crash has damaged from a change', async () => {
    const { status, stdout } = await checkText(log.subarray(0, log.length - 5));
    assert.equal(status, 3, stdout);
  });

  test('fails with a wrong key', async () => {
    const key = join(folder, 'other.key');
    await run(['audit', 'keygen', '--out', key]);
    assert.equal((await verify('--key', key, audit.file)).status, 1);
  });

  test('distinguishes a file that it cannot open from a change', async () => {
    const none = join(folder, 'none');
    for (const args of [
      ['--key', audit.key_file, none],
      ['--key', audit.key_file, audit.file, none],
      ['--key', none, audit.file],
      ['--key', audit.key_file, '--head', 'no head', audit.file],
      ['--key', audit.key_file, '--from', 'no head', audit.file],
    ]) {
      const { status, stdout, stderr } = await verify(...args);
      assert.equal(status, 2, args.join(' '));
      assert.doesNotMatch(stdout, /^ok/m);
      if (args.at(-1) === none)
        assert.match(stdout, /^cannot be checked: .*none: cannot be opened: No such file or dir/m);
      else assert.notEqual(stderr, '');
    }
  });

  test('given one file, also verifies its rotated files; given several files, verifies only these', async (t) => {
    const own = scratch(t);
    const config = { audit: { ...(await auditConfig(own)), max_file_bytes: 1 << 20 } };
    const { gateway: busy } = await startStack(t, { config });
    const { file, key_file: key } = config.audit;
    const closed = () =>
      readdirSync(own)
        .filter((name) => /^audit\.log\.[0-9]{20}$/.test(name))
        .sort();
    const check = (...args) => verify('--key', key, ...args);
    const filesOf = ({ stdout }) => [...stdout.matchAll(/^(.*): records [0-9]+ to [0-9]+$/gm)].map((match) => match[1]);
    // No rotated file exists yet.
    assert.ok([0, 3].includes((await check(file)).status));
    const sides = Array.from({ length: 32 }, async () => {
      while (closed().length < 2) await busy.call(QUERY.method, QUERY.request);
    });
    await Promise.all(sides);
    const written = await check(file);
    assert.ok([0, 3].includes(written.status), written.stdout);
    await busy.stop();
    const whole = await check(file);
    assert.equal(whole.status, 0, whole.stdout);
    const files = [...closed().map((name) => join(own, name)), file];
    assert.deepEqual(filesOf(whole), files);

    // Run in another folder, the command verifies exactly the given files.
    const elsewhere = join(own, 'elsewhere');
    mkdirSync(elsewhere);
    const copies = files.map((each, i) => join(elsewhere, `part-${i}`));
    files.forEach((each, i) => copyFileSync(each, copies[i]));
    assert.deepEqual(filesOf(await check(...copies)), copies);
    assert.equal((await check(...copies)).status, 0);
    assert.equal((await check(...copies.toReversed())).status, 1);
    assert.equal((await check(...copies.slice(0, 2))).status, 0);

    // The first file is missing. This is a fault, unless --from states that the file was archived.
    const lastOf = (text) => Number(/: records [0-9]+ to ([0-9]+)$/m.exec(text)[1]);
    const headOf = (text) => /^head (.*)$/m.exec(text)[1];
    const last = headOf(whole.stdout);
    renameSync(files[0], `${files[0]}.away`);
    const archived = await check(`${files[0]}.away`);
    assert.equal(archived.status, 0, archived.stdout);
    for (const args of [[], ['--head', last]]) {
      const { status, stdout } = await check(file, ...args);
      assert.equal(status, 4, stdout);
      assert.match(stdout, new RegExp(`^INCOMPLETE: records 1 to ${lastOf(archived.stdout)} are missing$`, 'm'));
    }
    assert.equal((await check('--from', headOf(archived.stdout), '--head', last, file)).status, 0);
    assert.equal((await check('--from', last.replace(/^[0-9]+/, lastOf(archived.stdout)), file)).status, 1);
    renameSync(`${files[0]}.away`, files[0]);

    // First a file in the middle is missing. Then a link that leads nowhere replaces the file, so that it cannot be
    // opened.
    renameSync(files[1], `${files[1]}.away`);
    const without = await check(file);
    assert.equal(without.status, 1);
    assert.match(without.stdout, /^BROKEN: .*: records [0-9]+ to [0-9]+ are missing$/m);
    symlinkSync('nowhere', files[1]);
    assert.equal((await check(file)).status, 2);
  });
});

describe('stampgate audit verify, given the logs of several gateways', { timeout: HANG_MS }, async () => {
  const folder = scratch({ after });
  const { key_file } = await auditConfig(folder);
  const { simulator } = await startStack({ after }, {});
  /** Runs a gateway with an audit log in a folder of its own. Resolves to the folder and to the number of records. */
  const replica = async (name, calls) => {
    const own = join(folder, name);
    mkdirSync(own);
    const audit = { file: join(own, 'audit.log'), key_file };
    const callers = freeCaller();
    const gateway = await startGateway({ after }, simulator, { audit, callers }, { folder: own });
    for (let i = 0; i < calls; ++i) await gateway.call(QUERY.method, QUERY.request);
    await gateway.stop();
    return { own, file: audit.file, records: recordsOf(audit.file) };
  };
  const replicas = [await replica('gw-0', 1), await replica('gw-1', 2), await replica('gw-2', 0)];
  const check = (...paths) => verify('--key', key_file, ...paths);
  const lineOf = ({ file, records }, verdict = 'ok') => {
    const [first, last] = [records[0], records.at(-1)];
    return `${file}: ${verdict}, ${records.length} records from ${first.time} to ${last.time}, head ${last.seq}:${last.mac}`;
  };
  const lines = replicas.map((each) => lineOf(each));

  test('prints a line for each log, whether it gets folders or files', async () => {
    for (const paths of [
      replicas.map(({ own }) => own),
      replicas.map(({ file }) => file),
      [replicas[0].own, ...replicas.slice(1).map(({ file }) => file)],
    ]) {
      const { status, stdout, stderr } = await check(...paths);
      assert.deepEqual([status, stdout.trimEnd().split('\n'), stderr], [0, lines, '']);
    }
  });

  test('verifies a single folder as it verifies a file', async () => {
    const { status, stdout } = await check(replicas[1].own);
    assert.deepEqual([status, stdout], [0, (await check(replicas[1].file)).stdout]);
    assert.match(stdout, /^allowed 2, denied 0/m);
  });

  test('names each log that fails, and verifies the others', async () => {
    const changed = join(folder, 'changed');
    mkdirSync(changed);
    const log = readFileSync(replicas[0].file);
    log[20] ^= 1;
    writeFileSync(join(changed, 'audit.log'), log);
    const empty = join(folder, 'empty');
    mkdirSync(empty);
    const { status, stdout, stderr } = await check(changed, replicas[0].own, empty, replicas[1].own);
    assert.equal(status, 1);
    assert.deepEqual(stdout.trimEnd().split('\n'), [
      `${changed}/audit.log: BROKEN, no valid record`,
      lines[0],
      `${empty}/audit.log: cannot be checked, no valid record`,
      lines[1],
    ]);
    assert.deepEqual(stderr.trimEnd().split('\n'), [
      '2 of 4 audit logs failed:',
      `${changed}/audit.log: BROKEN: ${changed}/audit.log: line 1 was changed, or was written with another key`,
      `${empty}/audit.log: cannot be checked: ${empty}/audit.log: cannot be opened: No such file or directory`,
    ]);
    assert.equal((await check(replicas[0].own, empty)).status, 2);
  });

  test('names a log that is given twice, also as a copy', async () => {
    const copy = join(folder, 'copy');
    mkdirSync(copy);
    copyFileSync(replicas[0].file, join(copy, 'audit.log'));
    for (const again of [replicas[0].own, copy]) {
      const { status, stdout, stderr } = await check(replicas[0].own, replicas[1].own, again);
      assert.deepEqual([status, stdout.trimEnd().split('\n').slice(0, 2)], [1, lines.slice(0, 2)]);
      assert.equal(
        stderr,
        `1 of 3 audit logs failed:\n${again}/audit.log: REPEATED: has records of ${replicas[0].file}: it is the same log or a copy\n`,
      );
    }
  });

  test('refuses --head and --from, which name a record of one log', async () => {
    const { seq, mac } = replicas[0].records.at(-1);
    for (const flag of ['--head', '--from']) {
      const { status, stdout, stderr } = await check(flag, `${seq}:${mac}`, replicas[0].own, replicas[1].own);
      assert.deepEqual([status, stdout], [2, '']);
      assert.match(stderr, /^--head and --from name a record of one log, but 2 logs are given$/m);
    }
    assert.equal((await check('--head', `${seq}:${mac}`, replicas[0].own)).status, 0);
  });
});

test('the next start writes an outcome for each allow that a crash has left without one', async (t) => {
  const folder = scratch(t);
  const audit = await auditConfig(folder);
  const simulator = await startSimulator();
  t.after(() => simulator.close());
  const config = { ...plainConfig(simulator, folder), audit };
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

test('the start removes and reports an end that a power cut has damaged, and refuses a file with an earlier change', async (t) => {
  const folder = scratch(t);
  const audit = await auditConfig(folder);
  const simulator = await startSimulator();
  t.after(() => simulator.close());
  const config = { ...plainConfig(simulator, folder), audit };
  const first = await Gateway.start(config, { folder });
  await first.call(QUERY.method, QUERY.request);
  await first.stop();
  const log = readFileSync(audit.file);
  const after = recordsOf(audit.file).at(-1).seq;
  // The end of the file is torn: a first block did not reach the disk, but the block after it did.
  const torn = Buffer.concat([Buffer.alloc(512), Buffer.from('"}\n{"seq":9,"kind":"allow"}\n')]);
  writeFileSync(audit.file, Buffer.concat([log, torn]));
  const second = await Gateway.start(config, { folder });
  await second.stop();
  const said = second.output.split('\n').filter((line) => line.includes('"event":"audit_torn_end"'));
  assert.deepEqual(
    said.map((line) => JSON.parse(line)).map(({ severity, after_record, bytes }) => [severity, after_record, bytes]),
    [['WARNING', after, torn.length]],
  );
  const { kind, bytes } = recordsOf(audit.file)[after];
  assert.deepEqual([kind, bytes], ['torn', torn.length]);
  const { status, stdout } = await verify('--key', audit.key_file, audit.file);
  assert.equal(status, 0, stdout);

  const changed = readFileSync(audit.file);
  changed[log.length - 100] ^= 1;
  writeFileSync(audit.file, changed);
  await assert.rejects(Gateway.start(config, { folder }), new RegExp(`audit\\.log: line ${after} does not follow`));
  assert.deepEqual(readFileSync(audit.file), changed);
});

test(
  'bodies of events that clients do not read are limited in number, and do not block stamped calls',
  { timeout: HANG_MS },
  async (t) => {
    const audit = await auditConfig(scratch(t));
    const events = { events: { max_subscribers: 3 } };
    const { simulator, gateway } = await startStack(t, { events, config: { audit } });
    const { eventId: event_id } = await deliver(simulator, { json: { type: 'a', text: 'x'.repeat(3 << 20) } });
    const calls = [];
    const begin = async () => {
      calls.push(await HeldCall.start(gateway, 'EventService/ReadEventBody', { event_id }));
      return calls.at(-1);
    };
    const held = [await begin(), await begin(), await begin()];
    for (let i = 0; i < 20; ++i) assert.equal((await begin()).status, String(code.RESOURCE_EXHAUSTED));
    assert.deepEqual(
      held.map(({ status }) => status),
      [undefined, undefined, undefined],
    );
    await gateway.call(SUBMIT.method, SUBMIT.request);
    const of = (kind) => recordsOf(audit.file).filter((record) => record.kind === kind);
    await until(() => of('outcome').length === 21, 'the outcomes of all calls except the held ones');
    assert.equal(of('allow').length, 24);
    held[0].leave();
    await until(async () => (await begin()).status === undefined, 'a further call is accepted');
    assert.ok((await held[1].finish()) > 3 << 20);
    assert.equal(held[1].status, String(code.OK));
    for (const call of calls) call.leave();
    await until(() => of('outcome').length === of('allow').length, 'all outcomes');
  },
);

test('a failed rotation stops no call, and a later failure is still reported', { timeout: HANG_MS }, async (t) => {
  const audit = { ...(await auditConfig(scratch(t))), max_file_bytes: 1 << 20 };
  const { gateway } = await startStack(t, { config: { audit, admin: ADMIN } });
  const said = (event) => gateway.output.split('\n').filter((line) => line.includes(`"event":"${event}"`)).length;
  const failing = async () => [
    (await metricsOf(gateway)).get('stampgate_audit_failing'),
    await statusOf(gateway.adminUrl, '/readyz'),
  ];
  const call = () => gateway.call(QUERY.method, QUERY.request);
  // This folder prevents the gateway from creating the new file under its name.
  mkdirSync(`${audit.file}.next`);
  while (statSync(audit.file).size <= audit.max_file_bytes) await Promise.all(Array.from({ length: 64 }, call));
  await until(() => said('audit_file_not_rotated') === 1, 'the failed rotation is logged');
  assert.deepEqual([await failing(), said('audit_failed')], [[0, 200], 0]);
  renameSync(audit.file, `${audit.file}.away`);
  assert.equal((await gateway.refusal(QUERY.method, QUERY.request)).info.reason, 'AUDIT_UNAVAILABLE');
  assert.deepEqual([await failing(), said('audit_failed')], [[1, 503], 1]);
});

test('a second gateway refuses to use the audit file of a running one', async (t) => {
  const folder = scratch(t);
  const audit = await auditConfig(folder);
  const { simulator } = await startStack(t, { config: { audit } });
  await assert.rejects(Gateway.start({ ...plainConfig(simulator, folder), audit }, { folder }), /audit\.log/);
});

test(
  'one caller does not fill the disk of the audit log for all',
  { skip: reasonToSkip(), timeout: 2 * HANG_MS },
  async (t) => {
    const folder = scratch(t);
    const { inside, command, seenFrom } = smallDisk(folder, 32);
    const audit = await auditConfig(folder, join(inside, 'audit.log'));
    const grants = [{ classes: ['query'], all_organizations: true }];
    const callers = [callerOf('greedy', grants), callerOf('honest', grants)];
    const { gateway } = await startStack(t, { config: { audit, callers }, command });
    const [greedy, honest] = ['greedy', 'honest'].map((name) => asCaller(gateway, name));
    const ballast = join(seenFrom(gateway), 'ballast');
    // With much space, nothing limits the calls that are sent.
    for (let batch = 0; batch < 15; ++batch)
      await Promise.all(Array.from({ length: 100 }, () => greedy.call(QUERY.method, QUERY.request)));
    fill(ballast, 3_000_000);
    const [{ message }] = await logLines(gateway, 1, 'audit_space_scarce');
    assert.match(message, /the disk of the audit log has 2 MiB left, so each caller may make only 5 calls a second/);
    let allowed = 0;
    let refusal;
    while (refusal === undefined) {
      const answers = await Promise.all(
        Array.from({ length: 50 }, () => greedy.call(QUERY.method, QUERY.request).catch((error) => error)),
      );
      allowed += answers.filter((answer) => !(answer instanceof Error)).length;
      refusal = answers.find((answer) => answer instanceof Error);
      assert.ok(allowed < 2000, 'nothing is refused');
    }
    assert.deepEqual([refusal.code, refusal.info.reason], [code.RESOURCE_EXHAUSTED, 'TOO_MANY_CALLS']);
    assert.match(refusal.details, /because the disk of the audit log is almost full/);
    await honest.call(QUERY.method, QUERY.request);
    rmSync(ballast);
    await logLines(gateway, 1, 'audit_space_suffices');
    await greedy.call(QUERY.method, QUERY.request);
  },
);

test(
  'while the disk is full, the gateway stamps nothing; when it has space again, calls succeed',
  { skip: reasonToSkip(), timeout: HANG_MS },
  async (t) => {
    const folder = scratch(t);
    const { inside, command, seenFrom } = smallDisk(folder, 2);
    const audit = await auditConfig(folder, join(inside, 'audit.log'));
    const { simulator, gateway } = await startStack(t, { config: { audit }, command });
    const ballast = join(seenFrom(gateway), 'ballast');
    await gateway.call(SUBMIT.method, SUBMIT.request);
    fill(ballast, 0);
    // The gateway can still write records that fit into the last page of the file, so the test calls until the gateway
    // refuses a call.
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
      () =>
        gateway.call(SUBMIT.method, SUBMIT.request).then(
          () => true,
          () => false,
        ),
      'calls are allowed again',
    );
    const copy = join(folder, 'copy.log');
    writeFileSync(copy, readFileSync(join(seenFrom(gateway), 'audit.log')));
    const { status, stdout } = await verify('--key', audit.key_file, copy);
    assert.ok(status === 0 || status === 3, stdout);
  },
);
