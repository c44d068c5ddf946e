// Tests webhook deliveries: the status that the sender gets, and whether the event log contains the delivery.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ORGANIZATION, exchange } from '../simulator/testing.mjs';
import { ADMIN, metricsOf } from './admin_port.mjs';
import { deliver, startEventStack } from './event_stack.mjs';
import { HANG_MS, WEBHOOK_PATH } from './harness.mjs';
import { logged } from './log_lines.mjs';
import { until } from './processes.mjs';
import { delivery as signedDelivery, exchangeBytes, requestOf, sendAll, tallyOf } from './raw_deliveries.mjs';
import { LATEST, idsOf, listAll } from './subscriber.mjs';

const MAX_BODY_BYTES = 65_536;
const ONCE = { maxAttempts: 1 };

const SIGNED = ['Timestamp', 'Event-Id', 'Signature-Key-Id', 'Signature-Algorithm', 'Signature-Version', 'Signature'];
const LABELS = ['Organization-Id', 'Event-Type', 'Webhook-Version', 'Content-Type'];

/** A JSON body that is exactly `bytes` bytes long. */
const filled = (bytes) => `{"a":"${'x'.repeat(bytes - 8)}"}`;

const headerFault = (kind, header, more) => ({ kind, header, ...more });
const NO_SIGNATURE = headerFault('missingHeader', 'Signature');
const TOO_MUCH = { kind: 'hugeBody', bytes: MAX_BODY_BYTES + 1 };
const PIECES = { kind: 'chunked', bytes: 1000 };

/** Makes a row: title, event to send, expected status, and the outcome in the gateway's log if it is refused. */
const faulty = (title, fault, status, outcome, event = {}) => [title, { ...event, faults: [fault] }, status, outcome];
const both = (title, one, other, ...rest) => faulty(title, { kind: 'together', faults: [one, other] }, ...rest);
const withBody = (title, body, status, outcome) => [title, { body: Buffer.from(body) }, status, outcome];

/** Makes a row in which a header has this value, which the signature covers. */
function withHeader(header, value, ...rest) {
  const title = `${header}: ${value.length > 40 ? `${value.slice(0, 10)}... (${value.length})` : value}`;
  const latin1 = Buffer.from(value).toString('latin1');
  return faulty(title, headerFault('malformedHeader', header, { value: latin1 }), ...rest);
}

