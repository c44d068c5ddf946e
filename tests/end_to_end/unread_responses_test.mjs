// Responses that a client does not read: each of them ends after memory.max_unread_time, and a connection whose client
// reads nothing, or leaves many responses unread, ends too.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { encode } from '../clients/gateway.mjs';
import { ORGANIZATION, identifier } from '../simulator/testing.mjs';
import { ADMIN, metricsOf } from './admin_port.mjs';
import { callersOf, makeTls } from './attacks/parties.mjs';
import { deliver, startEventStack } from './event_stack.mjs';
import { HANG_MS, scratch } from './harness.mjs';
import { ENHANCE_YOUR_CALM, Http2Attacker, INITIAL_WINDOW_SIZE, windowUpdate } from './http2_attacker.mjs';
import { logged } from './log_lines.mjs';
import { until } from './processes.mjs';

const NAME = 'honest';
const MEBIBYTE = 1 << 20;
/** A connection that has left this many responses unread stays open. */
const MOST_UNREAD = 100;
const MESSAGE = 'the client has not read the response for memory.max_unread_time';
const QUERY = ['PolicyService/GetPolicy', { organization_id: ORGANIZATION, policy_id: identifier(6) }];
const PATH = `/stampgate.v1.${QUERY[0]}`;
const REQUEST = encode(...QUERY);
/** A window that no response of the query fits in. */
const TINY = { [INITIAL_WINDOW_SIZE]: 10 };

describe('a response that the client does not read', { timeout: 2 * HANG_MS }, async () => {
  const folder = scratch({ after });
  const { section: tls, tlsOf } = makeTls(folder, [NAME]);
  const callers = callersOf([NAME], { classes: ['query', 'events'] });
  const config = { tls, admin: ADMIN, callers, memory: { max_unread_time: '1s' } };
  const { gateway, simulator } = await startEventStack({ after }, { folder, config });
  let eventId;
  before(async () => ({ eventId } = await deliver(simulator, { json: { type: 'a', text: 'x'.repeat(MEBIBYTE) } })));

  const open = (settings) => Http2Attacker.open(gateway.address, tlsOf[NAME], settings);
  const metric = async (name) => (await metricsOf(gateway)).get(`stampgate_${name}`);
  const isClosed = (times) =>
    until(async () => (await metric('connections_closed_total{reason="unread"}')) === times, 'it is counted');

  /** Begins calls whose responses are unread. Resolves when the gateway has ended them. */
  async function leaveUnread(client, count) {
    const streams = await client.call(PATH, count, REQUEST);
    await until(() => client.closed || streams.every((stream) => client.ended.has(stream)), 'the responses end');
    return streams;
  }

  it('ends with RESOURCE_EXHAUSTED, and the connection serves further calls', async (t) => {
    const client = await open(TINY);
    t.after(() => client.destroy());
    const [stream] = await leaveUnread(client, 1);
    const trailers = `${client.trailers.get(stream)}`;
    assert.ok(trailers.includes('grpc-status\u00018') && trailers.includes(MESSAGE), trailers);
    await until(async () => (await metric('unread_responses_total')) === 1, 'it is counted');
    await until(() => logged(gateway, 'response_unread').length === 1, 'the line');
    assert.equal(logged(gateway, 'response_unread')[0].peer, `(spiffe://example.org/${NAME})`);

    const [next] = await client.call(PATH, 1, REQUEST);
    await client.send(windowUpdate(next, MEBIBYTE));
    await until(() => client.ended.has(next), 'the next response');
    assert.ok(!`${client.trailers.get(next)}`.includes(MESSAGE));
  });

  it('ends the connection if the client has left more than a hundred unread', async (t) => {
    const client = await open(TINY);
    t.after(() => client.destroy());
    const streams = await leaveUnread(client, MOST_UNREAD);
    for (const stream of streams) assert.ok(`${client.trailers.get(stream)}`.includes(MESSAGE));
    assert.deepEqual([client.closed, client.goAways], [false, []]);
    await leaveUnread(client, 1);
    await until(() => client.closed, 'the connection ends');
    const text = 'the client does not read its responses within memory.max_unread_time';
    assert.deepEqual(client.goAways, [{ code: ENHANCE_YOUR_CALM, text }]);
    await isClosed(1);
  });

  it('ends the connection if the client accepts no bytes on it', async (t) => {
    const client = await open();
    t.after(() => client.destroy());
    const method = 'EventService/ReadEventBody';
    await client.call(`/stampgate.v1.${method}`, 1, encode(method, { event_id: eventId }));
    await until(() => client.closed, 'the connection ends');
    assert.equal(client.goAways[0].code, ENHANCE_YOUR_CALM);
    await isClosed(2);
  });
});
