// The test replaces the policy and the keys while callers make calls.
//
// With STAMPGATE_LONG=1 the test uses 5,000 swaps instead of 500. STAMPGATE_SEED=... chooses other random values.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { startSimulator } from '../simulator/server.mjs';
import { ORGANIZATION, identifier, subOrganization } from '../simulator/testing.mjs';
import { makeAuthority } from './certificates.mjs';
import { Gateway, HANG_MS, auditConfig, putConfig, run, scratch, startGateway, startStack } from './harness.mjs';
import { logLines } from './log_lines.mjs';
import {
  asCaller,
  callerOf,
  keyOf,
  keyText,
  publicKeyOf,
  reconfigure,
  reloaded,
  stampKeyOf,
} from './policy_callers.mjs';
import { LONG } from './processes.mjs';
import { Random } from './random.mjs';

const GET = 'PolicyService/GetPolicy';
const requestOf = (organization_id = ORGANIZATION) => ({ organization_id, policy_id: identifier(6) });

/** A folder of files as Kubernetes mounts them: links through "..data", which one rename replaces. */
class Mount {
  #states = 0;

  constructor(folder, files) {
    this.folder = folder;
    mkdirSync(folder);
    this.swap(files);
    for (const name of Object.keys(files)) symlinkSync(`..data/${name}`, join(folder, name));
  }

  swap(files) {
    const name = `..${this.#states + 1}`;
    mkdirSync(join(this.folder, name));
    for (const [file, content] of Object.entries(files)) {
      writeFileSync(join(this.folder, name, file), content, { mode: 0o600 });
    }
    symlinkSync(name, join(this.folder, '..data_tmp'));
    renameSync(join(this.folder, '..data_tmp'), join(this.folder, '..data'));
    rmSync(join(this.folder, `..${this.#states}`), { recursive: true, force: true });
    this.#states += 1;
  }
}

/** Makes calls in several concurrent loops until it is stopped. Rejects as soon as a call fails. */
function load(gateway, sides) {
  let running = true;
  let calls = 0;
  let tick = () => {};
  const side = async () => {
    while (running) {
      await gateway.call(GET, requestOf());
      calls += 1;
      tick();
    }
  };
  const ended = Promise.all(Array.from({ length: sides }, side));
  ended.catch(() => {}); // stop() and more() report the error
  return {
    calls: () => calls,
    /** Resolves when `count` more calls have been answered. */
    async more(count) {
      const wanted = calls + count;
      await Promise.race([ended, new Promise((resolve) => (tick = () => calls >= wanted && resolve()))]);
    },
    async stop() {
      running = false;
      await ended;
    },
  };
}

