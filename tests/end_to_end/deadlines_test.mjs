// Tests deadlines and cancellations: the error that the caller gets, and what happens to the request at upstream.
//
// Most calls here send their deadline as the header grpc-timeout, and the client has no timer of its own. So the client
// reads the gateway's response also on a slow machine. Separate tests below use clients with a timer.
import assert from 'node:assert/strict';
import { after, beforeEach, describe, it } from 'node:test';
import { code } from '../clients/gateway.mjs';
import { callFromCpp } from './cpp_client.mjs';
import { NO_CONNECTION, QUERY, SUBMIT, deadline, described, failureOf, outcomeUnknown, start } from './failures.mjs';
import { HANG_MS, startStack } from './harness.mjs';
import { logged } from './log_lines.mjs';
import { until } from './processes.mjs';

const { simulator, gateway } = await startStack({ after });
beforeEach(() => simulator.reset());

const NO_DEADLINE = { deadlineMs: Infinity };

/** A deadline at which it does not matter whether the gateway has sent the request. */
const SHORT_MS = 300;
/** A deadline by which the gateway has sent the request: a hundred times the usual time. */
const LONG_MS = 1000;

/** A fault with which upstream holds the request until the test releases it. */
const HELD = { kind: 'slow', untilReleased: true };

const TIMEOUT = {
  code: 'DEADLINE_EXCEEDED',
  domain: 'stampgate',
  reason: 'UPSTREAM_TIMEOUT',
  message: 'the call timed out before upstream responded',
  metadata: {},
};

/** Resolves to the first line of this event in the gateway's log that has these fields, as soon as the log has one. */
async function lineOf(from, event, fields) {
  const fits = (line) => Object.entries(fields).every(([name, value]) => line[name] === value);
  await until(() => logged(from, event).some(fits), `a line about ${event}`);
  return logged(from, event).find(fits);
}

describe('a deadline that passes before upstream responds', { timeout: HANG_MS }, () => {
  for (const part of ['all', 'body']) {
    const when = part === 'all' ? 'before the response began' : 'in the middle of the response';

    it(`of a query, ${when}: the gateway ends the request to upstream`, async () => {
      simulator.addFaults([{ ...HELD, part }]);
      const ended = failureOf(gateway, QUERY, deadline(LONG_MS));
      await simulator.waitFor({ requests: 1, held: 1 });
      assert.deepEqual(await ended, TIMEOUT);
      assert.equal((await simulator.waitFor({ held: 0 })).requests, 1);
    });

    it(`of a submit, ${when}: the request to upstream continues, and a repetition gets its activity`, async () => {
      simulator.addFaults([{ ...HELD, part }]);
      const failure = await failureOf(gateway, SUBMIT, deadline(LONG_MS));
      const { timestamp_ms, fingerprint } = outcomeUnknown(failure, 'DEADLINE_EXCEEDED');

      assert.equal(simulator.release(), 1);
      const { method, http_status } = await lineOf(gateway, 'late_outcome', { fingerprint });
      assert.deepEqual([method, http_status], [`/stampgate.v1.${SUBMIT.method}`, 200]);

      const { activity } = await gateway.call(SUBMIT.method, { ...SUBMIT.request, timestamp_ms });
      assert.deepEqual([activity.fingerprint, activity.status], [fingerprint, 'ACTIVITY_STATUS_COMPLETED']);
      assert.equal(simulator.service.state.activitiesById.size, 1);
    });
  }

  it('of a submit that upstream never answers: the gateway logs its end, and repeats nothing', async (t) => {
    const stack = await startStack(t, { upstream: { exchange_timeout: '1500ms' } });
    stack.simulator.addFaults([HELD]);
    const failure = await failureOf(stack.gateway, SUBMIT, deadline(LONG_MS));
    const { fingerprint } = outcomeUnknown(failure, 'DEADLINE_EXCEEDED');
    const late = await lineOf(stack.gateway, 'late_outcome', { fingerprint });
    assert.ok(late.failure);
    assert.equal((await stack.simulator.waitFor({ held: 0 })).requests, 1);
  });

  for (const sample of [SUBMIT, QUERY]) {
    it(`of a ${sample.kind} that waits for a connection: nothing was sent, so the caller may repeat the call`, async (t) => {
      const stack = await startStack(t, { upstream: { max_connections: 1 } });
      stack.simulator.addFaults([HELD]);
      const first = start(stack.gateway, sample);
      await stack.simulator.waitFor({ held: 1 });
      assert.deepEqual(await failureOf(stack.gateway, sample, deadline(LONG_MS)), NO_CONNECTION);
      stack.simulator.release();
      assert.ok(!((await first.ended) instanceof Error));
      await stack.gateway.call(sample.method, sample.request);
      assert.equal(stack.simulator.stats().requests, 2);
    });
  }
});