const CASES = [
  ['nothing wrong', {}, 200],

  // These faults may be the gateway's own and temporary. The gateway answers 503, so that the sender repeats the
  // delivery.
  faulty('another version', { kind: 'version' }, 503, 'unsupported_signature_version'),
  faulty('a version in capitals', { kind: 'version', value: 'V1' }, 503, 'unsupported_signature_version'),
  faulty('another algorithm', { kind: 'algorithm' }, 503, 'unsupported_signature_algorithm'),
  faulty('the name of the key type', { kind: 'algorithm', value: 'EdDSA' }, 503, 'unsupported_signature_algorithm'),
  faulty('an unknown key', { kind: 'keyId' }, 503, 'missing_key'),
  faulty('a known key with capitals', { kind: 'keyId', value: 'WEBHOOK-KEY-1' }, 503, 'missing_key'),
  faulty('a time six minutes ago', { kind: 'timestamp', offsetMs: -360_000 }, 503, 'stale_timestamp'),
  faulty('a time six minutes ahead', { kind: 'timestamp', offsetMs: 360_000 }, 503, 'stale_timestamp'),
  faulty('a time of 1970', { kind: 'timestamp', value: '0' }, 503, 'stale_timestamp'),
  faulty('the largest time', { kind: 'timestamp', value: '9007199254740991' }, 503, 'stale_timestamp'),
  faulty('a time four minutes ago', { kind: 'timestamp', offsetMs: -240_000 }, 200),
  faulty('a time four minutes ahead', { kind: 'timestamp', offsetMs: 240_000 }, 200),

  ...[0, 31, 32, 63].map((byte) =>
    faulty(`a signature with byte ${byte} changed`, { kind: 'wrongSignature', byte }, 401, 'invalid_signature'),
  ),
  faulty("another key's signature", { kind: 'otherKey' }, 401, 'invalid_signature'),
  faulty('a changed body', { kind: 'flippedBody' }, 401, 'invalid_signature'),
  faulty('a body whose first byte changed', { kind: 'flippedBody', byte: 0 }, 401, 'invalid_signature'),
  faulty('a signature in capitals', { kind: 'upperCaseHex' }, 200),
  faulty('header names in lower case', { kind: 'lowerCaseNames' }, 200),

  ...SIGNED.flatMap((header) => [
    faulty(`no ${header}`, headerFault('missingHeader', header), 400, 'missing_header'),
    faulty(`an empty ${header}`, headerFault('malformedHeader', header, { value: '' }), 400, 'missing_header'),
    faulty(`${header} twice`, headerFault('duplicateHeader', header), 400, 'duplicate_header'),
    faulty(`another ${header} too`, headerFault('duplicateHeader', header, { value: 'x' }), 400, 'duplicate_header'),
  ]),
  ...['Timestamp', 'Signature'].map((header) =>
    faulty(`a malformed ${header}`, headerFault('malformedHeader', header), 400, 'malformed_header'),
  ),
  ...LABELS.flatMap((header) => [
    faulty(`no ${header}, which is not signed`, headerFault('missingHeader', header), 200),
    faulty(`${header} twice, which is not signed`, headerFault('duplicateHeader', header), 200),
    faulty(`a malformed ${header}, which is not signed`, headerFault('malformedHeader', header), 200),
  ]),
  ...[
    ...['-1', '+1', '1e12', '0x10', '17000000000000000', '9007199254740992', '١'].map((value) => ['Timestamp', value]),
    ...['a'.repeat(127), 'a'.repeat(129), 'g'.repeat(128), `0x${'a'.repeat(126)}`].map((value) => ['Signature', value]),
  ].map(([header, value]) => withHeader(header, value, 400, 'malformed_header')),

  // The forms of ids. An id of another form than usual is accepted if the signed bytes have one split.
  ...['a/b', 'a+b/c=', 'a b', 'a{', '{"a":1.5}', 'x'.repeat(129), 'x'.repeat(1024), `Az09._:-${'x'.repeat(120)}`].map(
    (eventId) => [`the event id ${eventId.slice(0, 20)} of ${eventId.length} bytes`, { eventId }, 200],
  ),
  ...['é', 'x'.repeat(1025)].map((value) => withHeader('Event-Id', value, 503, 'unsupported_identifier')),
  withHeader('Event-Id', 'a/b.5.c', 503, 'unsupported_identifier'),
  ...['é', 'x'.repeat(1025)].map((value) => withHeader('Signature-Key-Id', value, 503, 'unsupported_identifier')),
  ...['a.b', 'a+b/c=', 'x'.repeat(129)].map((value) => withHeader('Signature-Key-Id', value, 503, 'missing_key')),

  // Another scheme can have other headers with other forms.
  ...['v2', 'v 1', 'x'.repeat(65)].flatMap((value) => [
    withHeader('Signature-Version', value, 503, 'unsupported_signature_version'),
    both(
      `the version ${value.slice(0, 5)} and a longer signature`,
      { kind: 'version', value },
      headerFault('malformedHeader', 'Signature', { value: 'ab'.repeat(1000) }),
      503,
      'unsupported_signature_version',
    ),
  ]),
  ...['ml-dsa-65', 'ed 25519'].map((value) =>
    withHeader('Signature-Algorithm', value, 503, 'unsupported_signature_algorithm'),
  ),

  // Each of these deliveries has two faults. The first check that fails decides the answer.
  both('too much body, and no signature', TOO_MUCH, NO_SIGNATURE, 413, 'too_large'),
  both('no signature, of another version', NO_SIGNATURE, { kind: 'version' }, 503, 'unsupported_signature_version'),
  both('another version, an unknown key', { kind: 'version' }, { kind: 'keyId' }, 503, 'unsupported_signature_version'),
  both('an unknown key, a wrong signature', { kind: 'keyId' }, { kind: 'wrongSignature' }, 503, 'missing_key'),
  both(
    'a wrong signature, and a time in 1970',
    { kind: 'otherKey' },
    { kind: 'timestamp', value: '1' },
    401,
    'invalid_signature',
  ),
  faulty('a body that is no JSON, and a time in 1970', { kind: 'timestamp', value: '1' }, 503, 'stale_timestamp', {
    body: 'no JSON',
  }),

  // The gateway stores every body that upstream signed.
  withBody('no body', '', 200),
  withBody('a text', 'text', 200),
  withBody('a list', '[{}]', 200),
  withBody('a string', '"{}"', 200),
  withBody('null', 'null', 200),
  withBody('half an object', '{"type":"a"', 200),
  withBody('two objects', '{}{}', 200),
  withBody('an object and more', '{} x', 200),
  withBody('a member twice', '{"type":"a","type":"b"}', 200),
  withBody('a member twice, once with an escape', '{"type":"a","typ\\u0065":"b"}', 200),
  withBody('a comma too many', '{"a":1,}', 200),
  withBody('an invalid number', '{"a":01}', 200),
  withBody('a control character', '{"a":"\u0001"}', 200),
  withBody('a byte order mark', '\ufeff{}', 200),
  withBody('a NUL after it', '{}\u0000', 200),
  withBody('no UTF-8', [...Buffer.from('{"a":"'), 0xff, ...Buffer.from('"}')], 200),
  withBody('much too deep', `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`, 200),
  withBody('deep', `${'{"a":'.repeat(63)}{}${'}'.repeat(63)}`, 200),
  withBody('half a character, escaped', '{"type":"\\ud800"}', 200),
  withBody('an empty object', '{}', 200),
  withBody('white space around an object', '\n\t {} \r\n', 200),

  withBody('the largest body', filled(MAX_BODY_BYTES), 200),
  withBody('a byte more', filled(MAX_BODY_BYTES + 1), 413, 'too_large'),
  faulty('pieces', { kind: 'chunked', bytes: 7 }, 200),
  faulty('chunks of one byte', { kind: 'chunked', bytes: 1 }, 200),
  faulty('the largest body in chunks', PIECES, 200, undefined, { body: filled(MAX_BODY_BYTES) }),
  faulty('a byte more than the largest body, in chunks', PIECES, 413, 'too_large', {
    body: filled(MAX_BODY_BYTES + 1),
  }),
];