test(
  'while keys and policy are swapped under load, no call fails, and old and new are never mixed',
  {
    timeout: (LONG ? 20 : 2) * HANG_MS,
  },
  async (t) => {
    const random = new Random(t);
    const SWAPS = LONG ? 5000 : 500;
    const folder = scratch(t);
    const simulator = await startSimulator();
    t.after(() => simulator.close());

    // The states swap both the names in the policy and the contents of the key files, so that every state signs with the
    // same key. The old policy with new keys, or the reverse, would sign with another key.
    const stateOf = (number) => {
      const names = number % 2 === 0 ? ['treasury', 'other'] : ['other', 'treasury'];
      const config = {
        listen_address: '127.0.0.1:0',
        reload_interval: '100ms',
        upstream: { base_url: simulator.url },
        keys: ['a', 'b'].map((name) => ({ name, file: `${name}.key`, all_organizations: true })),
        callers: [
          callerOf('c', [{ classes: ['query'], organizations_file: 'ids', key: number % 2 === 0 ? 'a' : 'b' }]),
        ],
      };
      return {
        'config.yaml': JSON.stringify(config),
        'a.key': keyText(names[0]),
        'b.key': keyText(names[1]),
        ids: `${ORGANIZATION}\nstate-${number}\n`,
      };
    };
    const broken = [
      (files) => ({ ...files, 'config.yaml': '{' }),
      (files) => ({ ...files, 'config.yaml': JSON.stringify({ callers: [] }) }),
      (files) => ({ ...files, 'a.key': 'garbage' }),
      // The grant is the one in force, so it keeps its organizations. A changed grant would allow none.
      (_, former) => ({ ...former, ids: '*\n' }),
      ({ 'config.yaml': config }) => ({ 'config.yaml': config }),
      () => ({}),
    ];

    const mount = new Mount(join(folder, 'mounted'), stateOf(0));
    const gateway = await Gateway.start({}, { configFile: join(mount.folder, 'config.yaml') });
    t.after(() => gateway.stop());
    const calls = load(asCaller(gateway, 'c'), 4);
    const keys = new Set();
    const look = () => {
      for (const request of simulator.requests()) keys.add(stampKeyOf(request));
      simulator.clearRequests();
    };

    const versions = new Set();
    let faults = 0;
    for (let number = 1; number <= SWAPS; ++number) {
      if (random.below(10) === 0) {
        // The gateway does not log the same fault twice in succession. Therefore the test does not wait for a log line
        // here.
        mount.swap(random.pick(broken)(stateOf(number), stateOf(number - 1)));
        gateway.child.kill('SIGHUP');
        faults += 1;
      }
      const { policy_version } = await reloaded(gateway, () => {
        // The swap may happen while the gateway reads the files. Over many rounds, it happens between any two files.
        gateway.child.kill('SIGHUP');
        mount.swap(stateOf(number));
      });
      versions.add(policy_version);
      await calls.more(4);
      look();
    }
    await calls.stop();
    look();
    t.diagnostic(JSON.stringify({ calls: calls.calls(), faults, swaps: versions.size }));
    assert.deepEqual([...keys], [publicKeyOf('treasury')]);
    assert.equal(versions.size, SWAPS);
    // The gateway loaded each state once, and never a mixture of two states.
    assert.equal((await logLines(gateway, SWAPS, 'reloaded')).length, SWAPS);
    assert.ok(faults > 0);
  },
);

