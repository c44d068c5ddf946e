// Events of any size: no message exceeds the default limit of clients, no event blocks a stream, and clients can read
// every body byte for byte.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, afterEach, describe, it } from 'node:test';
import { methods } from '../clients/gateway.mjs';
import { ORGANIZATION } from '../simulator/testing.mjs';
import { simpleActivity } from '../simulator/webhook_events.mjs';
import { deliver } from './event_stack.mjs';
import { described } from './failures.mjs';
import { HANG_MS, startStack } from './harness.mjs';
import { EARLIEST, LATEST, Subscriber, idsOf, listAll, pagesOf } from './subscriber.mjs';

const MIB = 1024 * 1024;
const MAX_MESSAGE_BYTES = 3 * MIB;
const MAX_CHUNK_BYTES = MIB;

const { simulator, gateway } = await startStack({ after }, { events: true });

/** The sizes of all received messages on the wire. */
const sizes = [];
for (const name of ['Subscribe', 'ListEvents', 'GetEvent', 'ReadEventBody'].map((each) => `EventService/${each}`)) {
  const method = methods.get(name);
  const responseDeserialize = (bytes) => {
    sizes.push(bytes.length);
    return method.responseDeserialize(bytes);
  };
  methods.set(name, { ...method, responseDeserialize });
}

afterEach(() => {
  assert.ok(sizes.length > 0);
  for (const size of sizes.splice(0)) assert.ok(size <= MAX_MESSAGE_BYTES, `a message of ${size} bytes`);
});

const sha256 = (bytes) => createHash('sha256').update(bytes).digest();

/** A JSON body of exactly this length, with bytes that vary as much as JSON allows. */
function bodyOf(bytes, type = 'large') {
  const [head, tail] = [`{"type":"${type}","text":"`, '"}'];
  let text = '';
  for (let i = 0; text.length < bytes; i += 1) text += `${i} `;
  return Buffer.from(head + text.slice(0, bytes - head.length - tail.length) + tail);
}

const activityOf = (bytes) => Buffer.from(simpleActivity({ eventId: 'id', organizationId: ORGANIZATION, bytes }));

async function chunksOf(request) {
  const chunks = [];
  const pieces = gateway.stream('EventService/ReadEventBody', request);
  for await (const { chunk = Buffer.alloc(0) } of pieces) chunks.push(chunk);
  return chunks;
}

async function checkWhole(event, body) {
  assert.equal(event.body_size_bytes, String(body.length));
  assert.deepEqual(event.body_sha256, sha256(body));
  const { event: got } = await gateway.call('EventService/GetEvent', { event_id: event.event_id });
  assert.deepEqual(got, event);
  const chunks = await chunksOf({ event_id: event.event_id });
  assert.ok(chunks.every(({ length }) => length > 0 && length <= MAX_CHUNK_BYTES));
  assert.ok(Buffer.concat(chunks).equals(body));
}

