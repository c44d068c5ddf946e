// Records what a release of the gateway writes, for the tests of later releases.
//
//   node tests/upgrade/record.mjs BINARY VERSION    writes to tests/upgrade/releases/VERSION
//
// The folder must contain the configs: config.yaml, every_setting.yaml and postgresql.yaml. Record each release, when its
// code is final. Build //tests/machine:all first.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from '../end_to_end/harness.mjs';
import { Machine } from '../machine/machine.mjs';
import { PostgresServer } from '../postgresql/cluster.mjs';
import { startSimulator } from '../simulator/server.mjs';
import { Runner, formatsOf, headOf, pack, recordScene, schemaOf, verifyAudit, writeConfig } from './scene.mjs';

const PG_DUMP = '/usr/lib/postgresql/15/bin/pg_dump';

const [binary, version] = process.argv.slice(2);
if (version === undefined) {
  console.error('usage: node tests/upgrade/record.mjs BINARY VERSION');
  process.exit(2);
}
const command = resolve(binary);
const release = join(dirname(fileURLToPath(import.meta.url)), 'releases', version);
const folder = mkdtempSync(join(tmpdir(), 'stampgate-record-'));
const endings = [() => rmSync(folder, { recursive: true })];
const t = { after: (end) => endings.unshift(end) };

async function keygen(what, file) {
  const { status, stderr } = await run([what, 'keygen', '--out', file], { command });
  assert.equal(status, 0, stderr);
}

/** A gateway with its store in files, and with an audit log of two files. */
async function recordFiles() {
  for (const name of ['store', 'audit', 'machine']) mkdirSync(join(folder, name));
  await keygen('audit', join(folder, 'audit/audit.key'));
  const simulator = await startSimulator();
  const machine = new Machine(join(folder, 'machine'), join(folder, 'store'));
  t.after(() => (machine.close(), simulator.close()));
  const configFile = writeConfig(release, folder, 'config.yaml', { 'http://127.0.0.1:1': simulator.url });
  const runner = new Runner(t, { simulator, machine, configFile });
  await runner.start(command);

  // The records of these calls are long and alike, so the compressed file is small.
  const request = { organization_id: 'x'.repeat(128), policy_id: 'p' };
  const query = () => runner.gateway.call('PolicyService/GetPolicy', request).catch(() => {});
  const closed = () => readdirSync(join(folder, 'audit')).filter((name) => /^audit\.log\.[0-9]{20}$/.test(name));
  while (closed().length === 0) await Promise.all(Array.from({ length: 64 }, query));

  const recording = await recordScene({ recorder: runner, simulator, name: version });
  await runner.stop();
  const head = headOf(await verifyAudit(command, join(folder, 'audit')));
  for (const name of ['store', 'audit']) {
    rmSync(join(release, name), { recursive: true, force: true });
    pack(join(folder, name), join(release, name));
  }
  const formats = formatsOf({ store: join(folder, 'store'), audit: join(folder, 'audit'), cursors: recording.cursors });
  return { ...recording, audit_head: head, recorded_at_ms: Math.ceil(machine.nowMs()), formats };
}

/** A gateway with its store on a PostgreSQL server. */
async function recordServer() {
  const data = join(folder, 'postgresql');
  mkdirSync(data);
  mkdirSync(join(data, 'machine'));
  const server = await PostgresServer.create(t);
  await keygen('store', join(data, 'store.key'));
  const simulator = await startSimulator();
  const machine = new Machine(join(data, 'machine'), data);
  t.after(() => (machine.close(), simulator.close()));
  const addresses = { 'http://127.0.0.1:1': simulator.url, '/SERVER': server.folder };
  const configFile = writeConfig(release, data, 'postgresql.yaml', addresses);
  const runner = new Runner(t, { simulator, machine, configFile });
  await runner.start(command);
  const recording = await recordScene({ recorder: runner, simulator, name: version });
  await runner.stop();
  const at = ['--host', server.folder, '--username', 'postgres', '--dbname', 'postgres'];
  const dump = await run([...at, '--schema=stampgate', '--inserts'], { command: PG_DUMP });
  assert.equal(dump.status, 0, dump.stderr);
  // The lines with a backslash are for psql only.
  const lines = dump.stdout.split('\n').filter((line) => !/^(\\|--|$)/.test(line));
  writeFileSync(join(release, 'postgresql.sql'), `${lines.join('\n')}\n`);
  const schema = await schemaOf(server);
  writeFileSync(join(release, 'store.key'), readFileSync(join(data, 'store.key')));
  return { ...recording, recorded_at_ms: Math.ceil(machine.nowMs()), schema };
}

try {
  const recording = { version, files: await recordFiles(), server: await recordServer() };
  writeFileSync(join(release, 'recording.json'), `${JSON.stringify(recording, null, 1)}\n`);
} finally {
  for (const end of endings) await end();
}