describe('a replacement takes effect completely:', { timeout: HANG_MS }, () => {
  test('a key', async (t) => {
    const folder = scratch(t);
    const mount = new Mount(join(folder, 'keys'), { key: keyText('main') });
    const keys = [{ name: 'main', file: join(mount.folder, 'key'), all_organizations: true }];
    const { simulator, gateway } = await startStack(t, { config: { keys, reload_interval: '10m' } });
    await gateway.call(GET, requestOf());
    for (const name of ['other', 'treasury', 'cold']) {
      await reloaded(gateway, () => mount.swap({ key: keyText(name) }));
      await gateway.call(GET, requestOf());
      assert.equal(stampKeyOf(simulator.requests().at(-1)), publicKeyOf(name));
    }
    // The log contains no part of a key.
    for (const name of ['main', 'other', 'treasury', 'cold']) {
      assert.ok(!gateway.output.includes(keyText(name).split(':')[0]));
    }
  });

  test('the organizations of a file, without SIGHUP', async (t) => {
    const folder = scratch(t);
    const file = join(folder, 'organizations');
    const write = (...ids) => {
      writeFileSync(`${file}.new`, ids.join('\n'));
      renameSync(`${file}.new`, file);
    };
    write(ORGANIZATION);
    const callers = [callerOf('c', [{ classes: ['query'], organizations_file: file }])];
    const { gateway } = await startStack(t, { config: { callers, reload_interval: '100ms' } });
    const caller = asCaller(gateway, 'c');
    const child = subOrganization(1);
    await caller.call(GET, requestOf());
    assert.equal((await caller.refusal(GET, requestOf(child))).info.reason, 'DENIED_BY_POLICY');
    write(child, '# a comment', ORGANIZATION);
    await logLines(gateway, 1, 'reloaded');
    assert.notEqual((await caller.refusal(GET, requestOf(child))).info.reason, 'DENIED_BY_POLICY');
    write(child);
    await logLines(gateway, 2, 'reloaded');
    assert.equal((await caller.refusal(GET, requestOf())).info.reason, 'DENIED_BY_POLICY');
    // If the file is invalid, the gateway keeps the former list.
    write(child, 'not an id');
    const [{ message }] = await logLines(gateway, 1, 'organizations_not_applied');
    assert.equal(
      message,
      'callers[0].grants[0].organizations_file: line 2 is not an exact id; the earlier organizations stay in force',
    );
    assert.equal((await caller.refusal(GET, requestOf())).info.reason, 'DENIED_BY_POLICY');
    assert.notEqual((await caller.refusal(GET, requestOf(child))).info.reason, 'DENIED_BY_POLICY');
  });

  test('a call in flight ends with the state with which it began', async (t) => {
    const folder = scratch(t);
    const keys = [keyOf(folder, 'main'), keyOf(folder, 'other')];
    const callers = [callerOf('c', [{ classes: ['query'], all_organizations: true, key: 'main' }])];
    const { simulator, gateway } = await startStack(t, { config: { keys, callers, reload_interval: '10m' } });
    simulator.addFaults([{ kind: 'slow', untilReleased: true }]);
    const underWay = asCaller(gateway, 'c').call(GET, requestOf());
    await simulator.waitFor({ requests: 1, held: 1, timeoutMs: HANG_MS });
    await reconfigure(gateway, { keys: [keys[1]], callers: [callerOf('d', [])] });
    assert.equal((await asCaller(gateway, 'c').refusal(GET, requestOf())).info.reason, 'CALLER_NOT_RECOGNIZED');
    assert.equal((await asCaller(gateway, 'd').refusal(GET, requestOf())).info.reason, 'DENIED_BY_POLICY');
    simulator.release();
    await underWay;
    assert.equal(simulator.stats().requests, 1);
    assert.equal(stampKeyOf(simulator.requests()[0]), publicKeyOf('main'));
  });
});

test(
  'after a broken config the former one stays in effect, the fault is logged once, and a valid one is loaded',
  { timeout: HANG_MS },
  async (t) => {
    const callers = [callerOf('c', [{ classes: ['query'], all_organizations: true }])];
    const { gateway } = await startStack(t, { config: { callers, reload_interval: '10m' } });
    const caller = asCaller(gateway, 'c');
    const put = (text) => putConfig(gateway.configFile, text);
    const faulty = { ...gateway.config, callers: [{ ...callers[0], name: 'C' }], nonsense: 1 };
    const { severity, message } = await reloaded(gateway, () => put(JSON.stringify(faulty)), 'reload_failed');
    assert.equal(severity, 'WARNING');
    assert.match(message, /callers\[0\]\.name: must consist of a-z, 0-9 and -/);
    assert.match(message, /nonsense: unknown key/);
    await caller.call(GET, requestOf());

    // The next line is about another fault, so the gateway did not log the same fault again.
    for (let i = 0; i < 5; ++i) gateway.child.kill('SIGHUP');
    const other = await reloaded(gateway, () => put('callers: []\n'), 'reload_failed');
    assert.match(other.message, /callers: is required/);
    assert.equal((await logLines(gateway, 2, 'reload_failed')).length, 2);
    await caller.call(GET, requestOf());

    await reconfigure(gateway, { callers: [callerOf('c', [{ classes: ['login'], all_organizations: true }])] });
    assert.equal((await caller.refusal(GET, requestOf())).info.reason, 'DENIED_BY_POLICY');
    assert.equal((await logLines(gateway, 1, 'reloaded')).length, 1);
  },
);

