// Several gateways serve one shared subscription on PostgreSQL.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PostgresServer } from '../postgresql/cluster.mjs';
import { subOrganization } from '../simulator/testing.mjs';
import { metricsOf } from './admin_port.mjs';
import { Consumer, stateOf, subscriptionConfig } from './consumer.mjs';
import { deliver } from './event_stack.mjs';
import { described } from './failures.mjs';
import { HANG_MS, putConfig } from './harness.mjs';
import { logLines } from './log_lines.mjs';
import { until } from './processes.mjs';
import { SharedLogStack } from './shared_log_stack.mjs';

const TIMEOUT = { timeout: 2 * HANG_MS };

/** More organizations than partitions, so that each gateway has some. */
const ORGANIZATIONS = 48;

/** A consumer gets a message at least once a second, so that one without deliveries can stop waiting. */
const configOf = (settings) => ({ ...subscriptionConfig(settings), events: { heartbeat_interval: '1s' } });

/** Starts a server without standbys, and makes a stack whose gateways serve a subscription with these settings. */
async function prepare(t, settings = {}) {
  const postgres = await PostgresServer.create(t);
  const stack = await SharedLogStack.prepare(
    t,
    { hosts: [postgres.host], allow_single_server: true },
    { config: configOf(settings) },
  );
  stack.simulator.webhooks.change({ maxAttempts: 1 });
  return { postgres, stack };
}

/** Delivers an event of each organization to the gateway. Resolves to the ids. */
async function send(stack, { webhookUrl: url }, count = ORGANIZATIONS) {
  const ids = [];
  for (let number = 0; number < count; ++number) {
    const { status, error, eventId } = await deliver(stack.simulator, {
      url,
      organizationId: subOrganization(number),
    });
    assert.equal(status, 200, error);
    ids.push(eventId);
  }
  return ids;
}

const partitionsOf = async (gateway) =>
  (await metricsOf(gateway)).get('stampgate_subscription_partitions{subscription="payouts"}') ?? 0;

/** Resolves when the gateways have divided the 16 partitions evenly. */
async function divided(...gateways) {
  await until(async () => {
    const counts = await Promise.all(gateways.map(partitionsOf));
    const even = 16 / gateways.length;
    return counts.every((count) => Math.abs(count - even) < 1) && counts.reduce((sum, count) => sum + count, 0) === 16;
  }, 'the gateways divide the partitions');
}

/** Gathers deliveries of consumers until each of `count` events has come. Resolves to those of each consumer. */
async function gather(consumers, count) {
  const all = consumers.map(() => []);
  let left = count;
  await Promise.all(
    consumers.map(async (consumer, index) => {
      while (left > 0) {
        const { deliveries } = await consumer.message();
        left -= deliveries.length;
        all[index].push(...deliveries);
      }
    }),
  );
  return all;
}

/** Settles deliveries at a gateway that may not know yet which partitions it has. */
async function settleAt(gateway, consumer, deliveries) {
  let superseded;
  await until(async () => {
    superseded = await consumer.settle(deliveries, 'DONE', {}, gateway).catch((error) => {
      assert.equal(described(error).reason, 'EVENT_LOG_UNAVAILABLE');
    });
    return superseded !== undefined;
  }, 'the deliveries can be settled');
  return superseded;
}

const idsOf = (deliveries) => deliveries.map(({ event }) => event.event_id);

