// This gateway continues with the config, the store, the audit log and the cursors that earlier releases have written, and
// writes what those releases can read.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { cpSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, test } from 'node:test';
import { makeAuthority } from '../end_to_end/certificates.mjs';
import { HANG_MS, run, scratch } from '../end_to_end/harness.mjs';
import { Machine } from '../machine/machine.mjs';
import { root } from '../paths.mjs';
import { PostgresServer } from '../postgresql/cluster.mjs';
import { startSimulator } from '../simulator/server.mjs';
import { Runner, StoreClock, SUBMIT, assertHas, checkContinues, formatsOf, headOf, loadTables } from './scene.mjs';
import { requestOf, schemaOf, submitsOf, unpack, verifyAudit, writeConfig } from './scene.mjs';

const TIMEOUT = { timeout: 3 * HANG_MS };
const A_MINUTE_MS = 60_000;
/**
 * So far the clock goes back: further than the half minute by which a store without a mark of timestamps is ahead, and less
 * than the minute for which upstream accepts timestamps.
 */
const BACK_MS = 45_000;

/** The members that a reader of audit records needs, besides those of every record. It ignores unknown ones. */
const NEEDED = { start: ['format'], rotate: ['format', 'previous_mac'], outcome: ['allow'], still_open: ['allows'] };

const releases = join(dirname(fileURLToPath(import.meta.url)), 'releases');

/** What to do if a test of a format fails. */
const DECIDE =
  'an earlier release cannot read this: keep the old format for one more release, or state in deploy/README.md that a' +
  ' rollback is not possible';

/** Starts a simulator and a machine whose clock shows `nowMs`. */
async function prepare(t, release, { folder, config, nowMs, storeClock, addresses = {} }) {
  const simulator = await startSimulator();
  const machine = new Machine(scratch(t), folder);
  t.after(() => (machine.close(), simulator.close()));
  const configFile = writeConfig(release, folder, config, { 'http://127.0.0.1:1': simulator.url, ...addresses });
  const runner = new Runner(t, { simulator, machine, storeClock, configFile });
  machine.settle();
  await runner.moveClock(nowMs - machine.nowMs());
  return { simulator, runner };
}

/** Unpacks the recorded files into a new folder. */
function unpackFiles(t, release) {
  const folder = scratch(t);
  for (const name of ['store', 'audit']) unpack(join(release, name), join(folder, name));
  return folder;
}

/** Loads the recorded tables into a new server, and prepares a gateway whose clock shows `nowMs`. */
async function prepareServer(t, release, recorded, nowMs) {
  const folder = scratch(t);
  writeFileSync(join(folder, 'store.key'), readFileSync(join(release, 'store.key')), { mode: 0o600 });
  const server = await PostgresServer.create(t);
  await loadTables(server, release);
  assertHas(await schemaOf(server), recorded.schema, 'the fixture');
  const more = { storeClock: new StoreClock(server), addresses: { '/SERVER': server.folder } };
  return { server, ...(await prepare(t, release, { folder, config: 'postgresql.yaml', nowMs, ...more })) };
}