test(
  'a config that is written in place is loaded when it has not changed for a while',
  { timeout: HANG_MS },
  async (t) => {
    const callers = [callerOf('c', [{ classes: ['query'], all_organizations: true }])];
    const { gateway } = await startStack(t, { config: { callers, reload_interval: '10m' } });
    const config = { ...gateway.config, callers: [callerOf('d', callers[0].grants)] };
    const { event } = await reloaded(gateway, () => writeFileSync(gateway.configFile, JSON.stringify(config)));
    assert.equal(event, 'reloaded');
    assert.equal((await logLines(gateway, 1, 'config_changed')).length, 1);
    await asCaller(gateway, 'd').call(GET, requestOf());
  },
);

test('changes that need a restart are logged, and other changes take effect', { timeout: HANG_MS }, async (t) => {
  const callers = [callerOf('c', [{ classes: ['login'], all_organizations: true }])];
  const { gateway } = await startStack(t, { config: { callers, reload_interval: '10m' } });
  await reconfigure(gateway, {
    callers: [callerOf('c', [{ classes: ['query'], all_organizations: true }])],
    calls: { max_deadline: '29s' },
  });
  const [{ message }] = await logLines(gateway, 1, 'restart_needed');
  assert.equal(
    message,
    'settings other than keys, subscriptions, webhooks.paths, webhooks.paths_file, token_issuers, callers, operations, ' +
      'class_grants_as_of and member_names_as_of have changed',
  );
  await asCaller(gateway, 'c').call(GET, requestOf());
});

test('a caller can be revoked whatever other file is broken', { timeout: HANG_MS }, async (t) => {
  const folder = scratch(t);
  const [tlsKey, webhookCertificate] = [join(folder, 'tls.key'), join(folder, 'webhooks.crt')];
  const { cert, key } = makeAuthority(folder, 'webhooks').issue();
  writeFileSync(webhookCertificate, cert);
  writeFileSync(tlsKey, key, { mode: 0o600 });
  const audit = await auditConfig(folder);
  const config = {
    audit,
    webhooks: { tls_certificate_file: webhookCertificate, tls_private_key_file: tlsKey },
    callers: [callerOf('c', [{ classes: ['query'], all_organizations: true }])],
    reload_interval: '10m',
  };
  const { gateway } = await startStack(t, { config });
  const caller = asCaller(gateway, 'c');
  await caller.call(GET, requestOf());
  for (const file of [audit.key_file, webhookCertificate]) {
    const good = readFileSync(file);
    writeFileSync(file, 'garbage');
    await reconfigure(gateway, { callers: [callerOf('c', [])] });
    assert.equal((await caller.refusal(GET, requestOf())).info.reason, 'DENIED_BY_POLICY', file);
    // `stampgate check` reports the broken file, but `check --as` does not.
    const check = ['check', '--config', gateway.configFile];
    for (const args of [check, ['serve', '--config', gateway.configFile]]) {
      const { status, stderr } = await run(args);
      assert.equal(status, 1);
      assert.match(stderr, file === audit.key_file ? /: audit\.key_file: / : /: webhooks\.tls_certificate_file: /);
    }
    assert.equal((await run([...check, '--as', 'c'])).stdout, 'c may call\nnothing\n');
    writeFileSync(file, good);
    await reconfigure(gateway, { callers: config.callers });
    await caller.call(GET, requestOf());
  }
  assert.equal((await logLines(gateway, 4, 'reloaded')).length, 4);
  assert.doesNotMatch(gateway.output, /reload_failed/);
});

test('a gateway that starts with symbolic links reads the files that they lead to', { timeout: HANG_MS }, async (t) => {
  const simulator = await startSimulator();
  t.after(() => simulator.close());
  const mount = new Mount(join(scratch(t), 'm'), { key: keyText('cold') });
  const keys = [{ name: 'main', file: join(mount.folder, 'key'), all_organizations: true }];
  const gateway = await startGateway(t, simulator, { keys });
  await gateway.call(GET, requestOf());
  assert.equal(stampKeyOf(simulator.requests()[0]), publicKeyOf('cold'));
});
