// Measures admission; see tests/bench/admission.
import { spawn } from 'node:child_process';
import { connect } from 'node:http2';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { encode } from '../clients/gateway.mjs';
import { ADMIN, metricsOf } from '../end_to_end/admin_port.mjs';
import { QUERY } from '../end_to_end/failures.mjs';
import { auditConfig, scratch, startGateway } from '../end_to_end/harness.mjs';
import { callerOf, tokenOf } from '../end_to_end/policy_callers.mjs';
import { SharedLogStack } from '../end_to_end/shared_log_stack.mjs';
import { PostgresServer } from '../postgresql/cluster.mjs';
import { root } from '../paths.mjs';

const quick = process.argv.includes('--quick');
const SECONDS = quick ? 20 : 120;
const RATE = 60;
const OFFERED = 500;
const CALLERS = 30;
const REPLICAS = process.argv.includes('--replicas') ? 3 : 1;
const ADMISSION = { rates: [{ requests: RATE, per: '1s' }], retries: false, breaker: false };
const WARM_UP_SECONDS = 3;
/** How often this program checks whether its own event loop is late. */
const LOOP_CHECK_MS = 1;

const ends = [];
const scope = { after: (end) => ends.push(end) };

const callers = Array.from({ length: CALLERS }, (_, i) => ({
  ...callerOf(`caller-${i}`, [{ classes: ['query'], all_organizations: true }]),
  weight: 1 + (i % 3),
}));
const totalWeight = callers.reduce((sum, { weight }) => sum + weight, 0);

/** Starts a simulator with the rate in a process of its own, so that it does not share this process's time. */
async function startUpstream() {
  const child = spawn(process.execPath, [`${root}/tests/simulator/simulator.mjs`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  ends.push(() => child.kill());
  for await (const line of createInterface({ input: child.stdout })) {
    const [, url] = /^listening on (.*)$/.exec(line) ?? [];
    if (url === undefined) continue;
    const body = JSON.stringify({ rateLimits: [{ requests: RATE, perMs: 1000 }] });
    await fetch(`${url}/_simulator/settings`, { method: 'POST', body });
    return { url };
  }
  throw new Error('the simulator did not start');
}

function percentile(values, part) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN;
}

const REQUEST = encode(QUERY.method, QUERY.request);
const FRAME = Buffer.concat([Buffer.from([0, 0, 0, 0, 0]), REQUEST]);
FRAME.writeUInt32BE(REQUEST.length, 1);
const [service, method] = QUERY.method.split('/');

/** The buckets of the gateways' own histogram of refusals: the number of refusals up to each number of milliseconds. */
async function refusalsOf(gateways) {
  const counts = new Map();
  for (const gateway of gateways) {
    for (const [series, value] of await metricsOf(gateway)) {
      const [, seconds] = /^stampgate_admission_refusal_seconds_bucket\{le="(.*)"\}$/.exec(series) ?? [];
      if (seconds === undefined) continue;
      const ms = seconds === '+Inf' ? Infinity : Number(seconds) * 1000;
      counts.set(ms, (counts.get(ms) ?? 0) + value);
    }
  }
  return counts;
}

/** How many refusals came between two readings, and the part of them that a gateway needed at most `ms` for. */
function partWithin(before, after, ms) {
  const since = (bound) => after.get(bound) - before.get(bound);
  return since(ms) / since(Infinity);
}

/**
 * Makes a call. Resolves to the reason of the error, or "sent", and to whether the call has waited for its place. Speaks HTTP/2 itself, because a gRPC library would use
 * more CPU time than the gateway.
 */
function call(session, caller) {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': `/stampgate.v1.${service}/${method}`,
      'content-type': 'application/grpc',
      te: 'trailers',
      'grpc-timeout': '15S',
      authorization: `Bearer ${tokenOf(caller)}`,
    });
    const onStatus = (headers) => {
      if (headers['grpc-status'] === undefined) return;
      const details = Buffer.from(headers['grpc-status-details-bin'] ?? '', 'base64').toString('latin1');
      const reason = ['QUOTA_EXHAUSTED', 'RATE_LIMIT_EXCEEDED'].find((name) => details.includes(name)) ?? 'sent';
      // The metadata of QUOTA_EXHAUSTED contain limit: "rate" or "wait".
      resolve({ reason, waited: details.includes('limit\x12\x04wait') });
    };
    stream.on('response', onStatus);
    stream.on('trailers', onStatus);
    stream.on('error', reject);
    stream.resume();
    stream.end(FRAME);
  });
}

/**
 * Offers calls at random times, as many callers do that know nothing of each other. A caller calls mostly one of the
 * gateways, some of which serve more callers than others.
 */
