// A disk that does not respond: probes report it, calls that do not need the disk succeed, and the process can still
// end.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Machine } from '../machine/machine.mjs';
import { identifier } from '../simulator/testing.mjs';
import { ADMIN, ask, metricsOf, statusOf } from './admin_port.mjs';
import { deliver, prepareEventStack } from './event_stack.mjs';
import { QUERY, SUBMIT, deadline, failureOf } from './failures.mjs';
import { HANG_MS, auditConfig, scratch } from './harness.mjs';
import { logLines, logged, recordsOf } from './log_lines.mjs';
import { until } from './processes.mjs';
import { idsOf, listAll } from './subscriber.mjs';

const REASON = "the event log's disk does not answer: webhook deliveries are refused\n";
const WRITE_SECONDS = 'stampgate_event_log_write_seconds';

/** Starts a gateway. Between hang() and goOn(), syncs of files whose path contains `match` hang. */
async function startWithHangingDisk(t, match, { folder = scratch(t), config } = {}) {
  const machine = new Machine(scratch(t), folder);
  const stack = await prepareEventStack(t, {
    folder,
    config: { admin: ADMIN, calls: { drain_grace: '2s' }, ...config },
    env: machine.env,
  });
  const hang = () => machine.hang({ match });
  const goOn = () => machine.release();
  t.after(goOn);
  await stack.start();
  return { stack, hang, goOn };
}

const pageOf = async ({ adminUrl }, path) => {
  const { status, body } = await ask(adminUrl, path);
  return [status, body];
};

const hangs = ({ adminUrl }) =>
  until(async () => (await statusOf(adminUrl, '/readyz/webhooks')) === 503, 'the webhook port is not ready');

describe("an event log's disk that hangs", { timeout: 2 * HANG_MS }, () => {
  test('is reported by the readiness of the webhook port and by a metric, until the disk responds again', async (t) => {
    const { stack, hang, goOn } = await startWithHangingDisk(t, 'events.db');
    const { simulator, gateway } = stack;
    simulator.webhooks.change({ maxAttempts: 1 });
    const ids = [(await deliver(simulator)).eventId];
    assert.deepEqual(await pageOf(gateway, '/readyz/webhooks'), [200, 'ready\n']);
    hang();
    const waiting = deliver(simulator);
    await hangs(gateway);
    assert.deepEqual(await pageOf(gateway, '/readyz/webhooks'), [503, REASON]);
    // Calls need no event log.
    assert.deepEqual(await pageOf(gateway, '/readyz'), [200, `ready\n${REASON}`]);
    assert.equal((await gateway.call(QUERY.method, QUERY.request)).policy.policy_id, identifier(6));
    assert.ok((await metricsOf(gateway)).get(WRITE_SECONDS) > 5);
    assert.equal((await deliver(simulator)).status, 503);
    assert.deepEqual(idsOf(await listAll(gateway)), ids);
    goOn();
    const { status, eventId } = await waiting;
    assert.equal(status, 200);
    await until(async () => (await statusOf(gateway.adminUrl, '/readyz/webhooks')) === 200, 'the port is ready again');
    assert.deepEqual(await pageOf(gateway, '/readyz'), [200, 'ready\n']);
    assert.equal((await metricsOf(gateway)).get(WRITE_SECONDS), 0);
    const { status: again, eventId: last } = await deliver(simulator);
    assert.equal(again, 200);
    assert.deepEqual(idsOf(await listAll(gateway)), [...ids, eventId, last]);
    await gateway.stop();
    assert.equal(logged(gateway, 'event_log_hangs').length, 1);
    assert.equal(logged(gateway, 'event_log_works_again').length, 1);
    await stack.start();
  });

  test('does not prevent the process from ending, and all acknowledged events are stored', async (t) => {
    const { stack, hang, goOn } = await startWithHangingDisk(t, 'events.db');
    const { simulator, gateway } = stack;
    simulator.webhooks.change({ retryMs: 50, maxRetryMs: 200, maxAttempts: 1000 });
    const { eventId } = await deliver(simulator);
    hang();
    const waiting = deliver(simulator);
    await until(async () => (await metricsOf(gateway)).get(WRITE_SECONDS) > 0, 'a write is under way');
    gateway.child.kill('SIGTERM');
    assert.deepEqual(await gateway.exited, { status: 1, signal: null }, gateway.output);
    const lines = logged(gateway, 'not_ended_in_time').map(({ waited_for }) => waited_for);
    assert.deepEqual(lines, ['the store']);
    goOn();
    await stack.start();
    const { status, eventId: last } = await waiting;
    assert.equal(status, 200);
    assert.deepEqual(idsOf(await listAll(stack.gateway)), [eventId, last]);
  });
});

