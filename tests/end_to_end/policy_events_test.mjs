// Tests which caller receives which events: only signed data and the grants decide.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { code } from '../clients/gateway.mjs';
import { ORGANIZATION, subOrganization } from '../simulator/testing.mjs';
import { deliver } from './event_stack.mjs';
import { described } from './failures.mjs';
import { HANG_MS, startStack } from './harness.mjs';
import { HeldCall } from './held_call.mjs';
import { asCaller, callerOf, reconfigure, tokenOf } from './policy_callers.mjs';
import { sees } from './policy_oracle.mjs';
import { EARLIEST, Subscriber, idsOf, listAll, pagesOf } from './subscriber.mjs';

const [FIRST, SECOND] = [subOrganization(1), subOrganization(2)];
const STRANGER = '33333333-0000-4000-8000-000000000001';

const CALLERS = [
  callerOf('parent', [{ classes: ['events'], organizations: [ORGANIZATION] }]),
  callerOf('child', [
    { methods: ['EventService/Subscribe', 'EventService/ListEvents'], organizations: [FIRST] },
    { classes: ['events'], organizations: [FIRST] },
  ]),
  callerOf('both', [
    { classes: ['events'], organizations: [FIRST] },
    { classes: ['events', 'query'], organizations: [STRANGER] },
    // This grant does not allow events.
    { classes: ['query'], all_organizations: true },
  ]),
  callerOf('lister', [
    { methods: ['EventService/ListEvents'], all_organizations: true },
    { methods: ['EventService/GetEvent'], organizations: [SECOND] },
  ]),
  callerOf('all', [{ classes: ['events'], all_organizations: true }]),
  callerOf('none', [{ classes: ['query', 'login', 'write', 'dangerous'], all_organizations: true }]),
];
const METHODS = ['Subscribe', 'ListEvents', 'GetEvent', 'ReadEventBody'].map((name) => `EventService/${name}`);

const { simulator, gateway } = await startStack(
  { after },
  { events: { events: { heartbeat_interval: '100ms' } }, config: { callers: CALLERS, reload_interval: '10m' } },
);
const as = (name) => asCaller(gateway, name);

const BODIES = [
  { type: 'a', organizationId: ORGANIZATION },
  { type: 'b', organizationId: FIRST, parentOrganizationId: ORGANIZATION },
  { type: 'c', organizationId: SECOND, parentOrganizationId: ORGANIZATION },
  { type: 'd', organizationId: FIRST },
  { type: 'e', organizationId: STRANGER },
  { type: 'f', organizationId: STRANGER, parentOrganizationId: FIRST },
  { type: 'g' },
  {},
  // These ids resemble a granted organization, but no caller has a grant for them.
  { type: 'h', organizationId: `${FIRST} ` },
  { type: 'i', organizationId: FIRST.slice(0, -1) },
  { type: 'j', organizationID: FIRST, organization_id: FIRST },
  { type: 'j2', msg: { organizationId: FIRST, parentOrganizationId: FIRST } },
  { type: 'k', organizationId: [FIRST] },
  { type: 'l', organizationId: { id: FIRST } },
  { type: 'm', organizationId: '', parentOrganizationId: '' },
  { type: 'n', organizationId: null },
  { type: 'o', organizationId: '*' },
  { type: 'p', organizationId: FIRST.replaceAll('-', '') },
];

/** The organizations of an event as the gateway must read them: only a string is an id. */
const signedOf = ({ organizationId, parentOrganizationId }) => ({
  organizationId: typeof organizationId === 'string' ? organizationId : undefined,
  parentOrganizationId: typeof parentOrganizationId === 'string' ? parentOrganizationId : undefined,
});

/** Sends an event whose unsigned headers name another organization than the signed body. */
const deliverLying = (json, claimed) =>
  deliver(simulator, { json, faults: [{ kind: 'labels', organizationId: claimed, type: 'ACTIVITY_UPDATES' }] });

