// Cursors: a subscriber that resumes at a cursor misses no event and gets none twice. The gateway refuses a text that
// is no cursor of its log.
import assert from 'node:assert/strict';
import { copyFileSync, rmSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { deliver, startEventStack } from './event_stack.mjs';
import { described } from './failures.mjs';
import { HANG_MS, run } from './harness.mjs';
import { logged } from './log_lines.mjs';
import { Random } from './random.mjs';
import { EARLIEST, LATEST, Subscriber, idsOf, listAll } from './subscriber.mjs';

/**
 * The error of both methods that start at a cursor. Checks that the two errors are the same except for their messages.
 */
async function refusalOf(gateway, cursor) {
  const listing = described(await gateway.refusal('EventService/ListEvents', { cursor }));
  const subscription = await new Subscriber(gateway, { cursor }).failure();
  assert.deepEqual(subscription, listing);
  const { message, ...failure } = listing;
  assert.ok(message.length > 0);
  return failure;
}

const failure = (code, reason, metadata = {}) => ({ code, domain: 'stampgate', reason, metadata });
const INVALID = failure('INVALID_ARGUMENT', 'CURSOR_INVALID');
const OF_ANOTHER_LOG = failure('FAILED_PRECONDITION', 'CURSOR_OF_ANOTHER_LOG');

describe('resuming at a cursor', { timeout: 2 * HANG_MS }, () => {
  const EVENTS = 400;
  const filters = [
    undefined,
    { types: [] },
    { types: ['ACTIVITY_UPDATES'] },
    { types: ['none', 'ACTIVITY_UPDATES'], organization_ids: [] },
  ];

  /**
   * Sends events and reads them, a few at a time. The subscriber leaves and resumes at random: after a message, or
   * after an event within a message. `restart`, if given, ends the gateway from time to time.
   */
  async function readWithBreaks(t, random, restart) {
    const { webhooks } = t.stack.simulator;
    const seen = [];
    const loads = [];
    let sent = 0;
    let messages = 0;
    let breaks = 0;
    let cursor;
    let subscriber;
    const begin = async () => {
      const start = cursor === undefined ? EARLIEST : { cursor };
      subscriber = await Subscriber.start(t.stack.gateway, { ...start, filter: random.pick(filters) });
      if (cursor !== undefined) assert.equal(subscriber.first.cursor, cursor);
      cursor = subscriber.first.cursor;
    };
    await begin();
    while (seen.length < EVENTS) {
      const action = random.below(10);
      if (sent < EVENTS && (action < 4 || sent === seen.length)) {
        const count = Math.min(EVENTS - sent, 1 + random.below(40));
        loads.push(webhooks.sendMany({ count, concurrency: 1 + random.below(8), ids: `event-${sent}-` }));
        sent += count;
      }
      if (sent > seen.length) {
        const message = await subscriber.message();
        messages += 1;
        const taken = random.below(3) === 0 ? random.below(message.events.length + 1) : message.events.length;
        seen.push(...message.events.slice(0, taken));
        if (taken === message.events.length) cursor = message.cursor;
        else if (taken > 0) cursor = message.events[taken - 1].cursor;
        if (taken < message.events.length || action === 9) {
          await subscriber.leave();
          breaks += 1;
          await begin();
        }
      }
      if (restart && random.below(12) === 0) {
        await restart(random, subscriber, (told) => (cursor = told));
        breaks += 1;
        await begin();
      }
    }
    await subscriber.leave();
    await Promise.all(loads.map(({ done }) => done));
    assert.deepEqual(seen, await listAll(t.stack.gateway));
    const acknowledged = loads.flatMap((load) => [...load.acknowledged.keys()]);
    assert.deepEqual(idsOf(seen).sort(), acknowledged.sort());
    assert.equal(new Set(idsOf(seen)).size, EVENTS);
    t.diagnostic(`${messages} messages, ${breaks} breaks`);
    assert.ok(breaks > 5 && messages > 10);
  }

  it('at any event omits nothing and repeats nothing', async (t) => {
    t.stack = await startEventStack(t);
    await readWithBreaks(t, new Random(t));
  });

  for (const signal of ['SIGTERM', 'SIGKILL']) {
    it(`after ${signal} has ended the gateway omits nothing and repeats nothing`, async (t) => {
      t.stack = await startEventStack(t);
      t.stack.simulator.webhooks.change({ retryMs: 5, maxRetryMs: 40 });
      await readWithBreaks(t, new Random(t), async (random, subscriber, goOnAt) => {
        if (signal === 'SIGKILL') return void (await t.stack.restart(signal));
        const failed = subscriber.failure();
        await t.stack.restart(signal);
        const { code, reason, metadata } = await failed;
        assert.deepEqual([code, reason], ['UNAVAILABLE', 'SHUTTING_DOWN']);
        // The cursor in the error is after the last received event. The test resumes at this cursor only if it has read
        // all received events.
        if (subscriber.left().length === 0) goOnAt(metadata.cursor);
      });
    });
  }

  it('with another filter continues at the same position', async (t) => {
    const { simulator, gateway } = await startEventStack(t);
    const types = ['one', 'two', 'three'];
    const sent = [];
    for (let i = 0; i < 30; i += 1) {
      const type = types[i % 3];
      sent.push({ type, id: (await deliver(simulator, { json: { type } })).eventId });
    }
    const seen = [];
    let start = EARLIEST;
    for (let at = 0; at < 27; at += 9) {
      const filter = { types: [types[(at / 9) % 3]] };
      const subscriber = await Subscriber.start(gateway, { ...start, filter });
      const events = await subscriber.events(3);
      // The cursor is up to two events before the next event of another type.
      seen.push(...idsOf(events));
      start = { cursor: events.at(-1).cursor };
      await subscriber.leave();
    }
    const expected = [0, 3, 6, 7, 10, 13, 14, 17, 20].map((index) => sent[index].id);
    assert.deepEqual(seen, expected);
    assert.deepEqual(
      idsOf(await listAll(gateway, start)),
      sent.slice(21).map(({ id }) => id),
    );
  });
});

describe('a cursor', { timeout: 2 * HANG_MS }, async () => {
  const stack = await startEventStack({ after });
  let cursor;
  before(async () => {
    await deliver(stack.simulator);
    ({ cursor } = await stack.gateway.call('EventService/ListEvents', LATEST));
  });

  it('with any flipped bit is refused', async () => {
    const bytes = Buffer.from(cursor, 'base64url');
    assert.equal(bytes.toString('base64url'), cursor);
    const reasons = [];
    for (let bit = 0; bit < 8 * bytes.length; bit += 1) {
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3] ^= 1 << (bit & 7);
      const { code, reason, metadata } = await refusalOf(stack.gateway, flipped.toString('base64url'));
      // The gateway reads the log's id in the cursor before it checks the cursor's MAC, which only that log can verify.
      if (reason === OF_ANOTHER_LOG.reason) assert.equal(code, OF_ANOTHER_LOG.code);
      else assert.deepEqual([code, reason, metadata], [INVALID.code, INVALID.reason, {}]);
      reasons.push(reason);
    }
    assert.equal(reasons.filter((reason) => reason === OF_ANOTHER_LOG.reason).length, 8 * 16);
  });

  it('that is shortened, extended, in another alphabet or empty is refused', async () => {
    const last = cursor.at(-1);
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const spellings = [...alphabet].filter((letter) => letter !== last).map((letter) => cursor.slice(0, -1) + letter);
    const others = ['', 'A', `${cursor}A`, `${cursor}=`, ` ${cursor}`, `${cursor}\n`, cursor.repeat(2)];
    const cuts = Array.from({ length: cursor.length - 1 }, (_, length) => cursor.slice(0, length + 1));
    for (const text of [...others, ...cuts, ...spellings]) {
      assert.deepEqual(await refusalOf(stack.gateway, text), INVALID, JSON.stringify(text));
    }
  });

  it('of another log is refused with CURSOR_OF_ANOTHER_LOG', async (t) => {
    const other = await startEventStack(t);
    const { cursor: foreign } = await other.gateway.call('EventService/ListEvents', LATEST);
    assert.deepEqual(await refusalOf(stack.gateway, foreign), OF_ANOTHER_LOG);
    assert.deepEqual(await refusalOf(other.gateway, cursor), OF_ANOTHER_LOG);
  });

  it('remains valid after a restart of the gateway', async (t) => {
    const own = await startEventStack(t);
    const ids = [];
    for (let i = 0; i < 3; i += 1) ids.push((await deliver(own.simulator)).eventId);
    const [first, ...rest] = await listAll(own.gateway);
    for (const signal of ['SIGTERM', 'SIGKILL']) {
      await own.restart(signal);
      assert.deepEqual(await listAll(own.gateway, { cursor: first.cursor }), rest);
    }
    assert.deepEqual(idsOf([first, ...rest]), ids);
  });

  /**
   * Makes a log with one event, and gets the cursor `before` at its end. Then stores a second event, gets the cursor
   * `ahead` after it, and replaces the log by a copy without the second event.
   */
  async function putBack(t) {
    const own = await startEventStack(t);
    await deliver(own.simulator);
    const { cursor: before } = await own.gateway.call('EventService/ListEvents', LATEST);
    await own.gateway.stop();
    copyFileSync(own.file, `${own.file}.copy`);
    await own.start();
    await deliver(own.simulator);
    const { cursor: ahead } = await own.gateway.call('EventService/ListEvents', LATEST);
    await own.gateway.stop();
    copyFileSync(`${own.file}.copy`, own.file);
    return { own, before, ahead };
  }

  it('before lost events is refused with DATA_LOSS, and the error has the cursor after them', async (t) => {
    const { own, before, ahead } = await putBack(t);
    const first = await own.start();
    const { eventId } = await deliver(own.simulator);
    for (let round = 0; round < 2; round += 1) {
      const { metadata, ...refusal } = described(
        await own.gateway.refusal('EventService/ListEvents', { cursor: before }),
      );
      assert.deepEqual([refusal.code, refusal.reason], ['DATA_LOSS', 'EVENTS_LOST']);
      assert.match(refusal.message, /2 to 2/);
      assert.deepEqual(Object.keys(metadata), ['next_cursor']);
      const subscriber = await Subscriber.start(own.gateway, { cursor: before });
      assert.equal((await subscriber.failure()).reason, 'EVENTS_LOST');
      // A subscriber that had received the lost events misses none.
      for (const cursor of [metadata.next_cursor, ahead]) {
        assert.deepEqual(idsOf(await listAll(own.gateway, { cursor })), [eventId]);
      }
      await own.restart('SIGTERM');
    }
    await own.gateway.stop();
    const [line] = logged(first, 'events_lost');
    assert.deepEqual([line.severity, line.what, line.first, line.last], ['WARNING', 'gone', 2, 2]);
    assert.deepEqual(logged(own.gateway, 'events_lost'), []); // the first start has reported the lost event
  });

  it('ahead of a log that has lost its end is refused with DATA_LOSS, also if a new event has the same position', async (t) => {
    const { own, before, ahead } = await putBack(t);
    rmSync(`${own.file}-mark`);
    await own.start();
    const refusal = failure('DATA_LOSS', 'CURSOR_AHEAD_OF_LOG');
    assert.deepEqual(await refusalOf(own.gateway, ahead), refusal);
    const { eventId } = await deliver(own.simulator);
    assert.deepEqual(await refusalOf(own.gateway, ahead), refusal);
    assert.deepEqual(idsOf(await listAll(own.gateway, { cursor: before })), [eventId]);
  });

  it('of a log that is marked as restored is refused, whatever the log contains now', async (t) => {
    const own = await startEventStack(t);
    const { eventId } = await deliver(own.simulator);
    const { cursor } = await own.gateway.call('EventService/ListEvents', LATEST);
    await own.gateway.stop();
    const restored = ['store', 'restored', '--config', own.gateway.configFile];
    const { status, stdout, stderr } = await run(restored);
    assert.deepEqual([status, stderr], [0, '']);
    assert.ok(stdout.startsWith(`${own.file}: `));
    await own.start();

    assert.deepEqual(await refusalOf(own.gateway, cursor), failure('FAILED_PRECONDITION', 'CURSOR_OF_ANOTHER_LOG'));
    const { eventId: next } = await deliver(own.simulator);
    assert.deepEqual(idsOf(await listAll(own.gateway, EARLIEST)), [eventId, next]);
    assert.match((await run(restored)).stderr, /another process/);
  });
});