describe("an audit log's disk that hangs", { timeout: 2 * HANG_MS }, () => {
  test('is reported, and calls end with its reason instead of at their deadlines, until it responds again', async (t) => {
    const folder = scratch(t);
    const audit = await auditConfig(folder);
    const { stack, hang, goOn } = await startWithHangingDisk(t, 'audit.log', { folder, config: { audit } });
    const { simulator, gateway } = stack;
    const { eventId } = await deliver(simulator);
    await gateway.call(QUERY.method, QUERY.request);
    const queries = () => simulator.requests().filter(({ path }) => path === QUERY.path).length;
    assert.equal(queries(), 1);
    hang();
    // The first call waits for the disk until the gateway knows that it hangs. The second one does not wait.
    for (let i = 0; i < 2; ++i) {
      const failure = await failureOf(gateway, QUERY, deadline(HANG_MS));
      assert.deepEqual([failure.code, failure.reason], ['UNAVAILABLE', 'AUDIT_UNAVAILABLE']);
      assert.ok(failure.retryMs > 0);
    }
    assert.equal(queries(), 1);
    assert.deepEqual(await pageOf(gateway, '/readyz'), [
      503,
      "the audit log's disk does not answer: calls are refused\n",
    ]);
    assert.deepEqual(await pageOf(gateway, '/readyz/webhooks'), [200, 'ready\n']);
    assert.ok((await metricsOf(gateway)).get('stampgate_audit_write_seconds') > 5);
    const [{ message }] = await logLines(gateway, 1, 'audit_hangs');
    assert.match(message, /^the disk of the audit log has not answered for \d+ seconds$/);
    // Reads of events stamp nothing, so they do not need the audit log.
    assert.deepEqual(idsOf(await listAll(gateway)), [eventId]);
    goOn();
    await until(async () => (await statusOf(gateway.adminUrl, '/readyz')) === 200, 'the gateway is ready again');
    await gateway.call(QUERY.method, QUERY.request);
    // The gateway measures once a second, and can do so in the middle of a short write.
    await until(
      async () => (await metricsOf(gateway)).get('stampgate_audit_write_seconds') === 0,
      'the log waits no more',
    );
    await gateway.stop();
    assert.deepEqual([logged(gateway, 'audit_hangs').length, logged(gateway, 'audit_works_again').length], [1, 1]);
    // The call that ended while its record was being written has sent nothing, and the audit log says so.
    const outcomes = recordsOf(audit.file).filter(({ kind }) => kind === 'outcome');
    assert.equal(outcomes.filter(({ reason }) => reason === 'AUDIT_UNAVAILABLE').length, 1, JSON.stringify(outcomes));
    await stack.start();
  });

  for (const [title, begin] of [
    ['an idle process', () => null],
    ['a process with a call that waits for it', ({ gateway }) => failureOf(gateway, QUERY)],
  ]) {
    test(`does not prevent ${title} from ending`, async (t) => {
      const folder = scratch(t);
      const audit = await auditConfig(folder);
      const { stack, hang, goOn } = await startWithHangingDisk(t, 'audit.log', { folder, config: { audit } });
      const { gateway } = stack;
      await gateway.call(QUERY.method, QUERY.request);
      hang();
      const failure = begin(stack);
      if (failure)
        await until(async () => (await metricsOf(gateway)).get('stampgate_calls_in_flight') === 1, 'it waits');
      gateway.child.kill('SIGTERM');
      if (failure) assert.equal((await failure).reason, 'AUDIT_UNAVAILABLE');
      assert.deepEqual(await gateway.exited, { status: 1, signal: null }, gateway.output);
      const lines = logged(gateway, 'not_ended_in_time').map(({ waited_for }) => waited_for);
      assert.deepEqual(lines, ['the audit log']);
      goOn();
      await stack.start();
      await stack.gateway.call(QUERY.method, QUERY.request);
    });
  }
});

