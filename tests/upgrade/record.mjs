// Records what a release of the gateway writes, for the tests of later releases. The release continues what the release
// before it has recorded, so its store has data of both.
//
//   node tests/upgrade/record.mjs BINARY VERSION BEFORE    BEFORE is the release before, such as 0.1.0
//
// Writes to the folder tests/upgrade/releases/VERSION, which must contain the configs: config.yaml, every_setting.yaml
// and postgresql.yaml. Record each release, at its commit. Build //tests/machine:all first.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from '../end_to_end/harness.mjs';
import { Machine } from '../machine/machine.mjs';
import { PostgresServer } from '../postgresql/cluster.mjs';
import { startSimulator } from '../simulator/server.mjs';
import { Runner, StoreClock, checkContinues, formatsOf, headOf, loadTables, pack, recordScene } from './scene.mjs';
import { schemaOf, unpack, verifyAudit, writeConfig } from './scene.mjs';

const PG_DUMP = '/usr/lib/postgresql/15/bin/pg_dump';
const A_MINUTE_MS = 60_000;

const [binary, version, before] = process.argv.slice(2);
if (before === undefined) {
  console.error('usage: node tests/upgrade/record.mjs BINARY VERSION BEFORE');
  process.exit(2);
}
const command = resolve(binary);
const releases = join(dirname(fileURLToPath(import.meta.url)), 'releases');
const release = join(releases, version);
const earlier = join(releases, before);
const recorded = JSON.parse(readFileSync(join(earlier, 'recording.json'), 'utf8'));
const folder = mkdtempSync(join(tmpdir(), 'stampgate-record-'));
const endings = [() => rmSync(folder, { recursive: true })];
const t = { after: (end) => endings.unshift(end) };

/** Runs a command of the gateway, which must succeed. */
async function succeed(...words) {
  const { status, stderr } = await run(words, { command });
  assert.equal(status, 0, stderr);
}

/**
 * Starts a simulator, and makes a runner, whose time is a minute after the recording of the release before.
 * @param {string} folder
 * @param {string} config the name of the config
 * @param {number} recordedAtMs
 * @param {{storeClock?: StoreClock, addresses?: Record<string, string>}} [options]
 */
async function prepare(folder, config, recordedAtMs, { storeClock, addresses } = {}) {
  mkdirSync(join(folder, 'machine'));
  const simulator = await startSimulator();
  const machine = new Machine(join(folder, 'machine'), folder);
  t.after(() => (machine.close(), simulator.close()));
  const configFile = writeConfig(release, folder, config, { 'http://127.0.0.1:1': simulator.url, ...addresses });
  const runner = new Runner(t, { simulator, machine, storeClock, configFile });
  await runner.moveClock(recordedAtMs + A_MINUTE_MS - machine.nowMs());
  return { simulator, machine, runner };
}

/** Continues what the release before has recorded, and then makes calls as in every recording. */
async function record(runner, simulator, before) {
  await runner.start(command);
  const continued = await checkContinues({ gateway: runner.gateway, simulator, recorded: before, name: 'continued' });
  const recording = await recordScene({ recorder: runner, simulator, name: version, before: continued });
  await runner.stop();
  return recording;
}

/** A gateway with its store in files, and with an audit log of several files. */
async function recordFiles() {
  const inner = join(folder, 'files');
  for (const name of ['store', 'audit']) unpack(join(earlier, name), join(inner, name));
  const { simulator, machine, runner } = await prepare(inner, 'config.yaml', recorded.files.recorded_at_ms);
  const recording = await record(runner, simulator, recorded.files);

  // The records of these calls are long and alike, so the compressed file is small.
  const request = { organization_id: 'x'.repeat(128), policy_id: 'p' };
  const closed = () => readdirSync(join(inner, 'audit')).filter((name) => /^audit\.log\.[0-9]/.test(name)).length;
  await runner.start(command);
  const query = () => runner.gateway.call('PolicyService/GetPolicy', request).catch(() => {});
  for (const wanted = closed() + 1; closed() < wanted;) await Promise.all(Array.from({ length: 64 }, query));
  await runner.stop();

  const head = headOf(await verifyAudit(command, join(inner, 'audit')));
  for (const name of ['store', 'audit']) {
    rmSync(join(release, name), { recursive: true, force: true });
    pack(join(inner, name), join(release, name));
  }
  const formats = formatsOf({ store: join(inner, 'store'), audit: join(inner, 'audit'), cursors: recording.cursors });
  return { ...recording, audit_head: head, recorded_at_ms: Math.ceil(machine.nowMs()), formats };
}

/** A gateway with its store on a PostgreSQL server. */
async function recordServer() {
  const inner = join(folder, 'server');
  mkdirSync(inner);
  const server = await PostgresServer.create(t);
  await loadTables(server, earlier);
  copyFileSync(join(earlier, 'store.key'), join(inner, 'store.key'));
  chmodSync(join(inner, 'store.key'), 0o600);
  const storeClock = new StoreClock(server);
  const more = { storeClock, addresses: { '/SERVER': server.folder } };
  const { simulator, machine, runner } = await prepare(inner, 'postgresql.yaml', recorded.server.recorded_at_ms, more);
  // An operator upgrades in this order.
  for (const step of ['migrate', 'set', 'seal']) {
    await succeed('store', step, '--config', runner.configFile);
    await runner.moveClock(0);
  }
  const recording = await record(runner, simulator, recorded.server);
  await storeClock.restore();
  const at = ['--host', server.folder, '--username', 'postgres', '--dbname', 'postgres'];
  const dump = await run([...at, '--schema=stampgate', '--inserts'], { command: PG_DUMP });
  assert.equal(dump.status, 0, dump.stderr);
  // The lines with a backslash are for psql only.
  const lines = dump.stdout.split('\n').filter((line) => !/^(\\|--|$)/.test(line));
  writeFileSync(join(release, 'postgresql.sql'), `${lines.join('\n')}\n`);
  const schema = await schemaOf(server);
  copyFileSync(join(inner, 'store.key'), join(release, 'store.key'));
  chmodSync(join(release, 'store.key'), 0o644);
  return { ...recording, recorded_at_ms: Math.ceil(machine.nowMs()), schema };
}

try {
  const commit = execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' }).trim();
  const recording = { version, commit, files: await recordFiles(), server: await recordServer() };
  writeFileSync(join(release, 'recording.json'), `${JSON.stringify(recording, null, 1)}\n`);
} finally {
  for (const end of endings) await end();
}
