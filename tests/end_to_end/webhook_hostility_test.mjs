// Sends requests that resemble deliveries to the real port. The gateway stores none of these requests, and stores the
// next honest delivery. verifier_property_test.cc and receiver_framing_test.cc test all kinds of such requests.
//
// With STAMPGATE_LONG=1 the test uses 20,000 mutations instead of 600. STAMPGATE_SEED=... chooses other random values.
import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import { headerName } from '../simulator/webhook_signature.mjs';
import { connectTo, delivery, exchangeBytes, requestOf, sendAll, tallyOf } from './raw_deliveries.mjs';
import { startEventStack } from './event_stack.mjs';
import { HANG_MS } from './harness.mjs';
import { LONG } from './processes.mjs';
import { Random } from './random.mjs';
import { idsOf, listAll } from './subscriber.mjs';

const timeout = LONG ? 5 * HANG_MS : HANG_MS;
const stack = await startEventStack({ after });
const { simulator, gateway } = stack;
const url = gateway.webhookUrl;

const honest = [];

/** Checks that the gateway stores an honest delivery after each test, and that the log has only honest ones. */
afterEach(async () => {
  honest.push(`honest-${honest.length}`);
  const [status] = await sendAll(url, [requestOf(url, delivery(simulator, { eventId: honest.at(-1) }))]);
  assert.equal(status, 200);
  assert.deepEqual(idsOf(await listAll(gateway)), honest);
});

describe('a mutated delivery', () => {
  const SIGNED = ['Timestamp', 'Event-Id', 'Signature-Key-Id', 'Signature-Algorithm', 'Signature-Version', 'Signature'];
  const nameOf = (name) => headerName(name, simulator.webhooks.operator);

  const valueOf = ({ headers }, name) => headers.find(([each]) => each === nameOf(name))[1];

  /** The delivery with other values for some headers. */
  const withValues = ({ headers, body }, values) => ({
    headers: headers.map(([name, value]) => {
      const changed = Object.keys(values).find((each) => nameOf(each) === name);
      return [name, changed === undefined ? value : values[changed]];
    }),
    body,
  });

  /** Changes to a genuine delivery, each with the expected statuses. Each change gets a delivery of its own. */
  const mutations = {
    'a bit of the body': {
      status: 401,
      mutate: (random, { headers, body }) => {
        const changed = Buffer.from(body);
        changed[random.below(body.length)] ^= 1 << random.below(8);
        return { headers, body: changed };
      },
    },
    'a repeated signed header': {
      status: 400,
      mutate: (random, { headers, body }) => {
        const [name, value] = random.pick(headers.filter(([each]) => SIGNED.some((wanted) => nameOf(wanted) === each)));
        return { headers: [...headers, [random.pick([name, name.toLowerCase()]), value]], body };
      },
    },
    'a signed time long ago or far ahead': {
      status: 503,
      mutate: (random, message, resign) => {
        const away = 301_000 + random.below(1_000_000);
        return resign({ timestamp: String(Date.now() + (random.below(2) === 0 ? away : -away)) });
      },
    },
  };

  for (const [name, { status, mutate }] of Object.entries(mutations)) {
    test(name, { timeout }, async (t) => {
      const random = new Random(t);
      const count = Math.ceil((LONG ? 20_000 : 600) / Object.keys(mutations).length);
      const requests = Array.from({ length: count }, (_, index) => {
        const eventId = `${honest.length}.mutated.${index}`;
        const resign = (changes) => delivery(simulator, { eventId }, changes);
        return requestOf(url, mutate(random, resign({}), resign));
      });
      assert.deepEqual(tallyOf(await sendAll(url, requests, { connections: 8 })), { [status]: count });
    });
  }

  test('is refused, unlike a genuine one whose hex digits or header names have another case', async () => {
    const eventId = (honest[honest.length] = `honest-${honest.length}`);
    const message = delivery(simulator, { eventId });
    const headers = message.headers.map(([name, value]) => [name.toUpperCase(), value]);
    const genuine = withValues(message, { Signature: valueOf(message, 'Signature').toUpperCase() });
    assert.deepEqual(
      await sendAll(url, [requestOf(url, genuine), requestOf(url, { headers, body: message.body })]),
      [200, 200],
    );
  });
});

describe('an ambiguous request, which two parsers might parse differently', () => {
  const { host, pathname } = new URL(url);

  /** The bytes of a request with a genuine delivery. The arguments replace its parts. */
  function request({ fields, body, eol = '\r\n' }) {
    const message = delivery(simulator, { eventId: `smuggled-${honest.length}` });
    const bytes = message.body;
    const lines = [
      `POST ${pathname} HTTP/1.1`,
      `Host: ${host}`,
      ...message.headers.map(([name, value]) => `${name}: ${value}`),
      ...(fields?.(bytes.length) ?? [`Content-Length: ${bytes.length}`]),
    ];
    return Buffer.concat([
      Buffer.from(lines.map((each) => each + eol).join('') + eol, 'latin1'),
      body?.(bytes) ?? bytes,
    ]);
  }

  const chunked = (body) =>
    Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')]);
  const inside = () => request({});

  /**
   * Ambiguous requests. The gateway answers each with a status from 400 to 499 or not at all, and closes the
   * connection: it reads no further request.
   */
  const attacks = {
    'a length and chunks': request({ fields: (size) => [`Content-Length: ${size}`, 'Transfer-Encoding: chunked'] }),
    'chunked twice': request({ fields: () => ['Transfer-Encoding: chunked, chunked'], body: chunked }),
    'chunked before something else': request({ fields: () => ['Transfer-Encoding: chunked, gzip'], body: chunked }),
    'bare carriage returns': request({ eol: '\r' }),
    'zero bytes': Buffer.alloc(4096),
    'an answer': Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'),
  };
  for (const [name, bytes] of Object.entries(attacks)) {
    test(name, { timeout }, async () => {
      const { statuses, closed } = await exchangeBytes(url, Buffer.concat([bytes, inside()]));
      assert.ok(closed);
      assert.ok(statuses.length <= 1, statuses.join(' '));
      const expected = name.startsWith('chunked') ? [503] : [400, 404, 405, 413];
      for (const status of statuses) assert.ok(expected.includes(status), `${status}`);
    });
  }

  test('garbage after an honest delivery', { timeout }, async (t) => {
    const random = new Random(t);
    for (let count = LONG ? 2000 : 50; count > 0; --count) {
      honest.push(`honest-${honest.length}`);
      const genuine = requestOf(url, delivery(simulator, { eventId: honest.at(-1) }));
      // The garbage is no valid request, and contains the end of a request head.
      const garbage = Buffer.concat([Buffer.from('\0'), random.bytes(32), Buffer.from('\r\n\r\n')]);
      const { statuses, closed } = await exchangeBytes(url, Buffer.concat([genuine, garbage, inside()]));
      assert.deepEqual([statuses, closed], [[200, 400], true]);
    }
  });

  test('a delivery that ends at any byte', { timeout }, async (t) => {
    const random = new Random(t);
    const whole = request({});
    const cuts = Array.from({ length: LONG ? 2000 : 100 }, () => random.below(whole.length));
    await Promise.all(
      cuts.map(
        (cut) =>
          new Promise((resolve) => {
            const socket = connectTo(url);
            socket
              .on('close', resolve)
              .on('connect', () => socket.end(whole.subarray(0, cut)))
              .resume();
          }),
      ),
    );
  });
});