for (const version of readdirSync(releases)) {
  const release = join(releases, version);
  const recording = JSON.parse(readFileSync(join(release, 'recording.json'), 'utf8'));

  describe(`after an upgrade from ${version}`, TIMEOUT, () => {
    test('each config is valid, and a gateway starts with every setting', async (t) => {
      const folder = unpackFiles(t, release);
      mkdirSync(join(folder, 'every'));
      writeFileSync(join(folder, 'organizations.txt'), '7c9e6679-7425-40de-944b-e07fc1f90ae7\n');
      writeFileSync(join(folder, 'store.key'), readFileSync(join(release, 'store.key')), { mode: 0o600 });
      const authority = makeAuthority(folder, 'authority');
      const { cert, key } = authority.issue();
      writeFileSync(join(folder, 'ca.pem'), readFileSync(authority.file));
      writeFileSync(join(folder, 'tls.pem'), cert);
      writeFileSync(join(folder, 'tls.key'), key, { mode: 0o600 });
      const jwk = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' });
      writeFileSync(join(folder, 'headers'), 'authorization: none\n', { mode: 0o600 });
      cpSync(join(root, 'proto/releases', `${version}.binpb`), join(folder, 'operations.binpb'));
      writeFileSync(
        join(folder, 'jwks.json'),
        JSON.stringify({ keys: [{ ...jwk, kid: 'k', use: 'sig', alg: 'ES256' }] }),
      );
      for (const name of ['config.yaml', 'every_setting.yaml', 'postgresql.yaml']) {
        const file = writeConfig(release, folder, name, {});
        const { status, stdout, stderr } = await run(['check', '--config', file]);
        assert.equal(status, 0, stdout + stderr);
      }
      const runner = new Runner(t, {
        machine: { env: {} },
        configFile: join(folder, 'every_setting.yaml'),
      });
      await runner.start();
      await runner.stop();
    });

    test('the store in files, its cursors and the audit log continue', async (t) => {
      const recorded = recording.files;
      const folder = unpackFiles(t, release);
      const audit = join(folder, 'audit');
      const before = headOf(await verifyAudit(undefined, audit, '--head', recorded.audit_head));
      const nowMs = recorded.recorded_at_ms + A_MINUTE_MS;
      const { simulator, runner } = await prepare(t, release, { folder, config: 'config.yaml', nowMs });
      await runner.start();
      const now = await checkContinues({ gateway: runner.gateway, simulator, recorded, name: 'new' });
      await runner.kill();
      await runner.stop();
      const after = await verifyAudit(undefined, audit, '--head', before);
      assert.notEqual(headOf(after), before);
      assert.match(after, /\.00000000000000000001: records 1 to /);

      // The recorded release can read what this gateway has written.
      const sequence = Number(before.split(':')[0]);
      const store = join(folder, 'store');
      const { audit: written, ...formats } = formatsOf({ store, audit, cursors: now.cursors, after: sequence });
      const { audit: known, ...others } = recorded.formats;
      assert.deepEqual(formats, others, DECIDE);
      assert.deepEqual(written.formats, known.formats, DECIDE);
      for (const [kind, members] of Object.entries(written.kinds)) {
        assert.ok(known.kinds[kind], `records of the kind ${kind}: ${DECIDE}`);
        const needed = ['seq', 'time', 'kind', 'mac', ...(NEEDED[kind] ?? [])];
        assert.deepEqual(
          needed.filter((name) => !members.includes(name)),
          [],
          `records of the kind ${kind}: ${DECIDE}`,
        );
      }
    });

    test('new timestamps are above all recorded ones, even if the clock goes back', async (t) => {
      const recorded = recording.files;
      const folder = unpackFiles(t, release);
      const nowMs = recorded.recorded_at_ms - BACK_MS;
      const { simulator, runner } = await prepare(t, release, { folder, config: 'config.yaml', nowMs });
      await runner.start();
      await runner.gateway.call(SUBMIT, requestOf('after'));
      await runner.stop();
      const [body] = submitsOf(simulator);
      assert.ok(Number(JSON.parse(body).timestampMs) > Math.max(...recorded.timestamps));
    });

    test('a store on a PostgreSQL server continues', async (t) => {
      const recorded = recording.server;
      // The functions of 0.1.0 have the real time, and so has the gateway if it is later than the recording.
      const nowMs = Math.max(recorded.recorded_at_ms + A_MINUTE_MS, Date.now());
      const { server, runner, simulator } = await prepareServer(t, release, recorded, nowMs);
      await runner.start();
      await checkContinues({ gateway: runner.gateway, simulator, recorded, name: 'new' });
      await runner.stop();

      // Gateways of the recorded release can use the store, also at the same time.
      const schema = await schemaOf(server);
      assert.equal(schema.version, recorded.schema.version, DECIDE);
      for (const list of ['columns', 'functions', 'rules']) {
        const missing = (recorded.schema[list] ?? []).filter((each) => !schema[list].includes(each));
        assert.deepEqual(missing, [], DECIDE);
      }
      assertHas(schema.decided, recorded.schema.decided ?? {}, 'what the owner has decided');
    });

    test('new timestamps of a lease on a PostgreSQL server are above its recorded ones', async (t) => {
      const recorded = recording.server;
      const { server, runner, simulator } = await prepareServer(
        t,
        release,
        recorded,
        recorded.recorded_at_ms - BACK_MS,
      );
      const { status, stderr } = await run(['store', 'migrate', '--config', runner.configFile]);
      assert.equal(status, 0, stderr);
      await runner.moveClock(0);
      // Only the lease of the latest recorded timestamp is free.
      await server.sql(
        "UPDATE stampgate.leases SET holder = 'another', renewed_us = 9000000000000000" +
          ' WHERE index <> (SELECT index FROM stampgate.leases WHERE holder IS NULL ORDER BY through_ms DESC LIMIT 1)',
      );
      await runner.start();
      await runner.gateway.call(SUBMIT, requestOf('after'));
      await runner.stop();
      const [body] = submitsOf(simulator);
      assert.ok(Number(JSON.parse(body).timestampMs) > Math.max(...recorded.timestamps));
    });
  });
}
