// Tests the calls that read events: pages of the log, single events, and requests that are refused.
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { encode } from '../clients/gateway.mjs';
import { deliver } from './event_stack.mjs';
import { described } from './failures.mjs';
import { HANG_MS, startStack } from './harness.mjs';
import { EARLIEST, LATEST, Subscriber, idsOf, listAll, pagesOf } from './subscriber.mjs';

const { simulator, gateway } = await startStack({ after }, { events: true });

/** The cursor at the end of the log. */
const endOfLog = async () => (await gateway.call('EventService/ListEvents', LATEST)).cursor;

describe('ListEvents', { timeout: HANG_MS }, () => {
  it('returns pages of the requested size, each with the cursor of the next, and marks the last one', async () => {
    for (let i = 0; i < 110; i += 1) await deliver(simulator);
    const whole = await listAll(gateway);
    for (const page_size of [1, 7, 1000]) {
      const pages = await pagesOf(gateway, { ...EARLIEST, page_size });
      assert.deepEqual(
        pages.flatMap(({ events }) => events),
        whole,
      );
      pages.forEach(({ events, cursor, at_end }, index) => {
        assert.ok(events.length <= page_size);
        if (events.length > 0) assert.equal(cursor, events.at(-1).cursor);
        assert.equal(at_end ?? false, index === pages.length - 1);
      });
    }
    const { events } = await gateway.call('EventService/ListEvents', EARLIEST);
    assert.equal(events.length, 100);
  });

  it('returns an empty last page at the end', async () => {
    const page = await gateway.call('EventService/ListEvents', LATEST);
    assert.deepEqual(page, { cursor: page.cursor, at_end: true });
    assert.deepEqual(await gateway.call('EventService/ListEvents', { cursor: page.cursor }), page);
  });

  it('returns an event as soon as its delivery was acknowledged', async () => {
    for (let i = 0; i < 100; i += 1) {
      const cursor = await endOfLog();
      const { eventId } = await deliver(simulator);
      const { events, at_end } = await gateway.call('EventService/ListEvents', { cursor });
      assert.deepEqual([idsOf(events ?? []), at_end], [[eventId], true]);
    }
  });
});

describe('an event that the log does not have', { timeout: HANG_MS }, () => {
  for (const method of ['GetEvent', 'ReadEventBody']) {
    it(`is NOT_FOUND to ${method}`, async () => {
      for (const event_id of ['nothing', 'x'.repeat(1024), ' ', "' OR 1=1 --", '\u0000']) {
        const failure = described(await failureOf(method, { event_id }));
        assert.deepEqual([failure.code, failure.reason, failure.metadata], ['NOT_FOUND', 'EVENT_NOT_FOUND', {}]);
      }
    });
  }
});

/** The error of a method of the service, streaming or not. */
async function failureOf(method, request, from = gateway) {
  if (['Subscribe', 'ReadEventBody'].includes(method)) {
    try {
      await from.stream(`EventService/${method}`, request).next();
    } catch (error) {
      return error;
    }
    throw new Error(`${method} was answered`);
  }
  return from.refusal(`EventService/${method}`, request);
}

