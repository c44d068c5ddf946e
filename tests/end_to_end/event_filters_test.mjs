// Filters of subscriptions decide only by signed data.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ORGANIZATION, subOrganization } from '../simulator/testing.mjs';
import { deliver } from './event_stack.mjs';
import { HANG_MS, startStack } from './harness.mjs';
import { LATEST, Subscriber, idsOf, listAll } from './subscriber.mjs';

const STRANGER = '33333333-0000-4000-8000-000000000001';
const { simulator, gateway } = await startStack({ after }, { events: true });

/** The cursor at the end of the log. */
const endOfLog = async () => (await gateway.call('EventService/ListEvents', LATEST)).cursor;

describe('a filter', { timeout: HANG_MS }, () => {
  const parent = ORGANIZATION;
  const [first, second] = [subOrganization(1), subOrganization(2)];
  const bodies = [
    { type: 'ACTIVITY_TYPE_SIMULATED', organizationId: parent },
    { type: 'balances:confirmed', organizationId: first, parentOrganizationId: parent },
    { type: 'balances:finalized', organizationId: second, parentOrganizationId: parent },
    { type: 'transaction:status', organizationId: first },
    { type: 'custom', organizationId: STRANGER },
    { type: 'custom' },
    {},
    { organizationId: `${parent} `, msg: { organizationId: parent, type: 'custom' } },
  ];
  const cases = [
    [{}, [0, 1, 2, 3, 4, 5, 6, 7]],
    [{ organization_ids: [parent] }, [0, 1, 2]],
    [{ organization_ids: [first] }, [1, 3]],
    [{ organization_ids: [first, STRANGER] }, [1, 3, 4]],
    [{ organization_ids: [parent.slice(0, -1)] }, []],
    [{ types: ['ACTIVITY_UPDATES'] }, [0]],
    [{ types: ['ACTIVITY_TYPE_SIMULATED', 'balances:confirmed'] }, []],
    [{ types: ['BALANCE_CONFIRMED_UPDATES', 'SEND_TRANSACTION_STATUS_UPDATES'] }, [1, 3]],
    [{ types: ['custom'] }, [4, 5]],
    [{ types: ['custom'], organization_ids: [STRANGER] }, [4]],
    [{ types: ['custom'], organization_ids: [parent] }, []],
    [{ types: ['BALANCE_FINALIZED_UPDATES'], organization_ids: [parent] }, [2]],
    [{ organization_ids: [''] }, [0, 3, 4, 5, 6, 7]],
    [{ organization_ids: Array.from({ length: 1000 }, (_, i) => (i === 999 ? first : `o${i}`)) }, [1, 3]],
  ];
  let ids;
  let start;

  before(async () => {
    start = { cursor: await endOfLog() };
    ids = [];
    for (const json of bodies) ids.push((await deliver(simulator, { json })).eventId);
  });

  for (const [filter, expected] of cases) {
    it(`${JSON.stringify(filter).slice(0, 100)} selects the events that it names, and no others`, async () => {
      const wanted = expected.map((index) => ids[index]);
      const passed = (events) => idsOf(events).filter((id) => ids.includes(id));
      for (const page_size of [1, 3, 100]) {
        assert.deepEqual(passed(await listAll(gateway, { ...start, filter, page_size })), wanted);
      }
      if (wanted.length === 0) return;
      // The last event matches the filter. A wrongly sent event would arrive before it.
      const subscriber = await Subscriber.start(gateway, { ...start, filter });
      const { eventId: last } = await deliver(simulator, { json: bodies[expected[0]] });
      const seen = await subscriber.events(wanted.length);
      while (seen.at(-1).event_id !== last) seen.push(...(await subscriber.events(1)));
      assert.deepEqual(passed(seen), wanted);
      await subscriber.leave();
    });
  }

  it('ignores data that is not signed', async () => {
    const claims = { kind: 'labels', organizationId: second, type: 'BALANCE_FINALIZED_UPDATES', webhookVersion: '7' };
    const truth = { type: 'transaction:status', organizationId: STRANGER, parentOrganizationId: first };
    const cursor = await endOfLog();
    const { eventId } = await deliver(simulator, { json: truth, faults: [claims] });
    const events = (filter) => listAll(gateway, { cursor, filter });
    const claimed = [{ organization_ids: [second] }, { organization_ids: [ORGANIZATION] }, { types: [claims.type] }];
    for (const filter of claimed) assert.deepEqual(await events(filter), []);
    for (const filter of [{ organization_ids: [STRANGER] }, { organization_ids: [first] }]) {
      const [event, ...others] = await events({ ...filter, types: ['SEND_TRANSACTION_STATUS_UPDATES'] });
      assert.deepEqual([event.event_id, others], [eventId, []]);
      assert.equal(event.type, 'SEND_TRANSACTION_STATUS_UPDATES');
      assert.equal(event.organization_id, STRANGER);
      assert.equal(event.parent_organization_id, first);
      assert.deepEqual(event.transaction_status_update, {
        type: 'transaction:status',
        organization_id: STRANGER,
        parent_organization_id: first,
      });
      assert.deepEqual(event.headers.slice(0, 2), [
        { name: 'X-Service-Organization-Id', value: second },
        { name: 'X-Service-Event-Type', value: 'BALANCE_FINALIZED_UPDATES' },
      ]);
    }
  });
});
