// Measures gateways that share an event log on PostgreSQL; see tests/bench/shared_log.
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, release } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Gateway, run } from '../end_to_end/harness.mjs';
import { SharedLogStack } from '../end_to_end/shared_log_stack.mjs';
import { binary } from '../paths.mjs';
import { PostgresCluster } from '../postgresql/cluster.mjs';
import { heading, median, row, writeBody } from './tables.mjs';

const quick = process.argv.includes('--quick');
const ROUNDS = quick ? 1 : 5;
const DELIVERIES = quick ? 3000 : 15000;
const LOGGED = quick ? 50_000 : 1_000_000;
const SECONDS = quick ? 2 : 5;
const CONNECTIONS = [1, 8, 64];
const LIVE = { subscribers: 200, rate: 200, events: quick ? 600 : 2000 };
const PGBENCH = '/usr/lib/postgresql/15/bin/pgbench';

/** What must end when the measurement ends. */
const ends = [];
const scope = { after: (end) => ends.push(end) };

/** The "name=value" pairs of the last line of a program's output. */
function valuesOf(text) {
  const pairs = text
    .trim()
    .split('\n')
    .at(-1)
    .split(' ')
    .filter((word) => word.includes('='));
  return Object.fromEntries(pairs.map((word) => word.split('=')).map(([name, value]) => [name, Number(value)]));
}

/** Runs a program of this folder. Resolves to its values. */
async function measure(program, args) {
  const { status, stdout, stderr } = await run(args, { command: binary(`tests/bench/${program}`) });
  if (status !== 0) throw new Error(`${program}: ${stderr}`);
  return valuesOf(stdout);
}

/** The median of each value of the results. */
const medians = (results) =>
  Object.fromEntries(Object.keys(results[0]).map((name) => [name, median(results.map((result) => result[name]))]));

/** Sends deliveries to the gateways, each over its share of the connections. Resolves to their sum. */
async function deliver(gateways, body, connections, count) {
  const results = await Promise.all(
    gateways.map((gateway) =>
      measure('deliver', [
        `--body=${body}`,
        `--url=${gateway.webhookUrl}`,
        `--pid=${gateway.child.pid}`,
        `--connections=${Math.max(1, Math.floor(connections / gateways.length))}`,
        `--count=${Math.floor(count / gateways.length)}`,
        '--warm_up=200',
      ]),
    ),
  );
  return {
    per_second: results.reduce((sum, { per_second: rate }) => sum + rate, 0),
    p50_ms: median(results.map(({ p50_ms: ms }) => ms)),
    p99_ms: Math.max(...results.map(({ p99_ms: ms }) => ms)),
  };
}

/** Rows per second by single INSERTs, each in a transaction of its own that waits for the standby. */
async function inserts(server, folder, bytes, clients) {
  const script = join(folder, 'insert.sql');
  writeFileSync(script, `INSERT INTO floor (body) VALUES (repeat('x', ${bytes})::bytea);\n`);
  const args = ['-n', '-f', script, '-c', clients, '-j', Math.min(2, clients), '-T', SECONDS, '-M', 'prepared'];
  const connection = ['-h', server.folder, '-U', 'postgres', 'postgres'];
  const { status, stdout, stderr } = await run([...args.map(String), ...connection], { command: PGBENCH });
  if (status !== 0) throw new Error(stderr);
  return Number(/^tps = ([\d.]+)/m.exec(stdout)[1]);
}

/** Rows per second by one COPY. */
async function copied(server, folder, bytes) {
  const file = join(folder, 'rows');
  const rows = quick ? 20_000 : 100_000;
  writeFileSync(file, `${'x'.repeat(bytes)}\n`.repeat(rows));
  const began = performance.now();
  await server.sql(`\\copy floor (body) FROM '${file}'`);
  return rows / ((performance.now() - began) / 1000);
}

/**
 * The latency from the sender to the subscribers of another gateway.
 * @param {Gateway[]} gateways
 * @param {string} body the name of a file
 */
async function live(gateways, body) {
  const [receiver, other] = gateways;
  const { subscribers, rate, events } = LIVE;
  const child = spawn(binary('tests/bench/subscribe'), [
    `--target=${other.address}`,
    `--pid=${other.child.pid}`,
    `--subscribers=${subscribers}`,
    `--skip=${rate}`,
    `--events=${events}`,
  ]);
  let output = '';
  const lines = createInterface({ input: child.stdout });
  await new Promise((resolve, reject) => {
    lines.on('line', (line) => ((output = line), line === 'ready' && resolve()));
    child.on('close', (status) => reject(new Error(`subscribe exited with ${status}`)));
  });
  const ended = new Promise((resolve) => child.on('close', resolve));
  await measure('deliver', [
    `--body=${body}`,
    `--url=${receiver.webhookUrl}`,
    `--pid=${receiver.child.pid}`,
    `--rate=${rate}`,
    `--count=${events}`,
    `--warm_up=${rate}`,
  ]);
  await ended;
  return valuesOf(output);
}