describe('a delivery with', { timeout: HANG_MS }, async () => {
  const stack = await startEventStack({ after }, { webhooks: { max_body_bytes: MAX_BODY_BYTES } });
  const { simulator } = stack;
  const expected = [];
  const reasons = [];
  before(() => simulator.webhooks.change(ONCE));

  for (const [title, event, status, outcome] of CASES) {
    it(`${title} is answered ${status}`, async () => {
      const { cursor } = await stack.gateway.call('EventService/ListEvents', LATEST);
      const delivered = await deliver(simulator, event);
      assert.equal(delivered.status, status, delivered.error);
      const stored = status === 200 ? [delivered.eventId] : [];
      assert.deepEqual(idsOf(await listAll(stack.gateway, { cursor })), stored);
      for (const event_id of stored) await stack.gateway.call('EventService/GetEvent', { event_id });
      expected.push(...stored);
      if (outcome) reasons.push([status, outcome]);
    });
  }

  it('any of these is in the event log if it was acknowledged, and otherwise the process log has the reason', async () => {
    assert.deepEqual(idsOf(await listAll(stack.gateway)), expected);
    await stack.gateway.stop();
    const told = logged(stack.gateway, 'delivery_not_stored');
    assert.deepEqual(
      told.map(({ http_status, outcome }) => [http_status, outcome]),
      reasons,
    );
    await stack.start();
    assert.deepEqual(idsOf(await listAll(stack.gateway)), expected);
  });
});

