// A gateway with an event log drains: subscribers get the cursor from which to resume, deliveries are repeated to the
// next gateway, and the log's file is complete.
import assert from 'node:assert/strict';
import { existsSync, statSync } from 'node:fs';
import { describe, it } from 'node:test';
import { ORGANIZATION, identifier } from '../simulator/testing.mjs';
import { deliver, startEventStack } from './event_stack.mjs';
import { HANG_MS } from './harness.mjs';
import { EARLIEST, LATEST, Subscriber, idsOf, listAll } from './subscriber.mjs';

const GET_POLICY = { organization_id: ORGANIZATION, policy_id: identifier(6) };

/** Fails unless the log's file contains the whole log. */
function checkCheckpointed(file) {
  assert.ok(statSync(file).size > 0);
  const companion = `${file}-wal`;
  assert.ok(!existsSync(companion) || statSync(companion).size === 0, 'the write-ahead log is not empty');
}

async function isToldWhereToGoOn(subscriber) {
  const { code, domain, reason, metadata, retryMs } = await subscriber.failure();
  assert.deepEqual([code, domain, reason], ['UNAVAILABLE', 'stampgate', 'SHUTTING_DOWN']);
  assert.deepEqual(Object.keys(metadata), ['cursor']);
  assert.ok(retryMs >= 100 && retryMs <= 3000, `${retryMs} ms`);
  return { cursor: metadata.cursor, left: idsOf(subscriber.left()) };
}

/** Resolves when the gateway has answered an attempt with this status. */
async function answered({ webhooks }, status) {
  while (!webhooks.stats().answers[status]) {
    assert.ok(await webhooks.waitFor({ attempts: webhooks.stats().attempts + 1, timeoutMs: HANG_MS }));
  }
}

describe('a gateway that drains', { timeout: HANG_MS }, () => {
  it('finishes calls, sends subscribers their cursors, answers deliveries with 503, and loses nothing', async (t) => {
    const stack = await startEventStack(t);
    const { simulator, gateway } = stack;
    simulator.webhooks.change({ retryMs: 5, maxRetryMs: 20 });
    const ids = [];
    for (let i = 0; i < 5; i += 1) ids.push((await deliver(simulator)).eventId);
    const { events } = await gateway.call('EventService/ListEvents', { ...EARLIEST, page_size: 2 });

    const starts = [LATEST, EARLIEST, { cursor: events[1].cursor }, { ...LATEST, filter: { types: ['none'] } }];
    const subscribers = await Promise.all(starts.map((start) => Subscriber.start(gateway, start)));
    simulator.addFaults([{ kind: 'slow', untilReleased: true }]);
    const held = gateway.call('PolicyService/GetPolicy', GET_POLICY);
    await simulator.waitFor({ held: 1 });

    gateway.child.kill('SIGTERM');
    const told = await Promise.all(subscribers.map(isToldWhereToGoOn));
    const late = simulator.webhooks.send();
    await answered(simulator, 503);
    simulator.release();
    assert.equal((await held).policy.policy_id, identifier(6));
    assert.deepEqual(await gateway.exited, { status: 0, signal: null });
    checkCheckpointed(stack.file);

    await stack.start();
    const [record] = await late.done;
    assert.equal(record.state, 'acknowledged');
    const statuses = record.attempts.map(({ status, error }) => status ?? error);
    assert.equal(statuses.pop(), 200);
    assert.deepEqual(
      statuses.filter((status) => Number.isInteger(status) && status !== 503),
      [],
    );
    ids.push(late.eventId);
    assert.deepEqual(idsOf(await listAll(stack.gateway)), ids);

    const wanted = [ids.slice(5), ids, ids.slice(2), ids.slice(5)];
    for (const [index, { cursor, left }] of told.entries()) {
      const resumed = await Subscriber.start(stack.gateway, { cursor });
      const rest = await resumed.events(wanted[index].length - left.length);
      assert.deepEqual([...left, ...idsOf(rest)], wanted[index]);
      await resumed.leave();
    }
  });

  it('sends a subscriber in the middle of the log the cursor of its last event', async (t) => {
    const stack = await startEventStack(t);
    const ids = [];
    const body = JSON.stringify({ padding: 'x'.repeat(200_000) });
    for (let i = 0; i < 40; i += 1) ids.push((await deliver(stack.simulator, { body })).eventId);
    const subscriber = await Subscriber.start(stack.gateway, EARLIEST);
    stack.gateway.child.kill('SIGTERM');
    const { cursor, left } = await isToldWhereToGoOn(subscriber);
    assert.deepEqual(left, ids.slice(0, left.length));
    await stack.gateway.exited;
    await stack.start();
    assert.deepEqual(idsOf(await listAll(stack.gateway, { cursor })), ids.slice(left.length));
  });

  it('waits at most for calls.drain_grace for a subscriber that does not read', async (t) => {
    const stack = await startEventStack(t, { config: { calls: { drain_grace: '2s' } } });
    const body = JSON.stringify({ padding: 'x'.repeat(1_000_000) });
    for (let i = 0; i < 20; i += 1) await deliver(stack.simulator, { body });
    await Subscriber.start(stack.gateway, EARLIEST);
    stack.gateway.child.kill('SIGTERM');
    assert.deepEqual(await stack.gateway.exited, { status: 0, signal: null });
    checkCheckpointed(stack.file);
  });

  it('under load keeps every event that it acknowledged', async (t) => {
    const stack = await startEventStack(t);
    const { webhooks } = stack.simulator;
    webhooks.change({ retryMs: 5, maxRetryMs: 20 });
    const subscriber = await Subscriber.start(stack.gateway);
    const load = webhooks.sendMany({ count: 500, concurrency: 8 });
    await load.waitFor({ acknowledged: 100, timeoutMs: HANG_MS });
    stack.gateway.child.kill('SIGTERM');
    const { cursor, left } = await isToldWhereToGoOn(subscriber);
    assert.deepEqual(await stack.gateway.exited, { status: 0, signal: null });
    checkCheckpointed(stack.file);
    const before = [...load.acknowledged.keys()];
    await stack.start();
    const listed = idsOf(await listAll(stack.gateway));
    for (const id of before) assert.ok(listed.includes(id), id);
    assert.deepEqual((await load.done).refused, {});
    const whole = idsOf(await listAll(stack.gateway));
    assert.equal(whole.length, 500);
    assert.deepEqual(left, whole.slice(0, left.length));
    assert.deepEqual(idsOf(await listAll(stack.gateway, { cursor })), whole.slice(left.length));
  });
});

