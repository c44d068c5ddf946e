// Several gateways share upstream's rates through one PostgreSQL server, and count the calls of quotas there; a single
// gateway counts them in a SQLite file.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { PostgresServer } from '../postgresql/cluster.mjs';
import { startSimulator } from '../simulator/server.mjs';
import { metricsOf } from './admin_port.mjs';
import { QUERY, described } from './failures.mjs';
import { Gateway, HANG_MS, plainConfig, scratch } from './harness.mjs';
import { asCaller, callerOf } from './policy_callers.mjs';
import { until } from './processes.mjs';
import { SharedLogStack } from './shared_log_stack.mjs';

const TIMEOUT = { timeout: 2 * HANG_MS };
const RATE = 60;
const GRANTS = [{ classes: ['query'], all_organizations: true }];
const CALLERS = Array.from({ length: 12 }, (_, i) => ({ ...callerOf(`caller-${i}`, GRANTS), weight: 1 + (i % 3) }));
const WEIGHTS = CALLERS.reduce((sum, { weight }) => sum + weight, 0);

async function prepare(t, { rates, rateLimits = [] }) {
  const postgres = await PostgresServer.create(t);
  const config = { callers: CALLERS, admission: { rates, retries: false } };
  const store = { hosts: [postgres.host], allow_single_server: true };
  const stack = await SharedLogStack.prepare(t, store, { simulator: { rateLimits }, config });
  return { postgres, stack, gateways: [await stack.start(), await stack.start(), await stack.start()] };
}

/** The queries that upstream has got. It also gets fetches of key sets. */
const queriesOf = ({ simulator }) => simulator.requests().filter(({ path }) => path === QUERY.path);

/** How many requests upstream has got. It remembers only the last ones. */
const countOf = ({ simulator }) => simulator.requests().at(-1)?.number ?? 0;

/** "sent" if upstream carried the call out; otherwise the error's reason, with the delay of a refusal. */
const outcomeOf = (gateway, caller) =>
  asCaller(gateway, caller)
    .call(QUERY.method, QUERY.request)
    .then(
      () => ({ reason: 'sent' }),
      (error) => {
        if (!error.statusBytes) return { reason: 'lost' };
        const failure = described(error);
        return failure.domain === 'upstream' && failure.reason !== 'RATE_LIMIT_EXCEEDED' ? { reason: 'sent' } : failure;
      },
    );

/** Waits until these gateways, and no others, share the rate: together they have nearly the whole. */
async function untilShared(gateways) {
  await until(async () => {
    const all = await Promise.all(gateways.map(metricsOf));
    const shares = all.reduce((sum, metrics) => sum + metrics.get('stampgate_rate_share'), 0);
    const replicas = all.map((metrics) => metrics.get('stampgate_rate_replicas'));
    return shares > 0.95 && replicas.every((count) => count === gateways.length);
  }, 'the gateways to share the rate');
}

/**
 * Offers four times the share of each caller, and ten times as much for the first one, until upstream has got `requests`.
 * A caller calls mostly one gateway. Returns the number of calls that upstream carried out for each caller.
 */
async function offer(stack, gateways, requests) {
  const sent = CALLERS.map(() => 0);
  const calls = [];
  const end = countOf(stack) + requests;
  const placeOf = (index, call) => (call % 3 === 0 ? index : Math.floor(index / 4)) % gateways.length;
  const offerFrom = async ({ name, weight }, index) => {
    const gapMs = (1000 * WEIGHTS) / (RATE * weight * (index === 0 ? 40 : 4));
    for (let call = 0; countOf(stack) < end; call += 1) {
      const outcome = outcomeOf(gateways[placeOf(index, call)], name);
      calls.push(outcome.then(({ reason }) => (sent[index] += reason === 'sent' ? 1 : 0)));
      await pause(gapMs * (0.5 + Math.random()));
    }
  };
  await Promise.all(CALLERS.map(offerFrom));
  await Promise.all(calls);
  return sent;
}

/** Jain's index of the places by weight. */
function jainOf(sent) {
  const shares = sent.map((count, i) => count / CALLERS[i].weight);
  const sum = shares.reduce((a, b) => a + b, 0);
  return sum ** 2 / (shares.length * shares.reduce((a, b) => a + b * b, 0));
}

/** Checks that upstream has refused at most this part of the requests since `from`. */
function assertFewRefused(t, { simulator }, from) {
  const requests = simulator.requests().filter(({ number }) => number > from);
  const refused = requests.filter(({ verdict }) => verdict.status === 429).length;
  t.diagnostic(`upstream refused ${refused} of ${requests.length} requests`);
  // The simulator, the callers and the gateways share the machine, which delays requests differently. If one gateway
  // used the whole rate, upstream would refuse at least a third of the requests.
  assert.ok(refused <= requests.length / 10, `upstream refused ${refused} of ${requests.length} requests`);
}

