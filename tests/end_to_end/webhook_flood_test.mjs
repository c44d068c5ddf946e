// Floods of the webhook port by hostile peers do not affect honest senders.
//
// With STAMPGATE_LONG=1 the test uses 100,000 unknown keys instead of 10,000. STAMPGATE_SEED=... chooses other key ids.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { JWKS_PATH } from '../simulator/specification.mjs';
import { ADMIN, metricsOf } from './admin_port.mjs';
import { connectTo, delivery, requestOf, sendAll, tallyOf } from './raw_deliveries.mjs';
import { startEventStack } from './event_stack.mjs';
import { HANG_MS } from './harness.mjs';
import { LONG, descriptorsOf, until } from './processes.mjs';
import { Random } from './random.mjs';
import { idsOf, listAll } from './subscriber.mjs';

// The number of times that the gateway may fetch the key set in a row.
const FETCHES_IN_A_ROW = 3;

const timeout = LONG ? 5 * HANG_MS : HANG_MS;

describe('deliveries with unknown keys', () => {
  /** Sends `count` deliveries with unknown keys, a thousand at a time, over many connections. */
  async function flood({ simulator, gateway }, random, { count, goesOn = () => true }) {
    const { headers, body } = delivery(simulator, { eventId: 'flood' });
    const { kid } = simulator.webhooks.keys.signing;
    const statuses = [];
    for (let wave = 0; wave * 1000 < count && goesOn(); ++wave) {
      const requests = Array.from({ length: 1000 }, () => {
        const keyId = random.bytes(8).toString('hex');
        const changed = headers.map(([name, value]) => [name, value === kid ? keyId : value]);
        return requestOf(gateway.webhookUrl, { headers: changed, body });
      });
      statuses.push(...(await sendAll(gateway.webhookUrl, requests, { connections: 64 })));
    }
    return tallyOf(statuses);
  }

  const keySetsOf = ({ simulator }) => simulator.stats().paths[JWKS_PATH]?.requests ?? 0;

  test('cause few fetches of the key set, and deliveries with a known key are stored', { timeout }, async (t) => {
    const stack = await startEventStack(t, { webhooks: { min_key_set_interval: undefined } });
    const count = LONG ? 100_000 : 10_000;
    const honest = stack.simulator.webhooks.sendMany({ count: 1_000_000, concurrency: 4 });
    await honest.waitFor({ acknowledged: 1 });
    const [before, begin] = [keySetsOf(stack), performance.now()];
    const answers = await flood(stack, new Random(t), { count });
    const seconds = (performance.now() - begin) / 1000;
    assert.deepEqual(answers, { 503: count });
    const { acknowledged, answers: honestAnswers } = await honest.stop();
    assert.deepEqual(honestAnswers, { 200: acknowledged.length });
    assert.ok(acknowledged.length > 10, `${acknowledged.length}`);
    assert.deepEqual(idsOf(await listAll(stack.gateway)).sort(), acknowledged.sort());
    const fetched = keySetsOf(stack) - before;
    assert.ok(fetched <= FETCHES_IN_A_ROW + seconds / 10, `${fetched} key sets in ${seconds} s`);
    t.diagnostic(
      `${Math.round(count / seconds)} a second beside ${acknowledged.length} honest ones, ${fetched} key sets`,
    );
  });

  test('do not prevent the gateway from learning a new key', { timeout }, async (t) => {
    const stack = await startEventStack(t);
    const { webhooks } = stack.simulator;
    webhooks.change({ retryMs: 20, maxRetryMs: 50 });
    await webhooks.sendMany({ count: 10 }).done;
    const [before, begin] = [keySetsOf(stack), performance.now()];
    // The flood continues until a delivery with the new key is stored.
    let honest;
    const answers = await flood(stack, new Random(t), {
      count: Infinity,
      goesOn: () => {
        if (honest === undefined) {
          webhooks.keys.add();
          honest = webhooks.sendMany({ count: 40, concurrency: 2 });
        }
        return !honest.isDone;
      },
    });
    const { acknowledged, refused } = await honest.done;
    const seconds = (performance.now() - begin) / 1000;
    assert.deepEqual(refused, {});
    assert.equal(acknowledged.length, 40);
    assert.deepEqual(Object.keys(answers), ['503']);
    const fetched = keySetsOf(stack) - before;
    assert.ok(fetched >= 1 && fetched <= FETCHES_IN_A_ROW + seconds / 0.1, `${fetched} key sets in ${seconds} s`);
    assert.equal((await listAll(stack.gateway)).length, 50);
  });
});

