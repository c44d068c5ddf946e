// This gateway continues with the config, the store, the audit log and the cursors that earlier releases have written, and
// writes what those releases can read.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, test } from 'node:test';
import { makeAuthority } from '../end_to_end/certificates.mjs';
import { HANG_MS, run, scratch } from '../end_to_end/harness.mjs';
import { Machine } from '../machine/machine.mjs';
import { PostgresServer } from '../postgresql/cluster.mjs';
import { startSimulator } from '../simulator/server.mjs';
import { Runner, SUBMIT, checkContinues, formatsOf, headOf, requestOf, schemaOf, submitsOf, unpack, verifyAudit } from './scene.mjs';
import { writeConfig } from './scene.mjs';

const PSQL = '/usr/lib/postgresql/15/bin/psql';
const TIMEOUT = { timeout: 3 * HANG_MS };
const A_MINUTE_MS = 60_000;

/** The members that a reader of audit records needs, besides those of every record. It ignores unknown ones. */
const NEEDED = { start: ['format'], rotate: ['format', 'previous_mac'], outcome: ['allow'], still_open: ['allows'] };

const releases = join(dirname(fileURLToPath(import.meta.url)), 'releases');

/** What to do if a test of a format fails. */
const DECIDE =
  'an earlier release cannot read this: keep the old format for one more release, or state in deploy/README.md that a' +
  ' rollback is not possible';

/** Starts a simulator and a machine whose clock shows `nowMs`. */
async function prepare(t, release, { folder, config, nowMs, addresses = {} }) {
  const simulator = await startSimulator();
  const machine = new Machine(scratch(t), folder);
  t.after(() => (machine.close(), simulator.close()));
  const configFile = writeConfig(release, folder, config, { 'http://127.0.0.1:1': simulator.url, ...addresses });
  const runner = new Runner(t, { simulator, machine, configFile });
  machine.settle();
  runner.moveClock(nowMs - machine.nowMs());
  return { simulator, runner };
}

/** Unpacks the recorded files into a new folder. */
function unpackFiles(t, release) {
  const folder = scratch(t);
  for (const name of ['store', 'audit']) unpack(join(release, name), join(folder, name));
  return folder;
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
      writeFileSync(join(folder, 'jwks.json'), JSON.stringify({ keys: [{ ...jwk, kid: 'k', use: 'sig', alg: 'ES256' }] }));
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
        assert.deepEqual(needed.filter((name) => !members.includes(name)), [], `records of the kind ${kind}: ${DECIDE}`);
      }
    });

    test('new timestamps are above all recorded ones, even if the clock goes back', async (t) => {
      const recorded = recording.files;
      const folder = unpackFiles(t, release);
      const nowMs = recorded.recorded_at_ms - A_MINUTE_MS / 3;
      const { simulator, runner } = await prepare(t, release, { folder, config: 'config.yaml', nowMs });
      await runner.start();
      await runner.gateway.call(SUBMIT, requestOf('after'));
      await runner.stop();
      const [body] = submitsOf(simulator);
      assert.ok(Number(JSON.parse(body).timestampMs) > Math.max(...recorded.timestamps));
    });

    test('a store on a PostgreSQL server continues', async (t) => {
      const recorded = recording.server;
      const folder = scratch(t);
      writeFileSync(join(folder, 'store.key'), readFileSync(join(release, 'store.key')), { mode: 0o600 });
      const server = await PostgresServer.create(t);
      const input = readFileSync(join(release, 'postgresql.sql'), 'utf8');
      const at = ['--host', server.folder, '--username', 'postgres', '--dbname', 'postgres', '--quiet'];
      const loaded = await run([...at, '--set', 'ON_ERROR_STOP=1', '--single-transaction'], { command: PSQL, input });
      assert.equal(loaded.status, 0, loaded.stderr);
      assert.deepEqual(await schemaOf(server), recorded.schema, 'the fixture is whole');
      // The server has the real time, and so has the gateway if it is later than the recording.
      const nowMs = Math.max(recorded.recorded_at_ms + A_MINUTE_MS, Date.now());
      const addresses = { '/SERVER': server.folder };
      const { simulator, runner } = await prepare(t, release, { folder, config: 'postgresql.yaml', nowMs, addresses });
      await runner.start();
      await checkContinues({ gateway: runner.gateway, simulator, recorded, name: 'new' });
      await runner.stop();

      // Gateways of the recorded release can use the store, also at the same time.
      const { version: usableSince, columns, functions } = await schemaOf(server);
      assert.equal(usableSince, recorded.schema.version, DECIDE);
      assert.deepEqual(recorded.schema.columns.filter((column) => !columns.includes(column)), [], DECIDE);
      assert.deepEqual(recorded.schema.functions.filter((each) => !functions.includes(each)), [], DECIDE);
    });
  });
}
