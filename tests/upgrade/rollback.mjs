// Upgrades a gateway of one release to another release, and back. Each release continues with what the other one has
// written. The script `rollback` builds the programs and runs this file.
//
//   node tests/upgrade/rollback.mjs OLD_BINARY NEW_BINARY
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { deliver } from '../end_to_end/event_stack.mjs';
import { Gateway, run } from '../end_to_end/harness.mjs';
import { Subscriber, idsOf, listAll } from '../end_to_end/subscriber.mjs';
import { Machine } from '../machine/machine.mjs';
import { PostgresServer } from '../postgresql/cluster.mjs';
import { startSimulator } from '../simulator/server.mjs';
import { AN_HOUR_MS, Runner, StoreClock, checkContinues, headOf, recordScene, requestOf, resultOf } from './scene.mjs';
import { submitsOf, verifyAudit, writeConfig } from './scene.mjs';

const [older, newer] = process.argv.slice(2).map((path) => resolve(path));
if (newer === undefined) {
  console.error('usage: node tests/upgrade/rollback.mjs OLD_BINARY NEW_BINARY');
  process.exit(2);
}
const version = (await run(['--version'], { command: older })).stdout.trim().replace('stampgate ', '');
// Both programs know the settings of the older release.
const release = join(dirname(fileURLToPath(import.meta.url)), 'releases', version);
const folder = mkdtempSync(join(tmpdir(), 'stampgate-rollback-'));
const endings = [() => rmSync(folder, { recursive: true })];
const t = { after: (end) => endings.unshift(end) };

/**
 * @param {string} name of a folder
 * @param {string} config the name of the config
 * @param {{storeClock?: StoreClock, addresses?: Record<string, string>}} [options]
 */
async function prepare(name, config, { storeClock, addresses } = {}) {
  const inner = join(folder, name);
  for (const each of ['', 'store', 'audit', 'machine']) mkdirSync(join(inner, each));
  for (const [what, file] of [
    ['audit', 'audit/audit.key'],
    ['store', 'store.key'],
  ]) {
    const { status, stderr } = await run([what, 'keygen', '--out', join(inner, file)], { command: older });
    assert.equal(status, 0, stderr);
  }
  const simulator = await startSimulator();
  const machine = new Machine(join(inner, 'machine'), join(inner, 'store'));
  t.after(() => (machine.close(), simulator.close()));
  const configFile = writeConfig(release, inner, config, { 'http://127.0.0.1:1': simulator.url, ...addresses });
  return { inner, simulator, runner: new Runner(t, { simulator, machine, storeClock, configFile }) };
}

/**
 * Runs the older program, the newer one, and so on. Each one checks and continues what the others have written. Calls
 * `upgrade` before the newer one starts for the first time, and `afterEach` after each one.
 * @param {{simulator: import('../simulator/server.mjs').Simulator, runner: Runner}} files
 * @param {{upgrade?: () => Promise<void>, afterEach?: (name: string) => Promise<void>}} calls
 */
async function upAndDown({ simulator, runner }, { upgrade, afterEach }) {
  await runner.start(older);
  let recorded = await recordScene({ recorder: runner, simulator, name: 'first' });
  await runner.stop();
  await upgrade?.();
  for (const [name, command] of [
    ['up', newer],
    ['down', older],
    ['up again', newer],
    ['down again', older],
  ]) {
    await runner.moveClock(AN_HOUR_MS);
    await runner.start(command);
    recorded = await checkContinues({ gateway: runner.gateway, simulator, recorded, name: name.replace(' ', '-') });
    await runner.stop();
    if (name === 'up') {
      // The next program finds the files of a process that was killed.
      await runner.start(command);
      await runner.gateway.stop('SIGKILL');
    }
    await afterEach?.(name);
    console.log(`  ${name}: ${recorded.events.length} events, ${recorded.submits.length} keys`);
  }
}

/** Runs gateways of both releases at the same time, with one store on a server. */
async function together({ simulator, runner: { configFile, machine } }) {
  const start = async (command) => {
    const gateway = await Gateway.start({}, { configFile, command, env: machine.env });
    t.after(() => gateway.stop('SIGKILL'));
    return gateway;
  };
  const gateways = [await start(older), await start(newer), await start(older), await start(newer)];
  const subscribers = await Promise.all(gateways.map((gateway) => Subscriber.start(gateway)));
  const sent = [];
  simulator.clearRequests();
  for (let round = 0; round < 40; round += 1) {
    const event = { url: gateways[round % 4].webhookUrl, eventId: `together-${round}`, body: `{"round":${round}}` };
    assert.equal((await deliver(simulator, event)).status, 200);
    assert.equal((await deliver(simulator, { ...event, url: gateways[(round + 1) % 4].webhookUrl })).status, 200);
    sent.push(event.eventId);
    const request = requestOf(`together ${round}`);
    const results = await Promise.all([0, 1, 3].map((step) => resultOf(gateways[(round + step) % 4], request)));
    const ids = new Set(results.flatMap(({ response }) => response?.activity.id ?? []));
    assert.equal(ids.size, 1, JSON.stringify(results));
  }
  for (const subscriber of subscribers) assert.deepEqual(idsOf(await subscriber.events(sent.length)), sent);
  for (const gateway of gateways) assert.deepEqual(idsOf(await listAll(gateway)).slice(-sent.length), sent);
  assert.equal(new Set(submitsOf(simulator)).size, 40, 'upstream has received each submit with one timestamp');
  for (const gateway of gateways) assert.equal((await gateway.stop()).status, 0, gateway.output);
  console.log('  both releases at the same time: ok');
}

try {
  console.log('a store in files');
  const files = await prepare('files', 'config.yaml');
  const audit = join(files.inner, 'audit');
  let head;
  const afterEach = async (name) => {
    if (name === 'up') return; // the process was killed, so its last record may be torn
    const more = head ? ['--head', head] : [];
    const reports = [await verifyAudit(older, audit, ...more), await verifyAudit(newer, audit, ...more)];
    assert.equal(headOf(reports[0]), headOf(reports[1]));
    head = headOf(reports[0]);
  };
  await upAndDown(files, { afterEach });
  console.log('a store on a PostgreSQL server');
  const server = await PostgresServer.create(t);
  const storeClock = new StoreClock(server);
  const shared = await prepare('server', 'postgresql.yaml', { storeClock, addresses: { '/SERVER': server.folder } });
  const upgrade = async () => {
    const { configFile } = shared.runner;
    const { status, stderr } = await run(['store', 'migrate', '--config', configFile], { command: newer });
    assert.equal(status, 0, stderr);
  };
  await upAndDown(shared, { upgrade });
  await together(shared);
} finally {
  for (const end of endings) await end();
}