describe('peers that connect and send no complete request', () => {
  const MAX_CONNECTIONS = 256;
  const PEERS = 300;
  // The number of connections of the honest sender.
  const HONEST = 8;
  // The number of connections that the gateway itself opens, such as the connection for the key set. These may not
  // exist at the beginning of the test.
  const OWN = 2;

  /** Connects peers, each of which sends `text`. `open` has the peers that the gateway has not disconnected. */
  async function startPeers(t, { gateway }, text, count = PEERS) {
    const open = new Set();
    t.after(() => open.forEach((socket) => socket.destroy()));
    const start = async () => {
      const socket = connectTo(gateway.webhookUrl);
      open.add(socket);
      socket.on('close', () => open.delete(socket)).resume();
      await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
      socket.write(text);
    };
    await Promise.all(Array.from({ length: count }, start));
    return open;
  }

  /** Waits until the gateway has at most this number of descriptors open. */
  const untilClosed = ({ gateway }, descriptors) =>
    until(() => descriptorsOf(gateway.child.pid) <= descriptors, `${descriptors} descriptors`);

  const head = 'POST / HTTP/1.1\r\nHost: gateway\r\n';
  const texts = {
    'one byte': 'P',
    nothing: '',
    'half a request head': head,
  };
  for (const [name, text] of Object.entries(texts)) {
    test(`are disconnected when others connect: ${name}`, { timeout }, async (t) => {
      const stack = await startEventStack(t, { webhooks: { max_connections: MAX_CONNECTIONS } });
      const { simulator, gateway } = stack;
      const descriptors = descriptorsOf(gateway.child.pid);
      const open = await startPeers(t, stack, text);
      await until(() => open.size <= MAX_CONNECTIONS, 'peers beyond the limit are disconnected');

      const honest = simulator.webhooks.sendMany({ count: 200, concurrency: HONEST });
      const { answers, acknowledged } = await honest.done;
      assert.equal(acknowledged.length, 200);
      assert.deepEqual(answers, { 200: 200 });
      // The other peers are still connected, and the gateway has no further connections.
      assert.ok(open.size >= MAX_CONNECTIONS - HONEST - OWN, `${open.size}`);
      await untilClosed(stack, descriptors + MAX_CONNECTIONS + OWN);
      open.forEach((socket) => socket.destroy());
      await untilClosed(stack, descriptors + HONEST + OWN);
    });
  }

  test('reconnect as often as they are disconnected', { timeout }, async (t) => {
    const stack = await startEventStack(t, { webhooks: { max_connections: 32 } });
    const { simulator, gateway } = stack;
    const descriptors = descriptorsOf(gateway.child.pid);
    simulator.webhooks.change({ retryMs: 1, maxRetryMs: 1 });
    let [stopped, came] = [false, 0];
    const sockets = new Set();
    const come = () => {
      if (stopped) return;
      came += 1;
      const socket = connectTo(gateway.webhookUrl);
      sockets.add(socket);
      socket.on('connect', () => socket.write('P'));
      socket.on('close', () => {
        sockets.delete(socket);
        come();
      });
      socket.resume();
    };
    t.after(() => (stopped = true));
    for (let count = 64; count > 0; --count) come();
    const { acknowledged, answers } = await simulator.webhooks.sendMany({ count: 200, concurrency: HONEST }).done;
    assert.equal(acknowledged.length, 200);
    // Some connections may still be closing.
    assert.ok(descriptorsOf(gateway.child.pid) <= descriptors + 2 * 32);
    t.diagnostic(`${came} connections; honest deliveries: ${JSON.stringify(answers)}`);
    stopped = true;
    sockets.forEach((socket) => socket.destroy());
    await untilClosed(stack, descriptors + HONEST + OWN);
  });

  // Peers of one source address cannot displace new connections of another address, however quickly they reconnect.
  test(
    'send complete request heads and reconnect without a pause, from another address than the honest sender',
    { timeout },
    async (t) => {
      const stack = await startEventStack(t, {
        webhooks: { max_connections: MAX_CONNECTIONS },
        config: { admin: ADMIN },
      });
      const { simulator, gateway } = stack;
      let [stopped, came, full] = [false, 0, false];
      const sockets = new Set();
      const come = () => {
        if (stopped) return;
        came += 1;
        const socket = connectTo(gateway.webhookUrl, { localAddress: '127.0.0.2' });
        sockets.add(socket);
        let dripping;
        socket.on('connect', () => {
          socket.write(`POST /wrong HTTP/1.1\r\nHost: gateway\r\nX-A: ${'a'.repeat(2000)}`);
          dripping = setInterval(() => socket.write('a'.repeat(200)), 100);
        });
        socket.on('close', () => {
          clearInterval(dripping);
          sockets.delete(socket);
          full = true;
          come();
        });
        socket.resume();
      };
      t.after(() => {
        stopped = true;
        sockets.forEach((socket) => socket.destroy());
      });
      for (let count = 400; count > 0; --count) come();
      await until(() => full, 'the first of them is disconnected');
      const { acknowledged, answers } = await simulator.webhooks.sendMany({ count: 200, concurrency: HONEST }).done;
      assert.equal(acknowledged.length, 200);
      assert.deepEqual(answers, { 200: 200 });
      const value = async (name) => (await metricsOf(gateway)).get(name);
      await until(async () => (await value('stampgate_webhook_peers_displaced_total{peer="unproven"}')) > 0, 'counted');
      assert.equal(await value('stampgate_webhook_peers_displaced_total{peer="proven"}'), 0);
      assert.equal(await value('stampgate_webhook_peers_refused_total'), 0);
      t.diagnostic(`came ${came} times`);
    },
  );

  test('are disconnected after the time limit', { timeout }, async (t) => {
    const times = { request_timeout: '1s', idle_timeout: '1s' };
    const stack = await startEventStack(t, { webhooks: { max_connections: 1000, ...times } });
    const descriptors = descriptorsOf(stack.gateway.child.pid);
    const length = 'Content-Length: 100\r\n';
    const { pathname } = new URL(stack.gateway.webhookUrl);
    const whole = `POST ${pathname} HTTP/1.1\r\nHost: gateway\r\n${length}\r\n`;
    const all = [...Object.values(texts), `${head}${length}`, whole, `${whole}{`];
    const peers = await Promise.all(all.map((text) => startPeers(t, stack, text, 50)));
    await until(() => peers.every((open) => open.size === 0), 'all are closed');
    await untilClosed(stack, descriptors);
  });
});
