// Event ids are unique within an organization: two organizations may have events with the same id.
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { deliver, startEventStack } from './event_stack.mjs';
import { described } from './failures.mjs';
import { HANG_MS } from './harness.mjs';
import { logged } from './log_lines.mjs';
import { LATEST, idsOf, listAll } from './subscriber.mjs';

const [PARENT, FIRST, SECOND] = ['parent', 'first', 'second'];

describe('events of several organizations with the same id', { timeout: HANG_MS }, async () => {
  const stack = await startEventStack({ after });
  const { simulator } = stack;
  const event_id = 'the-same';
  const BODIES = [
    { organizationId: FIRST, parentOrganizationId: PARENT, type: 'a' },
    { organizationId: SECOND, parentOrganizationId: PARENT, type: 'b' },
    { parentOrganizationId: PARENT, type: 'c' },
    { type: 'd' },
  ];
  const deliverAll = async (change = {}) => {
    for (const body of BODIES) {
      const { status } = await deliver(simulator, { eventId: event_id, json: { ...body, ...change } });
      assert.equal(status, 200);
    }
  };
  const typesOf = (events) => events.map(({ type }) => type);

  it('are all stored, each once', async () => {
    await deliverAll();
    await deliverAll();
    await stack.restart('SIGKILL');
    await deliverAll();
    await deliverAll({ type: 'changed' });
    const events = await listAll(stack.gateway);
    assert.deepEqual(typesOf(events), ['a', 'b', 'c', 'd']);
    assert.deepEqual([...new Set(idsOf(events))], [event_id]);
  });

  /** The results of GetEvent and ReadEventBody for a request. */
  async function read(request) {
    const { event } = await stack.gateway.call('EventService/GetEvent', request);
    const chunks = [];
    for await (const { chunk } of stack.gateway.stream('EventService/ReadEventBody', request)) chunks.push(chunk);
    assert.ok(Buffer.concat(chunks).equals(event.body));
    return event.type;
  }

  it('are found by their organization; an event without one is found by its parent organization', async () => {
    assert.equal(await read({ event_id, organization_id: FIRST }), 'a');
    assert.equal(await read({ event_id, organization_id: SECOND }), 'b');
    assert.equal(await read({ event_id, organization_id: PARENT }), 'c');
    assert.equal(await read({ event_id, organization_id: '' }), 'd');
    for (const request of [
      { event_id, organization_id: 'another' },
      { event_id: 'another', organization_id: FIRST },
    ]) {
      const { code, reason } = described(await stack.gateway.refusal('EventService/GetEvent', request));
      assert.deepEqual([code, reason], ['NOT_FOUND', 'EVENT_NOT_FOUND']);
    }
  });

  it('are found without an organization too: the gateway returns the first event that the caller may see', async () => {
    assert.equal(await read({ event_id }), 'a');
    const [caller] = stack.config.callers;
    const grants = [{ classes: ['events'], organizations: [SECOND] }];
    await stack.gateway.stop();
    stack.config.callers = [{ ...caller, grants }];
    await stack.start();
    assert.equal(await read({ event_id }), 'b');
    for (const organization_id of [FIRST, PARENT, '']) {
      const error = await stack.gateway.refusal('EventService/GetEvent', { event_id, organization_id });
      assert.equal(described(error).reason, 'EVENT_NOT_FOUND', organization_id);
    }
    await stack.gateway.stop();
    stack.config.callers = [caller];
    await stack.start();
  });

  it('are a conflict if the body differs within one organization, and a new event in another', async () => {
    const { cursor } = await stack.gateway.call('EventService/ListEvents', LATEST);
    const json = { organizationId: FIRST, type: 'e' };
    await deliver(simulator, { eventId: 'changed', json });
    await deliver(simulator, { eventId: 'changed', json: { ...json, type: 'f' } });
    await deliver(simulator, { eventId: 'changed', json: { ...json, organizationId: SECOND } });
    assert.deepEqual(typesOf(await listAll(stack.gateway, { cursor })), ['e', 'e']);
    await stack.gateway.stop();
    const told = logged(stack.gateway, 'delivery_not_stored').filter((line) => line.event_id === 'changed');
    assert.deepEqual(
      told.map(({ outcome }) => outcome),
      ['conflict'],
    );
    await stack.start();
  });
});