describe('the config limits deadlines', { timeout: HANG_MS }, () => {
  const bounds = [
    ['a call without a deadline gets the default', { default_deadline: '1s' }, NO_DEADLINE],
    [
      'a deadline that is too long is shortened',
      { default_deadline: '1s', max_deadline: '1s' },
      { deadlineMs: 20_000 },
    ],
  ];
  for (const [name, calls, options] of bounds) {
    it(name, async (t) => {
      const stack = await startStack(t, { config: { calls } });
      stack.simulator.addFaults([{ ...HELD, times: 2 }]);
      assert.deepEqual(await failureOf(stack.gateway, QUERY, options), TIMEOUT);
      outcomeUnknown(await failureOf(stack.gateway, SUBMIT, options), 'DEADLINE_EXCEEDED');
      stack.simulator.release();
    });
  }

  it('a deadline that is longer than the default is kept', async (t) => {
    const stack = await startStack(t, { config: { calls: { default_deadline: '300ms' } } });
    stack.simulator.addFaults([{ ...HELD, times: 2 }]);
    const answer = stack.gateway.call(QUERY.method, QUERY.request);
    await stack.simulator.waitFor({ held: 1 });
    assert.deepEqual(await failureOf(stack.gateway, QUERY, NO_DEADLINE), TIMEOUT);
    stack.simulator.release();
    assert.ok((await answer).policy);
  });
});

describe('a deadline that leaves no time for upstream', { timeout: HANG_MS }, () => {
  for (const milliseconds of [40, 59]) {
    it(`because it is ${milliseconds} ms ahead ends the call with an error, and nothing is sent`, async () => {
      for (const sample of [SUBMIT, QUERY]) {
        assert.deepEqual(await failureOf(gateway, sample, deadline(milliseconds)), {
          code: 'DEADLINE_EXCEEDED',
          domain: 'stampgate',
          reason: 'DEADLINE_TOO_SHORT',
          message: 'the deadline leaves no time for a call upstream: it must be more than 60 ms ahead',
          metadata: {},
        });
      }
      assert.equal(simulator.stats().requests, 0);
    });
  }

  it('because it has already passed ends the call, and nothing is sent', async () => {
    for (const { method, request } of [SUBMIT, QUERY]) {
      for (const milliseconds of [0, 1]) {
        // gRPC itself may end such a call before the gateway does.
        const error = await gateway.refusal(method, request, deadline(milliseconds));
        assert.ok([code.DEADLINE_EXCEEDED, code.CANCELLED].includes(error.code), error.message);
      }
    }
    await gateway.call(QUERY.method, QUERY.request);
    assert.equal(simulator.stats().requests, 1);
  });
});

describe("the gateway's response arrives before the client's own deadline", { timeout: HANG_MS }, () => {
  // The gateway responds 50 ms before the deadline, which is usually much more than the response needs. On a busy
  // machine the client's own timer can still end the call first, without details, so the test tries each call several
  // times.
  const TRIES = 5;

  it('in Node', async () => {
    simulator.addFaults([{ ...HELD, times: 'always' }]);
    for (let i = 1; ; ++i) {
      const error = await gateway.refusal(SUBMIT.method, SUBMIT.request, { deadlineMs: LONG_MS });
      assert.equal(error.code, code.DEADLINE_EXCEEDED);
      if (!error.statusBytes && i < TRIES) continue;
      outcomeUnknown(described(error), 'DEADLINE_EXCEEDED');
      break;
    }
    simulator.release();
  });

  // gRPC's C core rounds a deadline of 10 s or more up to the next 100 ms before sending the deadline. In this test,
  // the C core sends 10.1 s, which ends 70 ms after the client's own timer ends the call.
  it('in C++, although its library adds time to the deadline', async () => {
    simulator.addFaults([{ ...HELD, times: 'always' }]);
    const responds = async (deadlineMs) => {
      for (let i = 1; ; ++i) {
        const { status, details } = await callFromCpp(gateway, SUBMIT.method, SUBMIT.request, { deadlineMs });
        assert.equal(status.code, code.DEADLINE_EXCEEDED);
        if (details.length === 0 && i < TRIES) continue;
        assert.deepEqual(
          details.map(({ reason }) => reason),
          ['OUTCOME_UNKNOWN'],
        );
        assert.deepEqual(Object.keys(details[0].metadata).sort(), ['fingerprint', 'timestamp_ms']);
        break;
      }
    };
    await Promise.all([2000, 10_030].map(responds));
    simulator.release();
  });
});

