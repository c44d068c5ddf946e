// Subscribers that do not read, or that disconnect, use little memory, and the other subscribers receive every event.
//
// With STAMPGATE_LONG=1 the test uses 100,000 events instead of 10,000. Memory is not measured in a sanitizer's build.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http2 from 'node:http2';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import { encode } from '../clients/gateway.mjs';
import { ADMIN, metricsOf } from './admin_port.mjs';
import { delivery, requestOf, sendAll, tallyOf } from './raw_deliveries.mjs';
import { startEventStack } from './event_stack.mjs';
import { HANG_MS } from './harness.mjs';
import { LONG, descriptorsOf, isSanitized, residentBytes, until } from './processes.mjs';
import { EARLIEST, LATEST, Subscriber, idsOf } from './subscriber.mjs';

const timeout = LONG ? 10 * HANG_MS : 2 * HANG_MS;
const MEBIBYTE = 1 << 20;

/** A subscription over raw HTTP/2 on a connection of its own. Received bytes stay unread until a test reads `call`. */
class RawSubscriber {
  /** @param {{windowBytes?: number}} [options] the number of bytes that the gateway may send before the client reads */
  constructor(gateway, request, { windowBytes = 65_535 } = {}) {
    const [host, port] = gateway.address.split(':');
    this.socket = connect(Number(port), host);
    this.session = http2.connect(`http://${gateway.address}`, {
      createConnection: () => this.socket,
      settings: { initialWindowSize: windowBytes },
    });
    this.session.on('error', () => {});
    this.call = this.session.request({
      ':method': 'POST',
      ':path': '/stampgate.v1.EventService/Subscribe',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    this.call.on('error', () => {});
    const message = encode('EventService/Subscribe', request);
    const head = Buffer.alloc(5);
    head.writeUInt32BE(message.length, 1);
    this.call.end(Buffer.concat([head, message]));
  }

  /** Resolves to a subscription when its first message has arrived. */
  static async start(gateway, request) {
    const subscriber = new RawSubscriber(gateway, request);
    const { call, socket } = subscriber;
    const refused = once(call, 'trailers').then(([trailers]) => trailers['grpc-status']);
    const [headers] = await once(call, 'response');
    const status = headers['grpc-status'] ?? (await Promise.race([refused, once(call, 'data').then(() => undefined)]));
    if (status === undefined) return subscriber;
    socket.destroy();
    throw new Error(status === '8' ? 'TOO_MANY_SUBSCRIBERS' : `status ${status}`);
  }
}

describe('subscribers that never read', () => {
  const EVENTS = LONG ? 100_000 : 10_000;

  /** Sends `count` events as fast as this process can. Calls `onThousand` after each thousand. */
  async function store({ simulator, gateway }, first, count, onThousand) {
    for (let next = first; next < first + count; next += 1000) {
      const requests = Array.from({ length: 1000 }, (_, index) =>
        requestOf(gateway.webhookUrl, delivery(simulator, { eventId: `event-${next + index}` })),
      );
      const statuses = tallyOf(await sendAll(gateway.webhookUrl, requests, { connections: 128 }));
      assert.deepEqual(statuses, { 200: 1000 });
      onThousand();
    }
  }

  test('use little memory, and a subscriber that reads receives every event', { timeout }, async (t) => {
    const stack = await startEventStack(t, { config: { admin: ADMIN } });
    const { gateway } = stack;
    const stalled = [];
    t.after(() => stalled.forEach(({ socket }) => socket.destroy()));
    const stall = (request) => {
      // Half of the subscribers do not even read the first message.
      for (let count = 0; count < 25; ++count) {
        stalled.push(new RawSubscriber(gateway, request, { windowBytes: count % 2 === 0 ? 20_000 : 10 }));
      }
      return Promise.all(stalled.slice(-25).map(({ call }) => once(call, 'response')));
    };
    const honest = await Subscriber.start(gateway, EARLIEST);
    const all = honest.events(EVENTS);
    const before = residentBytes(gateway.child.pid);
    let most = before;
    const look = () => (most = Math.max(most, residentBytes(gateway.child.pid)));
    const begin = performance.now();
    await stall(LATEST);
    await store(stack, 0, EVENTS / 2, look);
    await stall(EARLIEST);
    await store(stack, EVENTS / 2, EVENTS / 2, look);
    const seconds = (performance.now() - begin) / 1000;

    assert.equal(new Set(idsOf(await all)).size, EVENTS);
    assert.deepEqual(honest.left(), []);
    look();
    // The stalled subscribers stayed connected all the time, and flow control has stopped their messages.
    for (const { socket, call } of stalled) {
      assert.ok(!socket.destroyed && !call.closed);
      assert.ok(socket.bytesRead < 25_000, `${socket.bytesRead}`);
    }
    const grown = most - before;
    t.diagnostic(`${Math.round(EVENTS / seconds)} events a second, ${Math.round(grown / MEBIBYTE)} MiB more`);
    if (!isSanitized()) assert.ok(grown < 64 * MEBIBYTE, `${grown} bytes more`);

    const lag = async () => (await metricsOf(gateway)).get('stampgate_subscriber_lag_events');
    await until(async () => (await lag()) > EVENTS / 2, 'the metrics show how far they are behind');

    // A subscriber that begins to read only now receives every event too.
    const late = stalled[25].call;
    let bytes = 0;
    late.on('data', (data) => (bytes += data.length));
    await until(() => bytes > EVENTS * 300, 'the whole log has arrived');
  });
});

describe('subscribers that disconnect', () => {
  const CUTS = 200;
  const MOST = 20;

  test('do not keep places, connections or memory', { timeout }, async (t) => {
    // If the gateway noticed the end of a call only at the next heartbeat, the call would keep its place for the whole
    // test.
    const events = { max_subscribers: MOST, heartbeat_interval: '10m' };
    const { simulator, gateway } = await startEventStack(t, { events });
    const { ids, done } = simulator.webhooks.sendMany({ count: 100, bodyBytes: 2000 });
    await done;
    await gateway.call('EventService/GetEvent', { event_id: ids[0] });
    const { pid } = gateway.child;
    const descriptors = descriptorsOf(pid);

    /** Starts a subscription. Retries until the gateway accepts it. */
    const place = async (start) => {
      const end = Date.now() + HANG_MS / 3;
      for (;;) {
        try {
          return await start();
        } catch (error) {
          assert.equal(error.info?.reason ?? error.message, 'TOO_MANY_SUBSCRIBERS');
          assert.ok(Date.now() < end, 'a disconnected subscriber still has its place');
        }
      }
    };
    const cut = async (number) => {
      const request = number % 3 === 0 ? LATEST : EARLIEST;
      if (number % 2 === 0) return (await place(() => Subscriber.start(gateway, request))).call.cancel();
      const { socket } = await place(() => RawSubscriber.start(gateway, request));
      if (number % 4 === 1) socket.resetAndDestroy();
      else socket.destroy();
    };
    for (let number = 0; number < 50; ++number) await cut(number);
    const bytes = residentBytes(pid);
    for (let number = 0; number < 2 * CUTS; ++number) await cut(number);
    await until(() => descriptorsOf(pid) <= descriptors, 'no connection is left');
    const grown = residentBytes(pid) - bytes;
    t.diagnostic(`${Math.round(grown / 1024)} KiB more`);
    if (!isSanitized()) assert.ok(grown < 16 * MEBIBYTE, `${grown} bytes more`);

    // The gateway accepts new subscribers up to the limit.
    const next = [];
    while (next.length < MOST) next.push(await place(() => Subscriber.start(gateway, LATEST)));
    for (const { call } of next) call.cancel();
  });
});