test(
  'the callers of three gateways get one rate by their weights, also after a gateway was killed',
  TIMEOUT,
  async (t) => {
    const { stack, gateways } = await prepare(t, {
      rates: [{ requests: RATE, per: '1s' }],
      rateLimits: [{ requests: RATE, perMs: 1000 }],
    });
    await untilShared(gateways);
    await offer(stack, gateways, 2 * RATE);
    let from = countOf(stack);
    let jain = jainOf(await offer(stack, gateways, 10 * RATE));
    t.diagnostic(`Jain's index: ${jain}`);
    assert.ok(jain >= 0.98, `${jain}`);
    assertFewRefused(t, stack, from);

    await stack.kill(gateways.shift());
    await untilShared(gateways);
    await offer(stack, gateways, RATE);
    from = countOf(stack);
    jain = jainOf(await offer(stack, gateways, 6 * RATE));
    t.diagnostic(`Jain's index after the kill: ${jain}`);
    assert.ok(jain >= 0.98, `${jain}`);
    assertFewRefused(t, stack, from);

    // A gateway that ends in order frees its share.
    const [first, second] = gateways;
    assert.deepEqual(await first.stop(), { status: 0, signal: null });
    first.isKilled = true;
    await untilShared([second]);
  },
);

test('without the server a gateway continues with a part of the rate', TIMEOUT, async (t) => {
  const { postgres, stack, gateways } = await prepare(t, { rates: [{ requests: RATE, per: '1s' }] });
  await untilShared(gateways);
  await postgres.kill();
  for (const gateway of gateways) {
    await until(async () => (await metricsOf(gateway)).get('stampgate_rate_shares_failing') === 1, 'the loss');
    const share = (await metricsOf(gateway)).get('stampgate_rate_share');
    assert.ok(share > 0 && share <= 1 / 3, `${share}`);
    assert.equal((await outcomeOf(gateway, 'caller-0')).reason, 'sent');
    await until(() => gateway.output.includes('rate_shares_failing'), 'the log line');
  }
  await postgres.start();
  await untilShared(gateways);
  assert.equal(queriesOf(stack).length, 3);
  for (const gateway of gateways) await until(() => gateway.output.includes('rate_shares_recovered'), 'the log line');
});

const DAY = 60;
const isUsedUp = ({ reason, retryMs }) => reason === 'QUOTA_EXHAUSTED' && retryMs > 3_600_000;

/** Calls a gateway until a day's calls are used up there, or `most` calls were sent. */
async function useUp(gateway, most = Infinity) {
  for (let sent = 0; sent < most;) {
    const outcome = await outcomeOf(gateway, 'caller-1');
    if (outcome.reason === 'sent') sent += 1;
    else if (isUsedUp(outcome)) return outcome;
    else assert.equal(outcome.reason, 'QUOTA_EXHAUSTED');
  }
  return undefined;
}

test('three gateways never exceed the quota of a day, also across a kill and a restart', TIMEOUT, async (t) => {
  const { stack, gateways } = await prepare(t, { rates: [{ requests: DAY, per: '24h' }] });
  for (const gateway of gateways) await useUp(gateway, 5);
  await stack.kill(gateways.shift());
  gateways.push(await stack.start());
  await Promise.all(gateways.map((gateway) => useUp(gateway, 10)));
  await stack.kill(gateways.shift());
  gateways.push(await stack.start());
  const refusals = await Promise.all(gateways.map((gateway) => useUp(gateway)));
  for (const { retryMs } of refusals) {
    // The first calls leave the window a day later.
    assert.ok(retryMs > 86_000_000 && retryMs < 87_400_000, `${retryMs}`);
  }
  const sent = queriesOf(stack).length;
  // Each killed gateway loses a block of a two-hundredth, which is one call; fetches of key sets count too.
  assert.ok(sent <= DAY && stack.simulator.requests().length >= DAY - 2, `${sent}`);
  const unused = (await metricsOf(gateways[0])).get('stampgate_quota_unused_calls{window="24h"}');
  assert.equal(unused, 0);
});

test('a single gateway with a SQLite file does not forget the calls of a day', TIMEOUT, async (t) => {
  const folder = scratch(t);
  const simulator = await startSimulator();
  t.after(() => simulator.close());
  const config = {
    ...plainConfig(simulator, folder),
    callers: CALLERS,
    store: { sqlite: { folder } },
    admission: { rates: [{ requests: DAY, per: '24h' }] },
  };
  for (const [most, signal] of [
    [20, 'SIGKILL'],
    [20, 'SIGTERM'],
    [Infinity, 'SIGTERM'],
  ]) {
    const gateway = await Gateway.start(config, { folder });
    t.after(() => gateway.child.kill('SIGKILL'));
    await useUp(gateway, most);
    await gateway.stop(signal);
  }
  const sent = simulator.requests().length;
  assert.ok(sent <= DAY && sent >= DAY - 1, `${sent}`);
});
