// Tests what becomes of the events of a consumer that leaves: whether its client has cancelled the stream, or the
// connection was lost.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { subOrganization } from '../simulator/testing.mjs';
import { call, code, connect, stream } from '../clients/gateway.mjs';
import { Consumer, stateOf, subscriptionConfig } from './consumer.mjs';
import { deliver, startEventStack } from './event_stack.mjs';
import { HANG_MS } from './harness.mjs';
import { startRelay } from './relay.mjs';

/** Starts a consumer with a connection of its own to `address`. */
async function consumeOver(t, address) {
  const client = connect(address);
  t.after(() => client.close());
  const consumer = await Consumer.start({
    stream: (method, request, options) => stream(client, method, request, options),
  });
  return { client, consumer };
}

/** Starts a gateway, a consumer behind a relay that holds an event, and another consumer. */
async function start(t, settings) {
  const { gateway, simulator } = await startEventStack(t, { config: subscriptionConfig(settings) });
  const relay = await startRelay(t, gateway.address);
  const first = await consumeOver(t, relay.address);
  await deliver(simulator, { organizationId: subOrganization(0) });
  const [held] = await first.consumer.deliveries(1);
  const second = await Consumer.start(gateway);
  return { first, second, relay, held };
}

describe('the event of a consumer', { timeout: HANG_MS }, () => {
  it('comes again at once if the client cancels the stream and later closes the connection', async (t) => {
    const { first, second } = await start(t);
    first.consumer.call.cancel();
    // When the gateway has responded on the same connection, it has seen the cancellation.
    await stateOf({ call: (method, request) => call(first.client, method, request) });
    first.client.close();
    const [again] = await second.deliveries(1);
    assert.equal(again.reason, 'DELIVERY_REASON_CONSUMER_LEFT');
  });

  for (const [end, how] of [
    ['end', 'is closed'],
    ['resetAndDestroy', 'is reset'],
  ]) {
    it(`stays with it if the connection ${how}, until its time is over`, async (t) => {
      const { first, second, relay, held } = await start(t, { settle_within: '3s' });
      for (const socket of relay.sockets) socket[end]();
      await assert.rejects(first.consumer.message(), { code: code.UNAVAILABLE });
      const [again] = await second.deliveries(1);
      assert.equal(again.reason, 'DELIVERY_REASON_TIMEOUT');
      assert.equal(again.event.event_id, held.event.event_id);
    });
  }

  it('can be settled after the connection was lost', async (t) => {
    const { second, relay, held } = await start(t);
    for (const socket of relay.sockets) socket.resetAndDestroy();
    assert.deepEqual(await second.settle([held]), []);
  });
});
