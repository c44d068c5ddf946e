// Subscribers that do not read, or vanish: they cost the gateway little, and the others get every event.
//
// STAMPGATE_LONG=1: 100,000 events in place of 10,000. Memory is not measured in a sanitizer's build.
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

/** A subscription as bytes on a connection of its own: what comes is not read unless somebody reads `call`. */
class RawSubscriber {
  /** @param {{windowBytes?: number}} [options] how much the gateway may send of the call before it is read */
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

  /** Resolves to a subscription whose first message has come. */
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

  /** Sends so many events as fast as this process can, a thousand at a time. Calls `onThousand` after each. */
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

  test('cost little memory, and the one that reads gets everything', { timeout }, async (t) => {
    const stack = await startEventStack(t, { config: { admin: ADMIN } });
    const { gateway } = stack;
    const stalled = [];
    t.after(() => stalled.forEach(({ socket }) => socket.destroy()));
    const stall = (request) => {
      // Half of them take not even the first message.
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
    // They have been there all the time, and flow control was what held them up.
    for (const { socket, call } of stalled) {
      assert.ok(!socket.destroyed && !call.closed);
      assert.ok(socket.bytesRead < 25_000, `${socket.bytesRead}`);
    }
    const grown = most - before;
    t.diagnostic(`${Math.round(EVENTS / seconds)} events a second, ${Math.round(grown / MEBIBYTE)} MiB more`);
    if (!isSanitized()) assert.ok(grown < 64 * MEBIBYTE, `${grown} bytes more`);

    const lag = async () => (await metricsOf(gateway)).get('stampgate_subscriber_lag_events');
    await until(async () => (await lag()) > EVENTS / 2, 'the metrics show how far they are behind');

    // Who begins to read in the end gets it all, too.
    const late = stalled[25].call;
    let bytes = 0;
    late.on('data', (data) => (bytes += data.length));
    await until(() => bytes > EVENTS * 300, 'the log has come');
  });
});

describe('subscribers that vanish', () => {
  const CUTS = 200;
  const MOST = 20;

  test('leave nothing behind', { timeout }, async (t) => {
    // A call whose end goes unnoticed until its next heartbeat is there for the whole test.
    const events = { max_subscribers: MOST, heartbeat_interval: '10m' };
    const { simulator, gateway } = await startEventStack(t, { events });
    const { ids, done } = simulator.webhooks.sendMany({ count: 100, bodyBytes: 2000 });
    await done;
    await gateway.call('EventService/GetEvent', { event_id: ids[0] });
    const { pid } = gateway.child;
    const descriptors = descriptorsOf(pid);

    /** Starts a subscription, again until there is a place. */
    const place = async (start) => {
      const end = Date.now() + HANG_MS / 3;
      for (;;) {
        try {
          return await start();
        } catch (error) {
          assert.equal(error.info?.reason ?? error.message, 'TOO_MANY_SUBSCRIBERS');
          assert.ok(Date.now() < end, 'the place of a subscriber that has gone is still taken');
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

    // As many as there may be get a place.
    const next = [];
    while (next.length < MOST) next.push(await place(() => Subscriber.start(gateway, LATEST)));
    for (const { call } of next) call.cancel();
  });
});
