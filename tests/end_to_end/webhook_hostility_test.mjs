// What looks almost like a delivery, on the real port: none of it enters the log, and the next honest one does.
//
// STAMPGATE_LONG=1: 20,000 mutations in place of 600. STAMPGATE_SEED=... chooses other ones.
import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import { headerName } from '../simulator/webhook_signature.mjs';
import { privateKeyOfSeed } from '../simulator/webhook_keys.mjs';
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

/** After whatever came, the gateway takes an honest delivery, and the log has the honest ones and no other. */
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

  /** The delivery with other values of headers; one that is undefined is left out. */
  const withValues = ({ headers, body }, values) => ({
    headers: headers.flatMap(([name, value]) => {
      const changed = Object.keys(values).find((each) => nameOf(each) === name);
      if (changed === undefined) return [[name, value]];
      return values[changed] === undefined ? [] : [[name, values[changed]]];
    }),
    body,
  });

  /** A text of the same length that is not the same in any case of letters. */
  function flipped(random, text) {
    const at = random.below(text.length);
    for (;;) {
      const other = String.fromCharCode(0x21 + random.below(0x7e - 0x20));
      if (other.toLowerCase() !== text[at].toLowerCase()) return text.slice(0, at) + other + text.slice(at + 1);
    }
  }

  /** Moves a dot of what is signed: the bytes under the signature stay the same. */
  function recut(random, message) {
    const values = ['Signature-Version', 'Signature-Algorithm', 'Signature-Key-Id', 'Timestamp', 'Event-Id'];
    const head = values.map((name) => valueOf(message, name)).join('.');
    const text = `${head}.${message.body.toString('latin1')}`;
    const own = new Set(
      values.map(
        (_, index) =>
          values
            .slice(0, index + 1)
            .map((name) => valueOf(message, name))
            .join('.').length,
      ),
    );
    const dots = [...text.matchAll(/\./g)].map(({ index }) => index);
    // Five dots of all that there are, in their order, but not those that were meant.
    let cuts;
    do {
      cuts = values.map(() => random.pick(dots)).sort((one, other) => one - other);
    } while (new Set(cuts).size < cuts.length || cuts.every((cut) => own.has(cut)));
    const parts = cuts.map((cut, index) => text.slice(index === 0 ? 0 : cuts[index - 1] + 1, cut));
    const changes = Object.fromEntries(values.map((name, index) => [name, parts[index]]));
    const body = Buffer.from(text.slice(cuts.at(-1) + 1), 'latin1');
    return withValues({ headers: message.headers, body }, changes);
  }

  const strangeKey = privateKeyOfSeed('77'.repeat(32));

  /** What is done to a genuine delivery, and what may be answered. Each gets one that nobody else has. */
  const mutations = {
    'a bit of the body': {
      statuses: [401],
      mutate: (random, { headers, body }) => {
        const changed = Buffer.from(body);
        changed[random.below(body.length)] ^= 1 << random.below(8);
        return { headers, body: changed };
      },
    },
    'the end of the body': {
      statuses: [401],
      mutate: (random, { headers, body }) => ({ headers, body: body.subarray(0, random.below(body.length)) }),
    },
    'something behind the body': {
      statuses: [401],
      mutate: (random, { headers, body }) => ({
        headers,
        body: Buffer.concat([body, random.bytes(1 + random.below(32))]),
      }),
    },
    'a character of a signed header': {
      statuses: [400, 401, 503],
      mutate: (random, message) => {
        const name = random.pick(SIGNED);
        return withValues(message, { [name]: flipped(random, valueOf(message, name)) });
      },
    },
    'a signed header that is cut': {
      statuses: [400, 401, 503],
      mutate: (random, message) => {
        const name = random.pick(SIGNED);
        const value = valueOf(message, name);
        return withValues(message, { [name]: value.slice(0, random.below(value.length)) });
      },
    },
    'a signed header that is missing': {
      statuses: [400],
      mutate: (random, message) => withValues(message, { [random.pick(SIGNED)]: undefined }),
    },
    'a signed header that is there twice': {
      statuses: [400],
      mutate: (random, { headers, body }) => {
        const [name, value] = random.pick(headers.filter(([each]) => SIGNED.some((wanted) => nameOf(wanted) === each)));
        return { headers: [...headers, [random.pick([name, name.toLowerCase()]), value]], body };
      },
    },
    'values of two headers in each other’s place': {
      statuses: [400, 401, 503],
      mutate: (random, message) => {
        const one = random.pick(SIGNED);
        const other = random.pick(SIGNED.filter((name) => name !== one));
        return withValues(message, { [one]: valueOf(message, other), [other]: valueOf(message, one) });
      },
    },
    "another delivery's value": {
      statuses: [401],
      mutate: (random, message, other) => {
        const name = random.pick(['Event-Id', 'Signature']);
        return withValues(message, { [name]: valueOf(other, name) });
      },
    },
    "another delivery's body": {
      statuses: [401],
      mutate: (random, { headers }, { body }) => ({ headers, body }),
    },
    'another key': {
      statuses: [401],
      mutate: (random, message, other, resign) => resign({ privateKey: strangeKey }),
    },
    'a time long ago or far ahead, signed': {
      statuses: [503],
      mutate: (random, message, other, resign) => {
        const away = 301_000 + random.below(1_000_000);
        return resign({ timestamp: String(Date.now() + (random.below(2) === 0 ? away : -away)) });
      },
    },
    'another algorithm or version, signed': {
      statuses: [503],
      mutate: (random, message, other, resign) => resign(random.pick([{ algorithm: 'ed448' }, { version: 'v2' }])),
    },
    'the dots, moved': { statuses: [400, 401, 503], mutate: recut },
  };

  for (const [name, { statuses, mutate }] of Object.entries(mutations)) {
    test(name, { timeout }, async (t) => {
      const random = new Random(t);
      const count = Math.ceil((LONG ? 20_000 : 600) / Object.keys(mutations).length);
      const requests = Array.from({ length: count }, (_, index) => {
        // With dots of its own, and in the body too.
        const eventId = `${honest.length}.mutated.${index}`;
        const resign = (changes) => delivery(simulator, { eventId }, changes);
        const other = delivery(simulator, { eventId: `${eventId}.other` });
        return requestOf(url, mutate(random, resign({}), other, resign));
      });
      const answers = tallyOf(await sendAll(url, requests, { connections: 8 }));
      assert.deepEqual(
        Object.keys(answers).filter((status) => !statuses.includes(Number(status))),
        [],
      );
      t.diagnostic(JSON.stringify(answers));
    });
  }

  test('is told apart from the genuine one, whose letters may be of either case', async () => {
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

describe('a request that two readers might read in two ways', () => {
  const { host, pathname } = new URL(url);
  const line = `POST ${pathname} HTTP/1.1`;

  /** The bytes of a genuine delivery's request; what is given replaces its parts. */
  function request({ first = line, fields, headers = (own) => own, body, eol = '\r\n' }) {
    const message = delivery(simulator, { eventId: `smuggled-${honest.length}` });
    const own = message.headers.map(([name, value]) => `${name}: ${value}`);
    const bytes = message.body;
    const lines = [
      first,
      `Host: ${host}`,
      ...headers(own),
      ...(fields?.(bytes.length) ?? [`Content-Length: ${bytes.length}`]),
    ];
    return Buffer.concat([
      Buffer.from(lines.map((each) => each + eol).join('') + eol, 'latin1'),
      body?.(bytes) ?? bytes,
    ]);
  }

  const chunked = (body) =>
    Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')]);
  const inside = () => request({ first: line });

  /** All are answered with one of these, or nothing, and closed: nothing behind them is read as a request. */
  const attacks = {
    'a length and chunks': request({ fields: (size) => [`Content-Length: ${size}`, 'Transfer-Encoding: chunked'] }),
    'chunks and a length': request({
      fields: () => ['Transfer-Encoding: chunked', 'Content-Length: 4'],
      body: chunked,
    }),
    'two lengths': request({ fields: (size) => [`Content-Length: ${size}`, 'Content-Length: 0'] }),
    'the same length twice': request({ fields: (size) => [`Content-Length: ${size}`, `Content-Length: ${size}`] }),
    'a list of lengths': request({ fields: (size) => [`Content-Length: ${size}, ${size}`] }),
    'a length with a sign': request({ fields: (size) => [`Content-Length: +${size}`] }),
    'a length in hex': request({ fields: (size) => [`Content-Length: 0x${size.toString(16)}`] }),
    'a length that is not there': request({ fields: () => ['Content-Length:'] }),
    'a length that overflows': request({ fields: (size) => [`Content-Length: ${2n ** 64n + BigInt(size)}`] }),
    'an encoding that is not chunked': request({ fields: () => ['Transfer-Encoding: x'] }),
    'chunked twice': request({ fields: () => ['Transfer-Encoding: chunked, chunked'], body: chunked }),
    'chunked before something else': request({ fields: () => ['Transfer-Encoding: chunked, gzip'], body: chunked }),
    'chunked in a strange spelling': request({ fields: () => ['Transfer-Encoding: \x0bchunked'], body: chunked }),
    'a blank before the colon': request({ fields: (size) => [`Content-Length : ${size}`] }),
    'a folded line': request({ fields: (size) => [`Content-Length: ${size}`, ' folded: yes'] }),
    'a line that begins with a blank': request({ fields: (size) => [` Content-Length: ${size}`] }),
    'bare line feeds': request({ eol: '\n' }),
    'bare carriage returns': request({ eol: '\r' }),
    'a bare line feed in a value': request({ headers: (own) => [...own, 'X-A: a\nX-B: b'] }),
    'a bare carriage return in a value': request({ headers: (own) => [...own, 'X-A: a\rX-B: b'] }),
    'a NUL in a value': request({ headers: (own) => [...own, 'X-A: a\0b'] }),
    'a line without a colon': request({ headers: (own) => [...own, 'X-A'] }),
    'a line without a name': request({ headers: (own) => [...own, ': a'] }),
    'no host': Buffer.from(
      request({})
        .toString('latin1')
        .replace(/^Host: .*\r\n/m, ''),
      'latin1',
    ),
    'two hosts': request({ headers: (own) => [...own, `Host: ${host}`] }),
    'a version that is none': request({ first: `POST ${pathname} HTTP/1.9` }),
    'no version': request({ first: `POST ${pathname}` }),
    'two blanks in the request line': request({ first: `POST  ${pathname} HTTP/1.1` }),
    'another path': request({ first: `POST ${pathname}x HTTP/1.1` }),
    'a path above': request({ first: `POST /x/..${pathname} HTTP/1.1` }),
    'a path with an escape': request({ first: `POST /%68${pathname.slice(2)} HTTP/1.1` }),
    'a query': request({ first: `POST ${pathname}?a HTTP/1.1` }),
    'another method': request({ first: `PUT ${pathname} HTTP/1.1` }),
    'a method in lower case': request({ first: `post ${pathname} HTTP/1.1` }),
    CONNECT: request({ first: `CONNECT ${host} HTTP/1.1` }),
    'a chunk size with a sign': request({
      fields: () => ['Transfer-Encoding: chunked'],
      body: (bytes) => Buffer.concat([Buffer.from('-'), chunked(bytes)]),
    }),
    'a chunk size that overflows': request({
      fields: () => ['Transfer-Encoding: chunked'],
      body: (bytes) => Buffer.concat([Buffer.from('10000000000000000'), chunked(bytes)]),
    }),
    'a chunk that is longer than it says': request({
      fields: () => ['Transfer-Encoding: chunked'],
      body: (bytes) => Buffer.concat([Buffer.from('1\r\n'), bytes, Buffer.from('\r\n0\r\n\r\n')]),
    }),
    'a chunk that ends in a bare line feed': request({
      fields: () => ['Transfer-Encoding: chunked'],
      body: (bytes) => Buffer.from(chunked(bytes).toString('latin1').replaceAll('\r\n', '\n'), 'latin1'),
    }),
    'a body that is said to be too large': request({ fields: () => [`Content-Length: ${2 ** 40}`] }),
    'an expectation that is not met': request({ headers: (own) => [...own, 'Expect: 200-ok'] }),
    'a header of a megabyte': request({ headers: (own) => [...own, `X-A: ${'a'.repeat(1 << 20)}`] }),
    'a megabyte without an end of line': Buffer.alloc(1 << 20, 'a'),
    'ten thousand headers': request({ headers: (own) => [...own, ...Array(10_000).fill('a: b')] }),
    'the preface of HTTP/2': Buffer.concat([
      Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
      Buffer.alloc(9),
      inside(),
    ]),
    'a greeting of TLS': Buffer.from(`16030100f8010000f40303${'00'.repeat(250)}`, 'hex'),
    'zero bytes': Buffer.alloc(4096),
    'an answer': Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'),
  };
  for (const [name, bytes] of Object.entries(attacks)) {
    test(name, { timeout }, async () => {
      const { statuses, closed } = await exchangeBytes(url, Buffer.concat([bytes, inside()]));
      assert.ok(closed);
      assert.ok(statuses.length <= 1, statuses.join(' '));
      for (const status of statuses) assert.ok(status >= 400 && status < 500, `${status}`);
    });
  }

  test('garbage behind an honest delivery', { timeout }, async (t) => {
    const random = new Random(t);
    for (let count = LONG ? 2000 : 50; count > 0; --count) {
      honest.push(`honest-${honest.length}`);
      const genuine = requestOf(url, delivery(simulator, { eventId: honest.at(-1) }));
      // It is no request, and ends, at least once.
      const garbage = Buffer.concat([Buffer.from('\0'), random.bytes(32), Buffer.from('\r\n\r\n')]);
      const { statuses, closed } = await exchangeBytes(url, Buffer.concat([genuine, garbage, inside()]));
      assert.deepEqual([statuses, closed], [[200, 400], true]);
    }
  });

  test('a delivery that is cut anywhere', { timeout }, async (t) => {
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
