// Calls of several callers in front of an upstream with a rate: which of them are sent, in which order, and what the
// others get.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ORGANIZATION, identifier } from '../simulator/testing.mjs';
import { ADMIN, metricsOf } from './admin_port.mjs';
import { QUERY, SUBMIT, described } from './failures.mjs';
import { HANG_MS, auditConfig, scratch, startStack } from './harness.mjs';
import { recordsOf } from './log_lines.mjs';
import { asCaller, callerOf } from './policy_callers.mjs';
import { until } from './processes.mjs';

const timeout = HANG_MS;
const GRANTS = [{ classes: ['query', 'write'], all_organizations: true }];
const NAMES = ['a', 'b', 'c'];
/** A query of another operation than QUERY. */
const OTHER_QUERY = {
  method: 'WalletService/ListWalletAccounts',
  request: { organization_id: ORGANIZATION, wallet_id: identifier(2) },
};

async function startWith(t, admission, { simulator, ...config } = {}) {
  const callers = NAMES.map((name, i) => ({ ...callerOf(name, GRANTS), weight: i + 1 }));
  const stack = await startStack(t, { simulator, config: { callers, admin: ADMIN, admission, ...config } });
  return { ...stack, callers: NAMES.map((name) => asCaller(stack.gateway, name)) };
}

/** The outcome of a call: "sent" if upstream got it, or else the reason of the error. */
const outcomeOf = (caller, { method, request }) =>
  caller.call(method, request).then(
    () => ({ reason: 'sent' }),
    (error) => {
      const failure = described(error);
      return failure.domain === 'upstream' && failure.reason !== 'RATE_LIMIT_EXCEEDED' ? { reason: 'sent' } : failure;
    },
  );

const countOf = (outcomes, wanted) => outcomes.filter(({ reason }) => reason === wanted).length;