describe('a body that is no JSON object', { timeout: HANG_MS }, async () => {
  const { simulator, gateway } = await startEventStack({ after });
  const bodies = [
    ...['', 'text', '[{}]', '{"organizationId":"a","organizationId":"b"}', `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`],
    Buffer.from([0x7b, 0xff, 0xfe, 0x00, 0x7d]),
  ];
  for (const body of bodies) {
    const bytes = Buffer.from(body);
    it(`is stored, marked, and returned unchanged: ${JSON.stringify(bytes.toString('latin1').slice(0, 50))}`, async () => {
      const { cursor } = await gateway.call('EventService/ListEvents', LATEST);
      const { eventId: event_id, status } = await deliver(simulator, { bodyBase64: bytes.toString('base64') });
      assert.equal(status, 200);
      const [event, ...others] = await listAll(gateway, { cursor });
      assert.deepEqual([event.event_id, others], [event_id, []]);
      assert.ok((event.body ?? Buffer.alloc(0)).equals(bytes));
      assert.equal(event.decoded_omitted, true);
      assert.equal(event.decoded_omitted_reason, 'DECODED_OMITTED_REASON_NOT_A_JSON_OBJECT');
      const said = [event.type, event.organization_id, event.parent_organization_id];
      assert.deepEqual(said, [undefined, undefined, undefined]);
      assert.deepEqual((await gateway.call('EventService/GetEvent', { event_id })).event, event);
    });
  }

  it('is refused if it is made of a genuine event by moving a part of the id into the body', async () => {
    const { cursor } = await gateway.call('EventService/ListEvents', LATEST);
    const genuine = signedDelivery(simulator, { eventId: 'a.b.c', body: Buffer.from('{"organizationId":"o"}') });
    const forged = {
      headers: genuine.headers.map(([name, value]) => [name, value === 'a.b.c' ? 'a.b' : value]),
      body: Buffer.concat([Buffer.from('c.'), genuine.body]),
    };
    const requests = [forged, genuine].map((message) => requestOf(gateway.webhookUrl, message));
    assert.deepEqual(await sendAll(gateway.webhookUrl, requests), [401, 200]);
    assert.deepEqual(idsOf(await listAll(gateway, { cursor })), ['a.b.c']);
  });
});

describe('a request that is no delivery', { timeout: HANG_MS }, async () => {
  const { simulator, gateway } = await startEventStack({ after });
  const base = gateway.webhookUrl.slice(0, -WEBHOOK_PATH.length);

  for (const path of [
    ...['/', '/hooks', '/hooks/', '/livez', '/metrics', WEBHOOK_PATH.toUpperCase(), WEBHOOK_PATH.replace('0', '%30')],
    ...[`/${WEBHOOK_PATH}`, `${WEBHOOK_PATH}/`, `${WEBHOOK_PATH}x`, `${WEBHOOK_PATH}?a=b`, WEBHOOK_PATH.slice(0, -1)],
  ]) {
    it(`gets 404 at the path ${path}, even with a valid signature`, async () => {
      const { status } = await deliver(simulator, { url: base + path });
      assert.equal(status, 404);
      assert.deepEqual(await listAll(gateway), []);
    });
  }

  for (const method of ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
    it(`gets 405 if the method is ${method}, and 404 at other paths`, async () => {
      const { status, headers } = await exchange(gateway.webhookUrl, { method });
      assert.deepEqual([status, headers.allow], [405, 'POST']);
      assert.equal((await exchange(`${base}/elsewhere`, { method })).status, 404);
    });
  }

  it('ends too early: nothing is answered or stored', async () => {
    simulator.webhooks.change(ONCE);
    const { status, error } = await deliver(simulator, { faults: [{ kind: 'truncatedBody' }] });
    assert.equal(status, undefined);
    assert.ok(error);
    assert.deepEqual(await listAll(gateway), []);
  });

  it('gets a response with nothing but the status', async () => {
    for (const url of [gateway.webhookUrl, `${base}/elsewhere`]) {
      const { body, headers } = await exchange(url);
      assert.equal(body.length, 0);
      assert.deepEqual(Object.keys(headers).sort(), ['connection', 'content-length']);
    }
  });
});