describe('events that retention has removed', { timeout: HANG_MS }, async () => {
  const PADDING = 'x'.repeat(300_000);
  const stack = await startEventStack({ after }, { events: { retention_bytes: 1_048_576 } });
  let ids;
  let first;

  before(async () => {
    ({ cursor: first } = await stack.gateway.call('EventService/ListEvents', EARLIEST));
    ids = [];
    for (let i = 0; i < 10; i += 1) {
      const json = { type: 'large', number: i, padding: PADDING };
      ids.push((await deliver(stack.simulator, { json })).eventId);
    }
    // The log removes old events only after it has handled later deliveries. Repeated deliveries cause the removal
    // without adding events.
    const json = { type: 'large', number: 9, padding: PADDING };
    for (let i = 0; i < 5; i += 1) await deliver(stack.simulator, { eventId: ids.at(-1), json });
  });

  it('are reported as missing at a cursor before them, and the remaining ones can be read', async () => {
    const left = await listAll(stack.gateway);
    assert.ok(left.length > 0 && left.length < 5, `${left.length} events are left`);
    assert.deepEqual(idsOf(left), ids.slice(-left.length));

    const { metadata, ...refusal } = await refusalOf(stack.gateway, first);
    assert.deepEqual({ ...refusal, metadata: {} }, failure('OUT_OF_RANGE', 'EVENTS_TRIMMED'));
    assert.deepEqual(Object.keys(metadata), ['earliest_cursor']);
    const start = { cursor: metadata.earliest_cursor };
    assert.deepEqual(await listAll(stack.gateway, start), left);
    const subscriber = await Subscriber.start(stack.gateway, start);
    assert.deepEqual(await subscriber.events(left.length), left);
    await subscriber.leave();
  });

  it('are skipped by a subscription from the earliest event or from a time', async () => {
    const left = await listAll(stack.gateway);
    for (const start of [EARLIEST, { time: {} }]) {
      const subscriber = await Subscriber.start(stack.gateway, start);
      assert.deepEqual(await subscriber.events(left.length), left);
      await subscriber.leave();
    }
  });

  it('are not found, and not stored again', async () => {
    const error = await stack.gateway.refusal('EventService/GetEvent', { event_id: ids[0] });
    assert.equal(described(error).reason, 'EVENT_NOT_FOUND');
    const left = await listAll(stack.gateway);
    const json = { type: 'large', number: 0, padding: PADDING };
    assert.equal((await deliver(stack.simulator, { eventId: ids[0], json })).status, 200);
    assert.deepEqual(await listAll(stack.gateway), left);
  });
});