describe('calls beyond the rate', { timeout }, () => {
  it('are refused with a delay, are not stamped, and are not recorded as allowed', async (t) => {
    const audit = await auditConfig(scratch(t));
    // Five requests in a day: nothing depends on how long the test takes.
    const stack = await startWith(t, { rates: [{ requests: 5, per: '24h' }] }, { audit });
    const outcomes = [];
    for (let i = 0; i < 20; i += 1) outcomes.push(await outcomeOf(stack.callers[i % 3], i % 2 ? QUERY : SUBMIT));
    assert.equal(countOf(outcomes, 'sent'), 5);
    const refused = outcomes.filter(({ reason }) => reason === 'QUOTA_EXHAUSTED');
    assert.equal(refused.length, 15);
    for (const { code, metadata, message, retryMs } of refused) {
      assert.deepEqual({ code, metadata }, { code: 'RESOURCE_EXHAUSTED', metadata: { limit: 'quota' } });
      assert.match(message, /no call left of upstream's quota of 5 calls in 24h$/);
      assert.ok(retryMs > 86_000_000 && retryMs < 90_000_000, `${retryMs}`);
    }
    assert.equal(stack.simulator.requests().length, 5);
    const metrics = await metricsOf(stack.gateway);
    const refusals = ['submit', 'query'].map((name) =>
      metrics.get(`stampgate_admission_refused_total{class="${name}",reason="no_place"}`),
    );
    assert.equal(refusals[0] + refusals[1], 15);
    await stack.gateway.stop();
    assert.equal(recordsOf(audit.file).filter(({ kind }) => kind === 'allow').length, 5);
  });

  it('of one organization do not concern another one', async (t) => {
    const stack = await startWith(t, { organization_rates: [{ requests: 2, per: '24h' }] });
    const other = { ...QUERY, request: { ...QUERY.request, organization_id: 'another' } };
    const outcomes = [];
    for (let i = 0; i < 6; i += 1) outcomes.push(await outcomeOf(stack.callers[0], i % 2 ? QUERY : other));
    assert.equal(countOf(outcomes, 'sent'), 4);
    assert.equal(countOf(outcomes, 'QUOTA_EXHAUSTED'), 2);
  });

  it('of one operation do not concern another one', async (t) => {
    const operation_rates = [{ operations: ['query/get_policy'], rates: [{ requests: 2, per: '24h' }] }];
    const stack = await startWith(t, { operation_rates });
    const outcomes = [];
    for (let i = 0; i < 6; i += 1) outcomes.push(await outcomeOf(stack.callers[0], QUERY));
    assert.equal(countOf(outcomes, 'sent'), 2);
    const { metadata, message } = outcomes.at(-1);
    assert.deepEqual(metadata, { limit: 'quota' });
    assert.match(message, /no call left of the operation's quota of 2 calls in 24h$/);
    for (let i = 0; i < 6; i += 1)
      assert.equal((await outcomeOf(stack.callers[0], i % 2 ? OTHER_QUERY : SUBMIT)).reason, 'sent');
  });

  it('of a lighter caller let a heavier one overtake them within the rate of an organization', async (t) => {
    const stack = await startWith(t, { organization_rates: [{ requests: 10, per: '1s' }], max_wait: '2s' });
    const light = Array.from({ length: 40 }, () => outcomeOf(stack.callers[0], QUERY));
    const waiting = async () =>
      (await metricsOf(stack.gateway)).get('stampgate_admission_waiting_calls{class="query"}');
    await until(async () => (await waiting()) >= 10, 'calls of the lighter caller wait');
    const heavy = await Promise.all(Array.from({ length: 10 }, () => outcomeOf(stack.callers[2], QUERY)));
    assert.equal(countOf(heavy, 'sent'), 10);
    const ends = await Promise.all(light);
    assert.equal(countOf(ends, 'sent') + countOf(ends, 'QUOTA_EXHAUSTED'), 40);
  });

  it('of one caller leave the other callers their places', async (t) => {
    const stack = await startWith(
      t,
      { rates: [{ requests: 20, per: '1s' }], max_wait: '30s' },
      { simulator: { rateLimits: [{ requests: 20, perMs: 1000 }] } },
    );
    // All calls are in the queue before the first second is over, or in the order of their arrival.
    const greedy = Array.from({ length: 60 }, () => outcomeOf(stack.callers[0], QUERY));
    const modest = Array.from({ length: 6 }, () => outcomeOf(stack.callers[2], QUERY));
    const order = [];
    await Promise.all([
      Promise.all(greedy).then(() => order.push('greedy')),
      Promise.all(modest).then(() => order.push('modest')),
    ]);
    assert.deepEqual(order, ['modest', 'greedy']);
    assert.equal(countOf(await Promise.all([...greedy, ...modest]), 'sent'), 66);
  });

  it('are sent as submits first', async (t) => {
    const stack = await startWith(t, { rates: [{ requests: 10, per: '1s' }], max_wait: '30s' });
    const queries = Array.from({ length: 20 }, () => outcomeOf(stack.callers[0], QUERY));
    const submits = Array.from({ length: 3 }, () => outcomeOf(stack.callers[1], SUBMIT));
    const order = [];
    await Promise.all([
      Promise.all(queries).then(() => order.push('queries')),
      Promise.all(submits).then(() => order.push('submits')),
    ]);
    assert.deepEqual(order, ['submits', 'queries']);
  });

  it('leave the queue when their caller leaves', async (t) => {
    const stack = await startWith(t, { rates: [{ requests: 1, per: '10s' }], max_wait: '30s' });
    await outcomeOf(stack.callers[0], QUERY);
    const calls = [];
    const waiting = stack.callers[0]
      .call(QUERY.method, QUERY.request, { deadlineMs: Infinity, onCall: (call) => calls.push(call) })
      .catch((error) => error);
    const waits = async () => (await metricsOf(stack.gateway)).get('stampgate_admission_waiting_calls{class="query"}');
    await until(async () => (await waits()) === 1, 'the call waits');
    calls[0].cancel();
    await waiting;
    await until(async () => (await waits()) === 0, 'the call has left');
    const metrics = await metricsOf(stack.gateway);
    assert.equal(metrics.get('stampgate_admission_refused_total{class="query",reason="left"}'), 1);
    assert.equal(stack.simulator.requests().length, 1);
  });

  it('reach an upstream with the same rate hardly ever, although many more calls are offered', async (t) => {
    const limits = [{ requests: 60, perMs: 1000 }];
    const stack = await startWith(t, { rates: [{ requests: 60, per: '1s' }] }, { simulator: { rateLimits: limits } });
    const outcomes = [];
    const end = Date.now() + 3000;
    while (Date.now() < end) {
      const batch = stack.callers.flatMap((caller) => Array.from({ length: 12 }, () => outcomeOf(caller, QUERY)));
      outcomes.push(...(await Promise.all(batch)));
    }
    assert.equal(
      countOf(outcomes, 'sent') + countOf(outcomes, 'QUOTA_EXHAUSTED') + countOf(outcomes, 'RATE_LIMIT_EXCEEDED'),
      outcomes.length,
    );
    const refused = stack.simulator.requests().filter(({ verdict }) => verdict.status === 429);
    // A slow machine delays requests differently, so a few of them can come too early.
    assert.ok(refused.length <= stack.simulator.requests().length / 10, `${refused.length} refused by upstream`);
    assert.ok(countOf(outcomes, 'QUOTA_EXHAUSTED') > 0);
  });
});

describe('refusals of upstream', { timeout }, () => {
  it('of one operation slow this operation alone', async (t) => {
    const rateLimits = [{ requests: 1, perMs: 1000, path: QUERY.path }];
    const rates = [{ requests: 60, per: '1s' }];
    const stack = await startWith(t, { rates, max_wait: '2s', retries: false }, { simulator: { rateLimits } });
    const limited = [];
    const others = [];
    for (let round = 0; round < 40; round += 1) {
      limited.push(outcomeOf(stack.callers[0], QUERY), outcomeOf(stack.callers[1], QUERY));
      const batch = Array.from({ length: 6 }, () => outcomeOf(stack.callers[2], OTHER_QUERY));
      others.push(...(await Promise.all(batch)));
    }
    assert.equal(countOf(others, 'sent'), others.length);
    const ends = await Promise.all(limited);
    assert.ok(countOf(ends, 'RATE_LIMIT_EXCEEDED') > 0);
    assert.ok(countOf(ends, 'QUOTA_EXHAUSTED') > countOf(ends, 'RATE_LIMIT_EXCEEDED'));
    // The gateway measures both once a second.
    let metrics;
    await until(async () => {
      metrics = await metricsOf(stack.gateway);
      return metrics.get('stampgate_upstream_slowed_operations') === 1;
    }, 'one operation is slowed');
    assert.ok(metrics.get('stampgate_upstream_rate') > 59, `${metrics.get('stampgate_upstream_rate')}`);
  });

  it('slow the gateway, also if its config has a higher rate', async (t) => {
    const limits = [{ requests: 1, perMs: 60_000 }];
    const stack = await startWith(
      t,
      { rates: [{ requests: 100, per: '1s' }], retries: false },
      { simulator: { rateLimits: limits } },
    );
    await outcomeOf(stack.callers[0], QUERY);
    assert.equal((await outcomeOf(stack.callers[0], QUERY)).reason, 'RATE_LIMIT_EXCEEDED');
    // Upstream has asked for a pause.
    const paused = await outcomeOf(stack.callers[0], QUERY);
    assert.equal(paused.reason, 'QUOTA_EXHAUSTED');
    assert.ok(paused.retryMs > 1000, `${paused.retryMs}`);
    assert.equal(stack.simulator.requests().length, 2);
  });
});