const events = [];
before(async () => {
  for (const json of BODIES) {
    const { eventId, body } = await deliver(simulator, { json });
    events.push({ eventId, body, signed: signedOf(json) });
  }
  // These bodies contain the id of an organization, but are not JSON objects.
  for (const text of ['no JSON', JSON.stringify([{ organizationId: FIRST }]), `{"organizationId":"${FIRST}",}`]) {
    const { eventId, body } = await deliver(simulator, { body: text });
    events.push({ eventId, body, signed: {} });
  }
  for (const claimed of [ORGANIZATION, FIRST, STRANGER]) {
    const json = { type: 'lie', organizationId: SECOND };
    const { eventId, body } = await deliverLying(json, claimed);
    events.push({ eventId, body, signed: signedOf(json) });
  }
});

beforeEach(async () => {
  if (gateway.config.callers !== CALLERS) await reconfigure(gateway, { callers: CALLERS });
});

const visibleTo = (name, method) =>
  events.filter(({ signed }) => sees(gateway.config, name, method, signed)).map(({ eventId }) => eventId);
const mayCall = (name, method) =>
  CALLERS.find((each) => each.name === name).grants.some(
    (grant) => grant.classes?.includes('events') || grant.methods?.includes(method),
  );

/** The chunks of an event's body. */
async function bodyOf(caller, event_id) {
  const chunks = [];
  for await (const { chunk } of caller.stream('EventService/ReadEventBody', { event_id })) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** The error of a refused call. */
async function refusalOf(promise) {
  try {
    await promise;
  } catch (error) {
    assert.ok(error.statusBytes, error.message);
    return error;
  }
  throw new Error('it was answered');
}

describe('a caller receives exactly the events of its organizations, with every method:', { timeout: HANG_MS }, () => {
  for (const { name } of CALLERS) {
    test(name, async () => {
      const caller = as(name);
      const [subscribe, list, get, read] = METHODS;
      for (const method of METHODS.filter((each) => !mayCall(name, each))) {
        const request = method === subscribe || method === list ? EARLIEST : { event_id: events[0].eventId };
        const isStream = method === subscribe || method === read;
        const answer = isStream ? caller.stream(method, request).next() : caller.call(method, request);
        const { code, domain, reason } = described(await refusalOf(answer));
        assert.deepEqual([code, domain, reason], ['PERMISSION_DENIED', 'stampgate', 'DENIED_BY_POLICY'], method);
      }
      if (mayCall(name, list)) {
        for (const page_size of [1, 5, 100]) {
          assert.deepEqual(idsOf(await listAll(caller, { ...EARLIEST, page_size })), visibleTo(name, list));
        }
        // A filter removes events and never adds any.
        for (const organization_ids of [[STRANGER], [ORGANIZATION, FIRST, SECOND, STRANGER, ''], ['']]) {
          const seen = idsOf(await listAll(caller, { ...EARLIEST, filter: { organization_ids } }));
          assert.deepEqual(
            seen.filter((id) => !visibleTo(name, list).includes(id)),
            [],
          );
        }
      }
      if (mayCall(name, subscribe)) {
        const wanted = visibleTo(name, subscribe);
        const subscriber = await Subscriber.start(caller, EARLIEST);
        assert.deepEqual(idsOf(await subscriber.events(wanted.length)), wanted);
        // The heartbeat after the last event has no further event.
        assert.deepEqual((await subscriber.message()).events, []);
        assert.deepEqual(subscriber.left(), []);
        await subscriber.leave();
      }
      for (const { eventId, body } of events) {
        if (mayCall(name, get)) {
          if (visibleTo(name, get).includes(eventId)) {
            assert.equal((await caller.call(get, { event_id: eventId })).event.event_id, eventId);
          } else {
            const hidden = await caller.refusal(get, { event_id: eventId });
            const missing = await caller.refusal(get, { event_id: 'no-such-event' });
            assert.equal(hidden.info.reason, 'EVENT_NOT_FOUND');
            assert.deepEqual(hidden.statusBytes, missing.statusBytes);
          }
        }
        if (mayCall(name, read)) {
          if (visibleTo(name, read).includes(eventId)) {
            assert.equal((await bodyOf(caller, eventId)).toString(), body);
          } else {
            const hidden = await refusalOf(bodyOf(caller, eventId));
            const missing = await refusalOf(bodyOf(caller, 'no-such-event'));
            assert.equal(hidden.info.reason, 'EVENT_NOT_FOUND');
            assert.deepEqual(hidden.statusBytes, missing.statusBytes);
          }
        }
      }
    });
  }

  test('the expected numbers of events are those counted by hand', () => {
    const counts = Object.fromEntries(CALLERS.map(({ name }) => [name, visibleTo(name, METHODS[1]).length]));
    assert.deepEqual(counts, { parent: 3, child: 3, both: 4, lister: 24, all: 24, none: 0 });
  });
});

test("at another caller's cursor, a caller still receives only its own events", async () => {
  const list = METHODS[1];
  const pages = await pagesOf(as('all'), { ...EARLIEST, page_size: 1 });
  for (const { cursor } of [pages[0], pages[4], pages.at(-1)]) {
    const rest = visibleTo('all', list).slice(pages.findIndex((page) => page.cursor === cursor) + 1);
    for (const name of ['parent', 'child', 'both']) {
      const wanted = visibleTo(name, list).filter((id) => rest.includes(id));
      assert.deepEqual(idsOf(await listAll(as(name), { cursor })), wanted);
      const subscriber = await Subscriber.start(as(name), { cursor });
      assert.deepEqual(idsOf(await subscriber.events(wanted.length)), wanted);
      assert.deepEqual((await subscriber.message()).events, []);
      await subscriber.leave();
    }
    const refused = await refusalOf(as('none').stream(METHODS[0], { cursor }).next());
    assert.equal(refused.info.reason, 'DENIED_BY_POLICY');
  }
});

/** The events that a subscriber receives up to the event `eventId`. */
async function seenUntil(subscriber, eventId) {
  const seen = [];
  while (seen.at(-1) !== eventId) seen.push(...idsOf(await subscriber.events(1)));
  return seen;
}

const withGrants = (name, grants) => CALLERS.map((caller) => (caller.name === name ? { ...caller, grants } : caller));
const send = async (organizationId) => (await deliver(simulator, { json: { type: 'now', organizationId } })).eventId;

describe('while a body is read', { timeout: HANG_MS }, () => {
  const READ = METHODS[3];
  const CHUNK_BYTES = 1 << 20;
  const metadata = { authorization: `Bearer ${tokenOf('both')}` };

  /** A call whose client has not read the first piece of a body. */
  async function hold() {
    const text = 'x'.repeat(3 * CHUNK_BYTES);
    const { eventId, body } = await deliver(simulator, { json: { type: 'large', organizationId: FIRST, text } });
    return { eventId, body, call: await HeldCall.start(gateway, READ, { event_id: eventId }, metadata) };
  }

  for (const [title, grants, wanted] of [
    ['a caller whose grants are gone', [{ classes: ['query'], organizations: [FIRST] }], code.PERMISSION_DENIED],
    ['a caller whose organization is gone', [{ classes: ['events'], organizations: [STRANGER] }], code.NOT_FOUND],
  ]) {
    test(`${title} gets no further piece`, async () => {
      const { eventId, call } = await hold();
      await reconfigure(gateway, { callers: withGrants('both', grants) });
      const bytes = await call.finish();
      assert.equal(call.status, String(wanted));
      assert.ok(bytes >= CHUNK_BYTES && bytes < CHUNK_BYTES + 100, `${bytes} bytes`);
      assert.equal((await refusalOf(bodyOf(as('both'), eventId))).code, wanted);
    });
  }

  test('a change that removes no right has no effect on the call', async () => {
    const { body, call } = await hold();
    await reconfigure(gateway, { callers: withGrants('both', [{ classes: ['events'], organizations: [FIRST] }]) });
    assert.ok((await call.finish()) > body.length);
    assert.equal(call.status, String(code.OK));
  });
});

describe('while a subscription runs', { timeout: HANG_MS }, () => {
  test('a caller receives no more events of an organization that its grants no longer have', async () => {
    const subscriber = await Subscriber.start(as('both'));
    const [before1, before2] = [await send(FIRST), await send(STRANGER)];
    assert.deepEqual(await seenUntil(subscriber, before2), [before1, before2]);
    await reconfigure(gateway, { callers: withGrants('both', [{ classes: ['events'], organizations: [STRANGER] }]) });
    // The change is in effect now, because the log has reported it.
    const hidden = [];
    for (let i = 0; i < 5; ++i) hidden.push(await send(FIRST));
    const last = await send(STRANGER);
    assert.deepEqual(await seenUntil(subscriber, last), [last]);
    // The event does not arrive later either, nor with any other method.
    assert.deepEqual((await subscriber.message()).events, []);
    await subscriber.leave();
    const listed = idsOf(await listAll(as('both')));
    assert.deepEqual(
      hidden.filter((id) => listed.includes(id)),
      [],
    );
    const error = await as('both').refusal('EventService/GetEvent', { event_id: before1 });
    assert.equal(error.info.reason, 'EVENT_NOT_FOUND');
  });

  test('a caller receives events of an organization from the time at which it is granted', async () => {
    const subscriber = await Subscriber.start(as('child'));
    await send(STRANGER);
    const own = await send(FIRST);
    assert.deepEqual(await seenUntil(subscriber, own), [own]);
    await reconfigure(gateway, {
      callers: withGrants('child', [{ classes: ['events'], organizations: [FIRST, STRANGER] }]),
    });
    const more = [await send(STRANGER), await send(FIRST)];
    assert.deepEqual(await seenUntil(subscriber, more[1]), more);
    await subscriber.leave();
  });

  const others = CALLERS.filter(({ name }) => name !== 'child');
  const child = CALLERS.find(({ name }) => name === 'child');
  for (const [title, callers] of [
    ['a caller that is removed', others],
    ['a caller whose token is replaced', [...others, { ...child, token_sha256: ['a'.repeat(64)] }]],
  ]) {
    test(`${title} gets an error and receives nothing more`, async () => {
      const subscriber = await Subscriber.start(as('child'));
      const idle = await Subscriber.start(as('child'));
      const own = await send(FIRST);
      assert.deepEqual(await seenUntil(subscriber, own), [own]);
      await seenUntil(idle, own);
      await reconfigure(gateway, { callers });
      await send(FIRST);
      for (const each of [subscriber, idle]) {
        const { code, reason } = await each.failure();
        assert.deepEqual([code, reason], ['UNAUTHENTICATED', 'CALLER_NOT_RECOGNIZED']);
        assert.deepEqual(each.left(), []);
      }
    });
  }

  test('a caller whose grants were removed gets an error without waiting for an event', async () => {
    const subscriber = await Subscriber.start(as('child'));
    await reconfigure(gateway, { callers: withGrants('child', [{ classes: ['query'], organizations: [FIRST] }]) });
    const { code, reason } = await subscriber.failure();
    assert.deepEqual([code, reason], ['PERMISSION_DENIED', 'DENIED_BY_POLICY']);
    assert.deepEqual(subscriber.left(), []);
  });

  test('a change that does not concern the caller has no effect', async () => {
    const subscriber = await Subscriber.start(as('child'));
    const seen = [await send(FIRST)];
    for (let i = 0; i < 5; ++i) {
      const grants = [{ classes: ['events'], organizations: [`o${i}`] }];
      await reconfigure(gateway, { callers: withGrants('lister', grants) });
      seen.push(await send(FIRST));
    }
    assert.deepEqual(await seenUntil(subscriber, seen.at(-1)), seen);
    await subscriber.leave();
  });

  test('during many changes, a caller receives every granted event and no other', async () => {
    const subscriber = await Subscriber.start(as('both'));
    const granted = { first: [], stranger: [] };
    let last;
    for (let i = 0; i < 20; ++i) {
      const organizations = i % 2 === 0 ? [FIRST, STRANGER] : [STRANGER];
      await reconfigure(gateway, {
        callers: withGrants('both', [{ classes: ['events'], organizations: [...organizations, `o${i}`] }]),
      });
      const first = await send(FIRST);
      if (i % 2 === 0) granted.first.push(first);
      last = await send(STRANGER);
      granted.stranger.push(last);
      // The test reads the event before the next change, so one policy applies to each event.
      const seen = await seenUntil(subscriber, last);
      assert.deepEqual(seen, i % 2 === 0 ? [first, last] : [last]);
    }
    assert.deepEqual([granted.first.length, granted.stranger.length], [10, 20]);
    await subscriber.leave();
  });
});