async function load(gateways, greedy) {
  const shares = callers.map(({ weight }, i) => (weight / totalWeight) * (greedy && i === 0 ? 10 : 1));
  const sum = shares.reduce((a, b) => a + b, 0);
  const sessions = gateways.map(({ address }) => Array.from({ length: 8 }, () => connect(`http://${address}`)));
  const placeOf = (index) => (Math.random() < 1 / 3 ? index : Math.floor(Math.sqrt(index / 4))) % gateways.length;
  const chosen = () => {
    let left = Math.random() * sum;
    return shares.findIndex((share) => (left -= share) < 0);
  };
  const results = [];
  const pending = [];
  const loop = monitorEventLoopDelay({ resolution: LOOP_CHECK_MS });
  const began = performance.now();
  let next = began;
  let before;
  while (next < began + (WARM_UP_SECONDS + SECONDS) * 1000) {
    const wait = next - performance.now();
    if (wait > 1) await new Promise((resolve) => setTimeout(resolve, wait));
    const index = Math.max(chosen(), 0);
    const sent = performance.now();
    const measured = sent >= began + WARM_UP_SECONDS * 1000;
    if (measured && before === undefined) {
      loop.enable();
      before = refusalsOf(gateways);
    }
    const lateMs = Math.max(sent - next, 0);
    pending.push(
      call(sessions[placeOf(index)][index % 8], callers[index].name).then((outcome) => {
        if (measured) results.push({ ...outcome, index, lateMs, ms: performance.now() - sent });
      }),
    );
    next += (-Math.log(1 - Math.random()) * 1000) / OFFERED;
  }
  await Promise.all(pending);
  loop.disable();
  for (const session of sessions.flat()) session.close();
  return { results, loop, before: await before, after: await refusalsOf(gateways) };
}

function report(title, { results, loop, before, after }) {
  const refused = results.filter(({ reason }) => reason === 'QUOTA_EXHAUSTED');
  const limited = results.filter(({ reason }) => reason === 'RATE_LIMIT_EXCEEDED');
  const sent = results.filter(({ reason }) => reason !== 'QUOTA_EXHAUSTED' && reason !== 'RATE_LIMIT_EXCEEDED');
  const perWeight = callers.map(({ weight }, i) => sent.filter(({ index }) => index === i).length / weight);
  const jain = perWeight.reduce((a, b) => a + b, 0) ** 2 / (CALLERS * perWeight.reduce((a, b) => a + b * b, 0));
  const others = sent.filter(({ index }) => index !== 0).map(({ ms }) => ms);
  const late = results.map(({ lateMs }) => lateMs);
  const within = (ms) => partWithin(before, after, ms) * 100;
  const rows = [
    ['offered in a second', results.length / SECONDS, 0],
    ['this program: calls are late by, p99, ms', percentile(late, 0.99), 1],
    ['this program: answers are read late by, p99, ms', loop.percentile(99) / 1e6 - LOOP_CHECK_MS, 1],
    ['carried out in a second', sent.length / SECONDS, 1],
    ['part of the rate that was used, %', (sent.length / SECONDS / RATE) * 100, 1],
    ['requests that upstream refused, %', (limited.length / (sent.length + limited.length)) * 100, 2],
    ["Jain's index of the places by weight", jain, 4],
    ['refused calls that had waited, %', (refused.filter(({ waited }) => waited).length / refused.length) * 100, 2],
    ['refusals within 1 ms in the gateway, %', within(1), 2],
    ['refusals within 5 ms in the gateway, %', within(5), 2],
    ['refusals within 10 ms in the gateway, %', within(10), 2],
    [
      'refusal as this program sees it, p50, ms',
      percentile(
        refused.map(({ ms }) => ms),
        0.5,
      ),
      1,
    ],
    [
      'refusal as this program sees it, p99, ms',
      percentile(
        refused.map(({ ms }) => ms),
        0.99,
      ),
      1,
    ],
    ['call of another caller, p50, ms', percentile(others, 0.5), 1],
    ['call of another caller, p99, ms', percentile(others, 0.99), 1],
  ];
  console.log(`\n${title}`);
  for (const [name, value, digits] of rows) console.log(`  ${name.padEnd(48)}${value.toFixed(digits).padStart(10)}`);
  return percentile(others, 0.99);
}

/** Several gateways with a store on PostgreSQL, of which one is killed. */
async function measureReplicas() {
  const upstream = await startUpstream();
  const postgres = await PostgresServer.create(scope);
  const stack = await SharedLogStack.prepare(
    scope,
    { hosts: [postgres.host], allow_single_server: true },
    {
      config: { upstream: { base_url: upstream.url }, callers, admission: ADMISSION, admin: ADMIN },
    },
  );
  const gateways = [];
  for (let i = 0; i < REPLICAS; i += 1) gateways.push(await stack.start());
  report(`thirty callers of ${REPLICAS} gateways, one of them at ten times its share`, await load(gateways, true));
  await stack.kill(gateways.shift());
  report(`the same after a kill of one gateway`, await load(gateways, true));
}

async function measureOne() {
  const folder = scratch(scope);
  const upstream = await startUpstream();
  const gateway = await startGateway(
    scope,
    upstream,
    {
      callers,
      audit: await auditConfig(folder),
      admission: ADMISSION,
      admin: ADMIN,
    },
    { folder },
  );
  const alone = report('thirty callers', await load([gateway], false));
  const beside = report('one of them at ten times its share', await load([gateway], true));
  console.log(`\nthe greedy caller changes the p99 of the others by ${((beside / alone - 1) * 100).toFixed(0)} %`);
}

try {
  await (REPLICAS > 1 ? measureReplicas() : measureOne());
} finally {
  for (const end of ends.reverse()) await end();
}