describe('an invalid request', { timeout: HANG_MS }, () => {
  const stranger = Buffer.from([0xc0, 0x3e, 0x01]); // the unknown field 1000 with the value 1
  const many = Array.from({ length: 1001 }, (_, i) => `id ${i}`);
  const long = 'x'.repeat(129);
  const withStranger = (method, request) => Buffer.concat([encode(`EventService/${method}`, request), stranger]);
  const filterWithStranger = (method) =>
    Buffer.concat([encode(`EventService/${method}`, EARLIEST), Buffer.from([0x22, stranger.length]), stranger]);
  const byId = (method) => [
    [method, 'without an id', {}, ['event_id']],
    [method, 'with an empty id', { event_id: '' }, ['event_id']],
    [method, 'with an id that is too long', { event_id: 'x'.repeat(1025) }, ['event_id']],
    [method, 'with an unknown field', withStranger(method, { event_id: 'e' }), ['']],
    [method, 'that cannot be decoded', Buffer.from([0x0a, 0x05, 0x61]), []],
  ];
  const filtered = (filter) => ({ ...EARLIEST, filter });
  const byPlace = (method) => [
    [method, 'without a start', {}, ['start']],
    [method, 'with an unspecified end', { end: 'LOG_END_UNSPECIFIED' }, ['end']],
    [method, 'with an unknown end', Buffer.from([0x18, 0x07]), ['end']],
    [method, 'with a time before the first valid one', { time: { seconds: '-62135596801' } }, ['time']],
    [method, 'with a time after the last valid one', { time: { seconds: '9223372036854775807' } }, ['time']],
    [method, 'with too many nanoseconds', { time: { nanos: 1_000_000_000 } }, ['time']],
    [method, 'with a long cursor', { cursor: 'x'.repeat(257) }, ['cursor']],
    [method, 'with an unknown field', withStranger(method, EARLIEST), ['']],
    [method, 'with an unknown field in its filter', filterWithStranger(method), ['filter']],
    [method, 'that cannot be decoded', Buffer.from([0x0a, 0x05, 0x61]), []],
    [method, 'with a text that is not UTF-8', Buffer.from([0x0a, 0x01, 0xff]), []],
    [method, 'with many organizations', filtered({ organization_ids: many }), ['filter.organization_ids']],
    [method, 'with many types', filtered({ types: many }), ['filter.types']],
    [method, 'with a long organization', filtered({ organization_ids: ['o', long] }), ['filter.organization_ids[1]']],
    [method, 'with a long type', filtered({ types: [long] }), ['filter.types[0]']],
  ];
  const cases = [
    ...byPlace('Subscribe'),
    ...byPlace('ListEvents'),
    ['ListEvents', 'with a page size of 0', { ...EARLIEST, page_size: 0 }, ['page_size']],
    ['ListEvents', 'with a page size that is too large', { ...EARLIEST, page_size: 1001 }, ['page_size']],
    ...byId('GetEvent'),
    ...byId('ReadEventBody'),
  ];
  for (const [method, title, request, fields] of cases) {
    it(`${method} ${title}`, async () => {
      const { code, domain, reason, violations = [] } = described(await failureOf(method, request));
      assert.deepEqual([code, domain, reason], ['INVALID_ARGUMENT', 'stampgate', 'INVALID_REQUEST']);
      assert.deepEqual(
        violations.map(({ field = '' }) => field),
        fields,
      );
      for (const { description } of violations) assert.ok(description.length > 0);
    });
  }
});

const plain = await startStack({ after });

describe('a gateway without a log', { timeout: HANG_MS }, () => {
  for (const [method, request] of [
    ['Subscribe', LATEST],
    ['ListEvents', EARLIEST],
    ['GetEvent', { event_id: 'e' }],
    ['ReadEventBody', { event_id: 'e' }],
  ]) {
    it(`refuses ${method} with EVENTS_NOT_CONFIGURED`, async () => {
      const { message, ...failure } = described(await failureOf(method, request, plain.gateway));
      assert.ok(message.length > 0);
      assert.deepEqual(failure, {
        code: 'FAILED_PRECONDITION',
        domain: 'stampgate',
        reason: 'EVENTS_NOT_CONFIGURED',
        metadata: {},
      });
    });
  }
});

describe('subscribers', { timeout: HANG_MS }, () => {
  it('are limited in number; when one leaves, another one is accepted', async (t) => {
    const stack = await startStack(t, { events: { events: { max_subscribers: 1 } } });
    const first = await Subscriber.start(stack.gateway);
    const { message, retryMs, ...failure } = described(await failureOf('Subscribe', LATEST, stack.gateway));
    assert.ok(message.length > 0 && retryMs > 0);
    assert.deepEqual(failure, {
      code: 'RESOURCE_EXHAUSTED',
      domain: 'stampgate',
      reason: 'TOO_MANY_SUBSCRIBERS',
      metadata: {},
    });
    // Refused subscriptions and other calls do not count toward the limit.
    await listAll(stack.gateway);
    const { eventId } = await deliver(stack.simulator);
    assert.deepEqual(idsOf(await first.events(1)), [eventId]);
    await first.leave();
    // The gateway may learn later than the test that a subscriber has left.
    const ifTooMany = (error) => assert.equal(described(error).reason, 'TOO_MANY_SUBSCRIBERS');
    let second;
    while (!second) second = await Subscriber.start(stack.gateway, EARLIEST).catch(ifTooMany);
    assert.deepEqual(idsOf(await second.events(1)), [eventId]);
    await second.leave();
  });
});