/** Fills a file with many events, and copies it to a new schema of the server. */
async function fill(stack, body) {
  const folder = join(stack.folder, 'filled');
  mkdirSync(folder);
  const fill = spawn(binary('tests/bench/fill'), [
    `--file=${join(folder, 'events.db')}`,
    `--body=${body}`,
    `--count=${LOGGED}`,
  ]);
  let output = '';
  fill.stdout.on('data', (data) => (output += data));
  if ((await new Promise((resolve) => fill.on('close', resolve))) !== 0) throw new Error('the log cannot be filled');
  const schema = 'filled';
  const to = stack.config({ schema });
  const files = { from: { ...to, store: { sqlite: { folder } } }, to };
  for (const [name, config] of Object.entries(files)) writeFileSync(join(stack.folder, name), JSON.stringify(config));
  const began = performance.now();
  const copy = spawn(
    binary('gateway/stampgate'),
    [...['store', 'copy', '--from', join(stack.folder, 'from'), '--to', join(stack.folder, 'to')]],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  if ((await new Promise((resolve) => copy.on('close', resolve))) !== 0) throw new Error('the log cannot be copied');
  const cursors = Object.fromEntries(
    [...output.matchAll(/\b(beginning|middle|end)=(\S+)/g)].map(([, name, value]) => [name, value]),
  );
  return { cursors, perSecond: LOGGED / ((performance.now() - began) / 1000), gateway: await stack.start({ schema }) };
}

async function main() {
  const cluster = await PostgresCluster.create(scope, { size: 2 });
  const stack = await SharedLogStack.prepare(scope, { hosts: cluster.hosts });
  const body = writeBody(stack.folder);
  const bytes = readFileSync(body).length;
  const many = { max_subscribers: 1000, max_subscribers_per_caller: 1000 };
  const start = (config) =>
    Gateway.start({ ...config, events: { ...config.events, ...many } }, { folder: stack.folder });
  const gateways = [];
  for (let i = 0; i < 3; ++i) gateways.push(await start(stack.config()));
  const folder = join(stack.folder, 'sqlite');
  mkdirSync(folder);
  const single = await start({ ...stack.config(), store: { sqlite: { folder } } });
  stack.gateways.push(...gateways, single);
  await cluster.primary.sql('CREATE TABLE floor (body bytea)');
  await cluster.primary.sql('ALTER TABLE floor ALTER COLUMN body SET STORAGE EXTERNAL');

  const engines = { sqlite: [single], one: gateways.slice(0, 1), three: gateways };
  const results = {};
  for (let round = 0; round < ROUNDS; ++round) {
    for (const connections of CONNECTIONS) {
      const count = connections === 1 ? DELIVERIES / 5 : DELIVERIES;
      for (const [name, of] of Object.entries(engines)) {
        if (name === 'three' && connections < 3) continue;
        (results[`${name} ${connections}`] ??= []).push(await deliver(of, body, connections, count));
      }
      const rate = await inserts(cluster.primary, stack.folder, bytes, connections);
      (results[`insert ${connections}`] ??= []).push({ per_second: rate });
    }
    (results.copy ??= []).push({ per_second: await copied(cluster.primary, stack.folder, bytes) });
    (results.live ??= []).push(await live(gateways, body));
  }
  const { cursors, perSecond, gateway } = await fill(stack, body);
  for (const [place, cursor] of Object.entries(cursors)) {
    for (let i = 0; i < 5; ++i) {
      const args = [`--target=${gateway.address}`, `--pid=${gateway.child.pid}`, `--cursor=${cursor}`, '--events=1'];
      (results[`resume ${place}`] ??= []).push(await measure('subscribe', args));
    }
  }

  const of = (name) => (results[name] === undefined ? {} : medians(results[name]));
  const each = (name, value) => CONNECTIONS.map((connections) => of(`${name} ${connections}`)[value]);
  console.log(`machine: ${cpus().length} cores, ${cpus()[0].model}, Linux ${release()}; medians of ${ROUNDS} round(s)`);
  heading(`deliveries of ${bytes} bytes a second, by connections`, CONNECTIONS);
  row('SQLite, one gateway', each('sqlite', 'per_second'));
  row('PostgreSQL with a synchronous standby, one gateway', each('one', 'per_second'));
  row('the same, three gateways', each('three', 'per_second'));
  row('floor: single INSERTs of the same bytes', each('insert', 'per_second'));
  row('floor: one COPY', [of('copy').per_second]);
  const ratio = (name) => each(name, 'per_second').map((rate, i) => rate && rate / each('insert', 'per_second')[i]);
  row('one gateway / single INSERTs', ratio('one'), 2);
  row('three gateways / single INSERTs', ratio('three'), 2);
  for (const quantile of ['p50_ms', 'p99_ms']) {
    heading(`${quantile.slice(0, 3)} of a delivery, milliseconds`, CONNECTIONS);
    row('SQLite, one gateway', each('sqlite', quantile), 1);
    row('PostgreSQL, one gateway', each('one', quantile), 1);
    row('PostgreSQL, three gateways', each('three', quantile), 1);
  }
  heading(`${LIVE.rate} deliveries a second, ${LIVE.subscribers} subscribers of another gateway`, ['p50', 'p99']);
  row('sent to received, milliseconds', [of('live').p50_ms, of('live').p99_ms], 1);
  heading(`log of ${LOGGED} events`, Object.keys(cursors));
  row(
    'resuming: first event, milliseconds',
    Object.keys(cursors).map((place) => of(`resume ${place}`).first_ms),
    1,
  );
  row('store copy: events a second', [perSecond]);
}

let status = 0;
try {
  await main();
} catch (error) {
  console.error(error.message);
  status = 1;
}
for (const end of ends.reverse()) await end();
process.exit(status);