test(
  "a call store's disk that hangs is reported, and ends only submits with a key",
  { timeout: 2 * HANG_MS },
  async (t) => {
    const { stack, hang, goOn } = await startWithHangingDisk(t, 'calls.db');
    const { simulator, gateway } = stack;
    const keyed = { ...SUBMIT, request: { ...SUBMIT.request, idempotency_key: 'k' } };
    const submits = () => simulator.requests().filter(({ path }) => path === SUBMIT.path).length;
    hang();
    for (let i = 0; i < 2; ++i) {
      const failure = await failureOf(gateway, keyed, deadline(HANG_MS));
      assert.deepEqual([failure.code, failure.reason], ['UNAVAILABLE', 'IDEMPOTENCY_UNAVAILABLE']);
      assert.ok(failure.retryMs > 0);
    }
    assert.equal(submits(), 0);
    const text = 'ready\nthe store of idempotency keys does not answer: submits with an idempotency key are refused\n';
    assert.deepEqual(await pageOf(gateway, '/readyz'), [200, text]);
    assert.ok((await metricsOf(gateway)).get('stampgate_call_store_write_seconds') > 5);
    const [{ message }] = await logLines(gateway, 1, 'call_store_hangs');
    assert.match(message, /^the disk or the server of the call store has not answered for \d+ seconds$/);
    await gateway.call(QUERY.method, QUERY.request);
    goOn();
    await until(async () => (await pageOf(gateway, '/readyz'))[1] === 'ready\n', 'the store works again');
    // The attempts that ended have sent nothing, so this one may.
    assert.ok((await gateway.call(keyed.method, keyed.request)).activity);
    assert.equal(submits(), 1);
  },
);

test('a disk of the quotas that hangs is reported', { timeout: 2 * HANG_MS }, async (t) => {
  // Each call needs a call of the quota from the store.
  const rates = [{ requests: 400, per: '24h' }];
  const { stack, hang, goOn } = await startWithHangingDisk(t, 'quotas.db', { config: { admission: { rates } } });
  const { gateway } = stack;
  const failing = async () => (await metricsOf(gateway)).get('stampgate_quotas_failing');
  await until(async () => (await failing()) === 0, 'the quotas are counted');
  hang();
  await until(async () => {
    await gateway.call(QUERY.method, QUERY.request).catch(() => {});
    return (await failing()) === 1;
  }, 'the quotas fail');
  assert.equal((await logLines(gateway, 1, 'quota_store_hangs')).length, 1);
  goOn();
  await until(async () => (await failing()) === 0, 'the quotas are counted again');
});

test("if the call store's disk hangs, a submit with a key still gets a response", { timeout: HANG_MS }, async (t) => {
  const { stack, hang, goOn } = await startWithHangingDisk(t, 'calls.db');
  const { simulator, gateway } = stack;
  const keyed = { ...SUBMIT, request: { ...SUBMIT.request, idempotency_key: 'k' } };
  const submits = () => simulator.requests().filter(({ path }) => path === SUBMIT.path).length;
  hang();
  const failure = failureOf(gateway, keyed);
  await until(async () => (await metricsOf(gateway)).get('stampgate_calls_in_flight') === 1, 'it waits');
  gateway.child.kill('SIGTERM');
  assert.equal((await failure).reason, 'IDEMPOTENCY_UNAVAILABLE');
  assert.deepEqual(await gateway.exited, { status: 1, signal: null }, gateway.output);
  assert.equal(submits(), 0);
  goOn();
  await stack.start();
  assert.ok((await stack.gateway.call(keyed.method, keyed.request)).activity);
});