describe('a caller that cancels', { timeout: HANG_MS }, () => {
  /**
   * Resolves when the gateway has handled a cancellation. The gateway does not report this event. Therefore the test
   * sends a query on the same channel and waits until this query has timed out: by then, the gateway has handled the
   * earlier cancellation.
   */
  async function cancellationHandled(from) {
    const { reason } = await failureOf(from, QUERY, deadline(SHORT_MS));
    assert.ok(['UPSTREAM_TIMEOUT', 'UPSTREAM_BUSY'].includes(reason), reason);
  }

  for (const part of ['all', 'body']) {
    it(`ends the request of a query to upstream (${part})`, async () => {
      simulator.addFaults([{ ...HELD, part }]);
      const call = start(gateway, QUERY);
      await simulator.waitFor({ held: 1 });
      call.cancel();
      assert.equal((await call.ended).code, code.CANCELLED);
      assert.equal((await simulator.waitFor({ held: 0 })).requests, 1);
    });

    it(`does not end a submit that was sent upstream (${part})`, async () => {
      simulator.addFaults([{ ...HELD, part, match: { path: SUBMIT.path } }]);
      const call = start(gateway, SUBMIT);
      await simulator.waitFor({ held: 1 });
      call.cancel();
      assert.equal((await call.ended).code, code.CANCELLED);
      simulator.addFaults([{ ...HELD, match: { path: QUERY.path } }]);
      await cancellationHandled(gateway);
      await simulator.waitFor({ held: 1 });
      assert.equal(simulator.release(), 1);
      const [{ fingerprint }] = simulator.service.state.activitiesById.values();
      assert.equal((await lineOf(gateway, 'late_outcome', { fingerprint })).http_status, 200);
    });
  }

  it('while the call waits for a connection causes no request to upstream', async (t) => {
    const stack = await startStack(t, { upstream: { max_connections: 1 } });
    stack.simulator.addFaults([{ ...HELD, times: 2 }]);
    const first = [SUBMIT, QUERY].map((sample) => start(stack.gateway, sample));
    await stack.simulator.waitFor({ held: 2 });
    const waiting = [SUBMIT, QUERY, SUBMIT].map((sample) => start(stack.gateway, sample));
    // This call needs no connection, and the gateway handles it after the earlier messages on the same channel.
    await stack.gateway.refusal(QUERY.method, {});
    for (const call of waiting) call.cancel();
    for (const call of waiting) assert.equal((await call.ended).code, code.CANCELLED);
    await cancellationHandled(stack.gateway);
    stack.simulator.release();
    for (const call of first) assert.ok(!((await call.ended) instanceof Error));
    await stack.gateway.call(QUERY.method, QUERY.request);
    const paths = stack.simulator.requests().map(({ path }) => path);
    assert.deepEqual(paths.sort(), [QUERY.path, QUERY.path, SUBMIT.path]);
  });

  it('at any moment does not affect other calls', async (t) => {
    const stack = await startStack(t);
    const calls = Array.from({ length: 100 }, async (_, i) => {
      const renamed = { ...SUBMIT.request, parameters: { organization_name: `Renamed ${i}` } };
      const call = start(stack.gateway, i % 2 === 0 ? { ...SUBMIT, request: renamed } : QUERY);
      for (let turns = 0; turns < i; ++turns) await new Promise((resolve) => setImmediate(resolve));
      call.cancel();
      const ended = await call.ended;
      assert.ok(ended.activity || ended.policy || ended.code === code.CANCELLED, ended.message);
    });
    await Promise.all(calls);
    const submits = stack.simulator.requests().filter(({ path }) => path === SUBMIT.path);
    assert.equal(new Set(submits.map(({ body }) => body)).size, submits.length);
    for (const { method, request } of [SUBMIT, QUERY]) await stack.gateway.call(method, request);
    assert.deepEqual(await stack.gateway.stop(), { status: 0, signal: null });
  });
});