describe('a subscriber with default limits', { timeout: HANG_MS }, () => {
  const cases = [
    ['an activity of 1 MiB has its body and its message', activityOf(MIB), { body: true, decoded: true }],
    ['an activity of 2 MiB has its body and no message', activityOf(2 * MIB), { body: true, decoded: false }],
    ['an activity of 3.9 MiB has neither', activityOf(3.9 * MIB), { body: false, decoded: false }],
    ['another event of 2 MiB has its body', bodyOf(2 * MIB), { body: true }],
    ['another event of 3.9 MiB has no body', bodyOf(3.9 * MIB), { body: false }],
    ['the largest event that the gateway stores has no body', bodyOf(4 * MIB), { body: false }],
  ];
  for (const [title, body, whole] of cases) {
    it(`${title}, and the subscriber receives later events too`, async () => {
      const subscriber = await Subscriber.start(gateway);
      const { eventId, status } = await deliver(simulator, { body });
      const { eventId: next } = await deliver(simulator);
      assert.equal(status, 200);
      const [event, behind] = await subscriber.events(2);
      assert.deepEqual([event.event_id, behind.event_id], [eventId, next]);
      await subscriber.leave();

      if (whole.body) assert.ok(event.body.equals(body));
      else assert.equal(event.body, undefined);
      assert.equal(event.body_omitted ?? false, !whole.body);
      assert.equal(event.decoded_omitted ?? false, whole.decoded === false);
      assert.equal(event.activity !== undefined, whole.decoded === true);
      assert.equal(event.unrecognized !== undefined, whole.decoded === true);
      await checkWhole(event, body);
    });
  }

  it('receives as much of each event as fits into a message, up to the exact limit', async () => {
    const { cursor } = await gateway.call('EventService/ListEvents', LATEST);
    const bodies = [];
    for (let missing = 0; missing <= 4096; missing += 256) bodies.push(bodyOf(MAX_MESSAGE_BYTES - missing));
    for (const body of bodies) await deliver(simulator, { body });
    const subscriber = await Subscriber.start(gateway, { cursor });
    const events = await subscriber.events(bodies.length);
    await subscriber.leave();
    const omitted = events.map(({ body_omitted = false }) => body_omitted);
    assert.deepEqual(omitted, [...omitted].sort().reverse());
    assert.deepEqual([omitted.at(0), omitted.at(-1)], [true, false]);
    events.forEach((event, index) => {
      assert.deepEqual(event.body_sha256, sha256(bodies[index]));
      if (!omitted[index]) assert.ok(event.body.equals(bodies[index]));
    });
    assert.deepEqual(await listAll(gateway, { cursor }), events);
  });

  it('receives many large events in several messages', async () => {
    const { cursor } = await gateway.call('EventService/ListEvents', LATEST);
    const ids = [];
    for (let i = 0; i < 20; i += 1) ids.push((await deliver(simulator, { body: bodyOf(400_000 + i) })).eventId);
    const subscriber = await Subscriber.start(gateway, { cursor });
    assert.deepEqual(idsOf(await subscriber.events(20)), ids);
    await subscriber.leave();
    const pages = await pagesOf(gateway, { cursor, page_size: 1000 });
    assert.deepEqual(
      pages.flatMap(({ events }) => idsOf(events)),
      ids,
    );
    assert.ok(pages.length >= 3, `${pages.length} pages`);
    // The maximum size in bytes limits these pages. No page has much fewer events than fit into this size.
    for (const { events } of pages.slice(0, -1)) assert.ok(events.length >= 6, `${events.length} events`);
  });

  it('receives all of them again from the beginning', async () => {
    const pages = await pagesOf(gateway, { ...EARLIEST, page_size: 1000 });
    const whole = pages.flatMap(({ events }) => events);
    const subscriber = await Subscriber.start(gateway, EARLIEST);
    assert.deepEqual(await subscriber.events(whole.length), whole);
    await subscriber.leave();
  });
});

describe('ReadEventBody', { timeout: HANG_MS }, async () => {
  it('can begin at any offset', async () => {
    const body = bodyOf(2.5 * MIB);
    const { eventId: event_id } = await deliver(simulator, { body });
    const { length } = body;
    for (const offset of [0, 1, MIB - 1, MIB, MIB + 1, 1_234_567, 2 * MIB, length - 1]) {
      const chunks = await chunksOf({ event_id, offset_bytes: offset });
      assert.equal(chunks.length, Math.ceil((length - offset) / MAX_CHUNK_BYTES));
      assert.ok(Buffer.concat(chunks).equals(body.subarray(offset)), String(offset));
    }
    assert.deepEqual(await chunksOf({ event_id, offset_bytes: length }), [Buffer.alloc(0)]);
    for (const offset_bytes of [length + 1, '18446744073709551615']) {
      const { code, reason } = described(await chunksOf({ event_id, offset_bytes }).catch((error) => error));
      assert.deepEqual([code, reason], ['OUT_OF_RANGE', 'INVALID_REQUEST']);
    }
  });

  it('returns a small body in one message', async () => {
    const { eventId: event_id } = await deliver(simulator, { body: '{}' });
    assert.deepEqual(await chunksOf({ event_id }), [Buffer.from('{}')]);
    assert.deepEqual(await chunksOf({ event_id, offset_bytes: 1 }), [Buffer.from('}')]);
  });

  it('can be cancelled in the middle', async () => {
    const { eventId: event_id } = await deliver(simulator, { body: bodyOf(4 * MIB) });
    for await (const { chunk } of gateway.stream('EventService/ReadEventBody', { event_id })) {
      assert.equal(chunk.length, MAX_CHUNK_BYTES);
      break;
    }
    assert.equal(Buffer.concat(await chunksOf({ event_id })).length, 4 * MIB);
  });
});