describe('a delivery that fails before its signature is checked', { timeout: HANG_MS }, () => {
  /** The number of refused deliveries by outcome. */
  const refusedOf = (metrics) =>
    Object.fromEntries(
      [...metrics].flatMap(([id, count]) => {
        const [, outcome] = /^stampgate_deliveries_total\{outcome="(.*)"\}$/.exec(id) ?? [];
        return outcome && count > 0 ? [[outcome, count]] : [];
      }),
    );

  it('is counted and logged, and the log has no byte of it', async (t) => {
    const { simulator, gateway } = await startEventStack(t, { config: { admin: ADMIN } });
    const url = gateway.webhookUrl;
    const before = await metricsOf(gateway);
    assert.deepEqual(refusedOf(before), {});
    const attempts = [
      ['GET /canary HTTP/1.1\r\nHost: canary\r\n\r\n', 404, 'not_found'],
      [`CANARY ${WEBHOOK_PATH} HTTP/1.1\r\nHost: canary\r\n\r\n`, 405, 'method_not_allowed'],
      [`POST ${WEBHOOK_PATH} HTTP/1.1\r\nHost: canary\r\nContent-Length: 4194305\r\n\r\n`, 413, 'too_large'],
      [`POST ${WEBHOOK_PATH} HTTP/3.0\r\nHost: canary\r\n\r\n`, 503, 'unsupported_http'],
      [`POST ${WEBHOOK_PATH} HTTP/1.1\nHost: canary\n\n`, 400, 'malformed_http'],
      [`POST ${WEBHOOK_PATH} HTTP/1.1\r\nX-A: ${'canary'.repeat(3000)}`, 503, 'head_too_large'],
    ];
    for (const [text, status, outcome] of attempts) {
      assert.equal(before.get(`stampgate_deliveries_total{outcome="${outcome}"}`), 0, 'shown before there is one');
      assert.deepEqual(await exchangeBytes(url, Buffer.from(text)), { statuses: [status], closed: true });
    }
    const expected = Object.fromEntries(attempts.map(([, , outcome]) => [outcome, 1]));
    assert.deepEqual(refusedOf(await metricsOf(gateway)), expected);

    // The held call keeps the gateway draining. A draining gateway answers deliveries with 503. Without endpoints, the
    // simulator sends no event for the held call.
    simulator.webhooks.setEndpoints(null, []);
    simulator.addFaults([{ kind: 'slow', untilReleased: true }]);
    const call = gateway.call('OrganizationService/UpdateOrganizationName', {
      organization_id: ORGANIZATION,
      parameters: { organization_name: 'n' },
    });
    await simulator.waitFor({ held: 1 });
    gateway.child.kill('SIGTERM');
    const elsewhere = url.replace(WEBHOOK_PATH, '/canary');
    // When the drain begins, the gateway closes idle connections. It may also close a connection whose request has not
    // arrived yet.
    const status = () =>
      exchange(elsewhere).then(
        (answer) => answer.status,
        (error) => error.code,
      );
    await until(async () => (await status()) === 503, 'it drains');
    const drained = refusedOf(await metricsOf(gateway));
    assert.ok(drained.draining >= 1);
    simulator.release();
    await call;
    await gateway.exited;
    const told = logged(gateway, 'delivery_not_stored');
    assert.deepEqual(tallyOf(told.map(({ outcome }) => outcome)), drained);
    for (const [, status, outcome] of attempts) {
      const [{ time, ...line }] = told.filter((each) => each.outcome === outcome);
      assert.ok(time);
      assert.deepEqual(line, {
        severity: 'WARNING',
        event: 'delivery_not_stored',
        http_status: status,
        outcome,
        header: '',
        event_id: '',
      });
    }
    assert.doesNotMatch(gateway.output, /canary|0123456789abcdefghijklmn/i);
  });

  it('is counted but not logged if there are too many in a second; the log has the number of omitted lines', async (t) => {
    const { gateway } = await startEventStack(t, { config: { admin: ADMIN } });
    const nowhere = gateway.webhookUrl.replace(WEBHOOK_PATH, '/nowhere');
    const requests = Array.from({ length: 500 }, () => requestOf(nowhere, { headers: [], body: Buffer.alloc(0) }));
    // Each request uses a new connection, because the gateway closes a connection after a refusal.
    for (let i = 0; i < requests.length; i += 50) {
      const statuses = await sendAll(nowhere, requests.slice(i, i + 50), { connections: 50 });
      assert.deepEqual(tallyOf(statuses), { 404: 50 });
    }
    assert.deepEqual(refusedOf(await metricsOf(gateway)), { not_found: requests.length });
    await gateway.stop();
    const told = logged(gateway, 'delivery_not_stored').length;
    const leftOut = logged(gateway, 'deliveries_left_out');
    for (const { outcome } of leftOut) assert.equal(outcome, 'not_found');
    assert.equal(
      leftOut.reduce((sum, { count }) => sum + Number(count), told),
      requests.length,
    );
    t.diagnostic(`${told} logged, ${requests.length - told} omitted`);
  });
});

