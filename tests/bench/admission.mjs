// Measures admission; see tests/bench/admission.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { connect } from 'node:http2';
import { encode } from '../clients/gateway.mjs';
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

const ends = [];
const scope = { after: (end) => ends.push(end) };

const callers = Array.from({ length: CALLERS }, (_, i) => ({
  ...callerOf(`caller-${i}`, [{ classes: ['query'], all_organizations: true }]),
  weight: 1 + (i % 3),
}));
const totalWeight = callers.reduce((sum, { weight }) => sum + weight, 0);

/** Starts a simulator with the rate in a process of its own, so that it does not share this process's time. */
async function startUpstream() {
  const child = spawn(process.execPath, [`${root}/tests/simulator/simulator.mjs`], { stdio: ['ignore', 'pipe', 'inherit'] });
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

/**
 * Makes a call. Resolves to the reason of the error, or "sent". Speaks HTTP/2 itself, because a gRPC library would use
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
      resolve(['QUOTA_EXHAUSTED', 'RATE_LIMIT_EXCEEDED'].find((reason) => details.includes(reason)) ?? 'sent');
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
  let latest = 0;
  const began = performance.now();
  let next = began;
  while (next < began + (WARM_UP_SECONDS + SECONDS) * 1000) {
    const wait = next - performance.now();
    if (wait > 1) await new Promise((resolve) => setTimeout(resolve, wait));
    latest = Math.max(latest, -wait);
    const index = Math.max(chosen(), 0);
    const sent = performance.now();
    const measured = sent >= began + WARM_UP_SECONDS * 1000;
    pending.push(
      call(sessions[placeOf(index)][index % 8], callers[index].name).then((reason) => {
        if (measured) results.push({ index, reason, ms: performance.now() - sent });
      }),
    );
    next += (-Math.log(1 - Math.random()) * 1000) / OFFERED;
  }
  await Promise.all(pending);
  for (const session of sessions.flat()) session.close();
  return { results, latest };
}

function report(title, { results, latest }) {
  const refused = results.filter(({ reason }) => reason === 'QUOTA_EXHAUSTED');
  const limited = results.filter(({ reason }) => reason === 'RATE_LIMIT_EXCEEDED');
  const sent = results.filter(({ reason }) => reason !== 'QUOTA_EXHAUSTED' && reason !== 'RATE_LIMIT_EXCEEDED');
  const perWeight = callers.map(({ weight }, i) => sent.filter(({ index }) => index === i).length / weight);
  const jain = perWeight.reduce((a, b) => a + b, 0) ** 2 / (CALLERS * perWeight.reduce((a, b) => a + b * b, 0));
  const others = sent.filter(({ index }) => index !== 0).map(({ ms }) => ms);
  const rows = [
    ['offered in a second', results.length / SECONDS, 0],
    ['latest call of this program, ms', latest, 0],
    ['carried out in a second', sent.length / SECONDS, 1],
    ['part of the rate that was used, %', (sent.length / SECONDS / RATE) * 100, 1],
    ['requests that upstream refused, %', (limited.length / (sent.length + limited.length)) * 100, 2],
    ["Jain's index of the places by weight", jain, 4],
    ['refusal, p50, ms', percentile(refused.map(({ ms }) => ms), 0.5), 1],
    ['refusal, p99, ms', percentile(refused.map(({ ms }) => ms), 0.99), 1],
    ['call of another caller, p50, ms', percentile(others, 0.5), 1],
    ['call of another caller, p99, ms', percentile(others, 0.99), 1],
  ];
  console.log(`\n${title}`);
  for (const [name, value, digits] of rows) console.log(`  ${name.padEnd(44)}${value.toFixed(digits).padStart(10)}`);
  return percentile(others, 0.99);
}

/** Several gateways with a store on PostgreSQL, of which one is killed. */
async function measureReplicas() {
  const upstream = await startUpstream();
  const postgres = await PostgresServer.create(scope);
  const stack = await SharedLogStack.prepare(scope, { hosts: [postgres.host], allow_single_server: true }, {
    config: { upstream: { base_url: upstream.url }, callers, admission: ADMISSION },
  });
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