describe('a subscription that arrives while the gateway drains', { timeout: HANG_MS }, () => {
  it('gets its cursor back; a text that is no cursor is not returned', async (t) => {
    const stack = await startEventStack(t);
    const { simulator, gateway } = stack;
    const { cursor } = await deliver(simulator).then(() => gateway.call('EventService/ListEvents', EARLIEST));
    simulator.addFaults([{ kind: 'slow', untilReleased: true }]);
    const held = gateway.call('PolicyService/GetPolicy', GET_POLICY);
    await simulator.waitFor({ held: 1 });
    const before = await Subscriber.start(gateway);
    gateway.child.kill('SIGTERM');
    await isToldWhereToGoOn(before); // the drain has now begun
    assert.equal((await isToldWhereToGoOn(new Subscriber(gateway, { cursor }))).cursor, cursor);
    for (const start of [LATEST, { cursor: `${cursor}x` }, { cursor: 'x'.repeat(5000) }, {}]) {
      const { reason, metadata, retryMs } = await new Subscriber(gateway, start).failure();
      assert.deepEqual([reason, metadata], ['SHUTTING_DOWN', {}]);
      assert.ok(retryMs >= 100 && retryMs <= 3000, `${retryMs} ms`);
    }
    simulator.release();
    await held;
    assert.deepEqual(await gateway.exited, { status: 0, signal: null });
  });
});

describe('a gateway with a log', { timeout: HANG_MS }, () => {
  it('serves its events also if the config has no webhook port anymore', async (t) => {
    const stack = await startEventStack(t);
    const { eventId } = await deliver(stack.simulator);
    delete stack.config.webhooks;
    await stack.restart();
    assert.equal(stack.gateway.webhookUrl, undefined);
    assert.deepEqual(idsOf(await listAll(stack.gateway)), [eventId]);
    const subscriber = await Subscriber.start(stack.gateway, EARLIEST);
    assert.deepEqual(idsOf(await subscriber.events(1)), [eventId]);
    await subscriber.leave();
  });
});