describe('a delivery', { timeout: HANG_MS }, async () => {
  const stack = await startEventStack({ after });
  const { simulator, gateway } = stack;
  const { webhooks } = simulator;
  before(() => webhooks.change({ retryMs: 5, maxRetryMs: 20 }));

  it('that is slow is stored if it arrives in time', async () => {
    const { cursor } = await gateway.call('EventService/ListEvents', LATEST);
    const { eventId, done } = webhooks.send({ faults: [{ kind: 'slowBody', ms: 1 }] });
    await webhooks.waitFor({ held: 1 });
    webhooks.release();
    const [{ attempts }] = await done;
    assert.deepEqual(
      attempts.map(({ status }) => status),
      [200],
    );
    assert.deepEqual(idsOf(await listAll(gateway, { cursor })), [eventId]);
  });

  it('that is too slow gets 503, and its repetition is stored', async (t) => {
    const hasty = await startEventStack(t, { webhooks: { request_timeout: '300ms' } });
    const { eventId, done } = hasty.simulator.webhooks.send({ faults: [{ kind: 'slowBody' }] });
    const [{ attempts }] = await done;
    assert.deepEqual([attempts.at(0).status, attempts.at(-1).status], [503, 200]);
    assert.deepEqual(idsOf(await listAll(hasty.gateway)), [eventId]);
  });

  it('whose response was lost is sent again, and is stored as one event', async () => {
    const { cursor } = await gateway.call('EventService/ListEvents', LATEST);
    const { eventId, done } = webhooks.send({ faults: [{ kind: 'answerLost', times: 3 }] });
    const [{ attempts }] = await done;
    assert.deepEqual(
      attempts.map(({ status }) => status),
      [200, 200, 200, 200],
    );
    const timestamps = attempts.map(({ headers }) => headers.find(([name]) => name === 'X-Service-Timestamp')[1]);
    const [event, ...others] = await listAll(gateway, { cursor });
    assert.deepEqual([event.event_id, others], [eventId, []]);
    // The stored event has the signature of the first delivery.
    assert.equal(event.signature.timestamp_ms, timestamps[0]);
  });

  it('that is repeated after a 200 is stored as one event', async () => {
    const { cursor } = await gateway.call('EventService/ListEvents', LATEST);
    const { eventId, done } = webhooks.send({ faults: [{ kind: 'repeated', count: 5 }] });
    const states = (await done).map(({ state }) => state);
    assert.deepEqual(
      states,
      Array.from({ length: 6 }, () => 'acknowledged'),
    );
    assert.deepEqual(idsOf(await listAll(gateway, { cursor })), [eventId]);
  });

  it('that arrives many times concurrently is stored as one event', async () => {
    const { cursor } = await gateway.call('EventService/ListEvents', LATEST);
    const event = { eventId: 'at-once', body: '{"at":"once"}' };
    const all = await Promise.all(Array.from({ length: 30 }, () => deliver(simulator, event)));
    assert.deepEqual([...new Set(all.map(({ status }) => status))], [200]);
    assert.deepEqual(idsOf(await listAll(gateway, { cursor })), ['at-once']);
  });

  it('with the id of another event is acknowledged, and the log keeps the first event', async () => {
    const { cursor } = await gateway.call('EventService/ListEvents', LATEST);
    const { eventId } = await deliver(simulator, { body: '{"which":"first"}' });
    assert.equal((await deliver(simulator, { eventId, body: '{"which":"second"}' })).status, 200);
    await stack.restart();
    assert.equal((await deliver(simulator, { eventId, body: '{"which":"third"}' })).status, 200);
    const events = await listAll(stack.gateway, { cursor });
    assert.deepEqual(
      events.map(({ event_id, body }) => [event_id, String(body)]),
      [[eventId, '{"which":"first"}']],
    );
    await stack.gateway.stop();
    assert.deepEqual(
      logged(stack.gateway, 'delivery_not_stored').map(({ outcome, event_id }) => [outcome, event_id]),
      [['conflict', eventId]],
    );
    await stack.start();
  });

  it('is recognized after a restart: its repetition is no new event', async () => {
    const { cursor } = await stack.gateway.call('EventService/ListEvents', LATEST);
    const { eventId, body } = await deliver(simulator);
    await stack.restart('SIGKILL');
    assert.equal((await deliver(simulator, { eventId, body })).status, 200);
    assert.deepEqual(idsOf(await listAll(stack.gateway, { cursor })), [eventId]);
  });
});