describe('several gateways', { concurrency: 2 }, () => {
  test('divide the events, and settle those of each other', TIMEOUT, async (t) => {
    const { stack } = await prepare(t, { settle_within: '300s' });
    const gateways = [await stack.start(), await stack.start(), await stack.start()];
    const consumers = await Promise.all(gateways.map((gateway) => Consumer.start(gateway, { max_unsettled: 1000 })));
    await divided(...gateways);
    const ids = await send(stack, gateways[0]);
    const received = await gather(consumers, ids.length);
    assert.deepEqual(received.flatMap(idsOf).sort(), [...ids].sort(), 'each event is delivered once');
    for (const [index, deliveries] of received.entries()) {
      assert.ok(deliveries.length > 0, `consumer ${index} gets events`);
      const other = gateways[(index + 1) % gateways.length];
      assert.deepEqual(await consumers[index].settle(deliveries, 'DONE', {}, other), []);
    }
    for (const gateway of gateways) {
      await until(async () => {
        const { events_behind = 0, unsettled = 0, consumers: count } = await stateOf(gateway);
        return Number(events_behind) === 0 && Number(unsettled) === 0 && Number(count) === 3;
      }, 'each gateway knows the state of all');
    }
    await Promise.all(consumers.map((consumer) => consumer.leave()));
  });

  test('take over the events of one that is killed', TIMEOUT, async (t) => {
    const { stack } = await prepare(t, { settle_within: '8s' });
    const [first, second] = [await stack.start(), await stack.start()];
    const lost = await Consumer.start(first, { max_unsettled: 1000 });
    const kept = await Consumer.start(second, { max_unsettled: 1000 });
    await divided(first, second);
    const ids = await send(stack, second);
    const [ofFirst, ofSecond] = await gather([lost, kept], ids.length);
    assert.deepEqual(await kept.settle(ofSecond), []);
    await stack.kill(first);
    const again = await kept.deliveries(ofFirst.length);
    assert.deepEqual(idsOf(again).sort(), idsOf(ofFirst).sort());
    for (const { delivery_count, reason } of again) {
      assert.deepEqual([delivery_count, reason], [2, 'DELIVERY_REASON_GATEWAY_RESTARTED']);
    }
    assert.deepEqual(
      await kept.settle(ofFirst),
      ofFirst.map(({ token }) => token),
      'the earlier tokens are superseded',
    );
    assert.deepEqual(await kept.settle(again), []);
    await kept.leave();
  });

  test('take over at once what a gateway settled that ends', TIMEOUT, async (t) => {
    const { stack } = await prepare(t, { settle_within: '300s' });
    const [first, second] = [await stack.start(), await stack.start()];
    const leaving = await Consumer.start(first, { max_unsettled: 1000 });
    const staying = await Consumer.start(second, { max_unsettled: 1000 });
    await divided(first, second);
    const ids = await send(stack, second);
    const [ofFirst, ofSecond] = await gather([leaving, staying], ids.length);
    assert.deepEqual(await leaving.settle(ofFirst), []);
    assert.deepEqual(await staying.settle(ofSecond), []);
    await stack.stop(first);
    await divided(second);
    const later = await send(stack, second);
    assert.deepEqual(idsOf(await staying.deliveries(later.length)).sort(), [...later].sort());
    await staying.leave();
  });

  test('list, retry and skip parked events of each other', TIMEOUT, async (t) => {
    const { stack } = await prepare(t, { settle_within: '300s' });
    const [first, second] = [await stack.start(), await stack.start()];
    const consumers = [
      await Consumer.start(first, { max_unsettled: 1000 }),
      await Consumer.start(second, { max_unsettled: 1000 }),
    ];
    await divided(first, second);
    const ids = await send(stack, first);
    const received = await gather(consumers, ids.length);
    for (const [index, deliveries] of received.entries()) {
      assert.deepEqual(await consumers[index].settle(deliveries, 'PARK', { park_reason: 'broken' }), []);
    }
    const parkedAt = async (gateway) => {
      const response = await gateway.call('SubscriptionService/ListParked', {
        subscription: 'payouts',
        page_size: 100,
      });
      return response.parked_events ?? [];
    };
    const parked = await parkedAt(first);
    assert.deepEqual(idsOf(parked), ids, 'in the order of the log');
    assert.deepEqual(await parkedAt(second), parked);
    const cursors = parked.map(({ event }) => event.cursor);
    const half = cursors.length / 2;
    const skipped = await first.call('SubscriptionService/SkipParked', {
      subscription: 'payouts',
      cursors: cursors.slice(0, half),
    });
    assert.deepEqual(skipped.not_parked_cursors ?? [], []);
    const retried = await second.call('SubscriptionService/RetryParked', { subscription: 'payouts', cursors });
    assert.deepEqual(retried.not_parked_cursors, cursors.slice(0, half), 'the others are parked no more');
    const again = (await gather(consumers, half)).flat();
    assert.deepEqual(idsOf(again).sort(), ids.slice(half).sort());
    assert.ok(again.every(({ retried_after_parking }) => retried_after_parking));
    assert.deepEqual(await parkedAt(first), []);
    await Promise.all(consumers.map((consumer) => consumer.leave()));
  });

  test('seek together', TIMEOUT, async (t) => {
    const { stack } = await prepare(t, { settle_within: '300s' });
    const [first, second] = [await stack.start(), await stack.start()];
    const consumers = [
      await Consumer.start(first, { max_unsettled: 1000 }),
      await Consumer.start(second, { max_unsettled: 1000 }),
    ];
    await divided(first, second);
    const ids = await send(stack, first);
    const received = (await gather(consumers, ids.length)).flat();
    const { subscription } = await second.call('SubscriptionService/Seek', {
      subscription: 'payouts',
      time: { seconds: 1 },
    });
    assert.equal(Number(subscription.events_behind), ids.length);
    const again = (await gather(consumers, ids.length)).flat();
    assert.deepEqual(idsOf(again).sort(), [...ids].sort());
    for (const { reason } of again) assert.equal(reason, 'DELIVERY_REASON_SEEK');
    for (const gateway of [first, second]) {
      const tokens = received.map(({ token }) => token);
      assert.deepEqual(await settleAt(gateway, consumers[0], received), tokens, 'they are of before');
    }
    assert.deepEqual(await settleAt(first, consumers[0], again), []);
    await Promise.all(consumers.map((consumer) => consumer.leave()));
  });

  test('use the settings with the highest version', TIMEOUT, async (t) => {
    const { stack } = await prepare(t, { settle_within: '20s', version: 1 });
    const first = await stack.start();
    const withinAt = async (gateway) => {
      const consumer = await Consumer.start(gateway);
      await consumer.leave();
      return consumer.first.settle_within_ms;
    };
    const overruled = async (gateway) =>
      (await metricsOf(gateway)).get('stampgate_subscription_settings_overruled{subscription="payouts"}');
    assert.equal(await withinAt(first), 20_000);
    stack.more = configOf({ settle_within: '40s', version: 2 });
    const second = await stack.start();
    assert.equal(await withinAt(second), 40_000);
    await until(async () => (await withinAt(first)) === 40_000, 'the first gateway uses the new settings');
    assert.deepEqual([await overruled(first), await overruled(second)], [1, 0]);
    stack.more = configOf({ settle_within: '50s', version: 2 });
    const third = await stack.start();
    assert.equal(await withinAt(third), 40_000, 'the version was in use before');
    const [line] = await logLines(third, 1, 'subscription_settings_overruled');
    assert.match(line.message, /the same version, 2, before: raise version/);
    assert.equal(await overruled(third), 1);
    stack.more = configOf({ settle_within: '60s', version: 2 });
    putConfig(third.configFile, JSON.stringify(stack.config()));
    third.child.kill('SIGHUP');
    const [{ message }] = await logLines(third, 1, 'reload_failed');
    assert.match(message, /subscriptions\[0\]\.version: must be greater than 2, because the settings have changed/);
  });

  test('keep the state of a subscription that one of them still declares', TIMEOUT, async (t) => {
    const { stack } = await prepare(t);
    const first = await stack.start();
    stack.more = {};
    const second = await stack.start();
    const remove = () =>
      second.call('SubscriptionService/DeleteSubscription', { subscription: 'payouts' }).catch(described);
    const { reason, message } = await remove();
    assert.equal(reason, 'SUBSCRIPTION_DECLARED');
    assert.match(message, /a gateway serves the subscription payouts/);
    await stack.stop(first);
    assert.deepEqual(await remove(), {});
  });
});
