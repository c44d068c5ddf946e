// Tests shared subscriptions through the gateway: how consumers divide events, settle them, and what a restart keeps.
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { subOrganization } from '../simulator/testing.mjs';
import { Consumer, stateOf, subscriptionConfig } from './consumer.mjs';
import { deliver, startEventStack } from './event_stack.mjs';
import { HANG_MS } from './harness.mjs';
import { until } from './processes.mjs';

const idsOf = (deliveries) => deliveries.map(({ event }) => event.event_id);

/** Starts a simulator and a gateway with a subscription. */
const start = (t, settings = {}) =>
  startEventStack(t, {
    config: subscriptionConfig(settings),
  });

/** Ends a consumer. Resolves when the gateway has given back what it held: until then, it could still get events. */
async function leave(consumer) {
  await consumer.leave();
  await until(async () => !(await stateOf(consumer.gateway)).consumers, 'the gateway has no consumer');
}

/** Sends events of these organizations, numbered from 0. Resolves to their ids. */
async function send({ simulator }, organizations) {
  const ids = [];
  for (const number of organizations) {
    ids.push((await deliver(simulator, { organizationId: subOrganization(number) })).eventId);
  }
  return ids;
}

describe('a consumer', { timeout: HANG_MS }, async () => {
  const stack = await start({ after });

  it('receives the events in order, and never again after it has settled them', async () => {
    const ids = await send(stack, [0, 0, 1, 0]);
    const consumer = await Consumer.start(stack.gateway);
    assert.deepEqual(consumer.first, { deliveries: [], superseded_tokens: [], settle_within_ms: 30_000 });
    const deliveries = await consumer.deliveries(4);
    assert.deepEqual(idsOf(deliveries).sort(), [...ids].sort());
    for (const delivery of deliveries) {
      assert.equal(delivery.reason, 'DELIVERY_REASON_FIRST');
      assert.equal(delivery.delivery_count, 1);
    }
    assert.deepEqual(await consumer.settle(deliveries), []);
    assert.deepEqual(await consumer.settle(deliveries), [], 'settling twice is harmless');
    await leave(consumer);
    const { events_behind, unsettled, parked } = await stateOf(stack.gateway);
    assert.deepEqual(
      [events_behind, unsettled, parked].map((number) => Number(number ?? 0)),
      [0, 0, 0],
    );
  });

  it('gives its events back when it cancels its stream, and its tokens are superseded', async () => {
    const ids = await send(stack, [2, 2]);
    const first = await Consumer.start(stack.gateway);
    const held = await first.deliveries(2);
    const second = await Consumer.start(stack.gateway);
    await first.leave();
    const [again] = await second.deliveries(1);
    assert.equal(again.event.event_id, ids[0]);
    assert.equal(again.reason, 'DELIVERY_REASON_CONSUMER_LEFT');
    assert.equal(again.delivery_count, 2);
    const tokens = held.map(({ token }) => token);
    assert.deepEqual(await second.settle(held), tokens);
    assert.deepEqual(await second.settle([again]), []);
    const [next] = await second.deliveries(1);
    assert.equal(next.event.event_id, ids[1], 'an event that is delivered again is delivered alone');
    assert.deepEqual(await second.settle([next]), []);
    await leave(second);
  });

  it('can ask for a retry, and park an event', async () => {
    const [first, second] = await send(stack, [3, 3]);
    const consumer = await Consumer.start(stack.gateway);
    const [held] = await consumer.deliveries(2);
    await consumer.settle([held], 'RETRY');
    const [again] = await consumer.deliveries(1);
    assert.equal(again.event.event_id, first);
    assert.equal(again.reason, 'DELIVERY_REASON_RETRY');
    await consumer.settle([again], 'PARK', { park_reason: 'no such account' });
    const [next] = await consumer.deliveries(1);
    assert.equal(next.event.event_id, second);
    await consumer.settle([next]);
    const { parked_events } = await stack.gateway.call('SubscriptionService/ListParked', { subscription: 'payouts' });
    assert.equal(parked_events[0].event.event_id, first);
    assert.equal(parked_events[0].reason, 'no such account');
    const cursors = [parked_events[0].event.cursor];
    await stack.gateway.call('SubscriptionService/RetryParked', { subscription: 'payouts', cursors });
    const [retried] = await consumer.deliveries(1);
    assert.equal(retried.event.event_id, first);
    assert.equal(retried.retried_after_parking, true);
    await consumer.settle([retried]);
    await leave(consumer);
  });
});

describe('consumers', { timeout: HANG_MS }, async () => {
  const stack = await start({ after });

  it('divide the events: those of one organization go to one of them at a time', async () => {
    const consumers = [await Consumer.start(stack.gateway), await Consumer.start(stack.gateway)];
    const organizations = Array.from({ length: 40 }, (_, i) => i % 8);
    const ids = await send(stack, organizations);
    const seen = [];
    const handle = async (consumer, name) => {
      while (seen.length < ids.length) {
        const { deliveries } = await consumer.message();
        for (const { event } of deliveries) seen.push({ name, id: event.event_id });
        if (deliveries.length > 0) await consumer.settle(deliveries);
      }
    };
    const work = consumers.map((consumer, name) => handle(consumer, name).catch(() => {}));
    await until(() => seen.length === ids.length);
    for (const consumer of consumers) await consumer.leave();
    await Promise.all(work);
    assert.deepEqual(seen.map(({ id }) => id).sort(), [...ids].sort());
  });
});

describe('after a restart', { timeout: 2 * HANG_MS }, async () => {
  const stack = await start({ after }, { settle_within: '5s' });

  for (const signal of ['SIGTERM', 'SIGKILL']) {
    it(`after ${signal}, a consumer still settles what it holds, and gets the rest`, async () => {
      const ids = await send(stack, [0, 1, 2]);
      const before = await Consumer.start(stack.gateway);
      const held = await before.deliveries(3);
      await before.settle([held[0]]);
      const ended = before.message().catch(() => {});
      await stack.restart(signal);
      await ended;
      const consumer = await Consumer.start(stack.gateway, { held_tokens: [held[1].token] });
      assert.deepEqual(consumer.first.superseded_tokens, []);
      assert.deepEqual(await consumer.settle([held[1]]), []);
      const [again] = await consumer.deliveries(1);
      assert.equal(again.event.event_id, held[2].event.event_id);
      assert.equal(again.reason, 'DELIVERY_REASON_GATEWAY_RESTARTED');
      assert.deepEqual(await consumer.settle([again]), []);
      assert.ok(ids.includes(again.event.event_id));
      await leave(consumer);
    });
  }
});
