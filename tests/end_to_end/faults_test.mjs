// What an upstream, or something before it, can do wrong: the caller gets a true error, and no request is repeated.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, beforeEach, describe, it } from 'node:test';
import { QUERY, SUBMIT, failureOf, outcomeUnknown } from './failures.mjs';
import { HANG_MS, scratch, startGateway, startStack } from './harness.mjs';
import { startCanary, startRawServer } from './raw_server.mjs';

const MAX_RESPONSE_BYTES = 65_536;

const { simulator, gateway } = await startStack({ after }, { upstream: { max_response_bytes: MAX_RESPONSE_BYTES } });
beforeEach(() => simulator.reset());

const failure = (code, reason, more = {}) => ({ code, domain: 'stampgate', reason, metadata: {}, ...more });
const BROKEN = failure('UNAVAILABLE', 'UPSTREAM_UNAVAILABLE', { retryMs: 1000 });
const UNREACHABLE = failure('UNAVAILABLE', 'UPSTREAM_UNREACHABLE', { retryMs: 1000 });
const UNREADABLE = failure('INTERNAL', 'UPSTREAM_ANSWER_UNREADABLE');

function assertFails({ message, ...actual }, expected) {
  assert.ok(message.length > 0);
  assert.deepEqual(actual, expected);
}

/** Checks what a query and a submit come to, that each was seen once, and that the gateway goes on. */
async function checkFault(fault, queryFails, submitMetadata = {}) {
  simulator.addFaults([fault]);
  assertFails(await failureOf(gateway, QUERY), queryFails);
  simulator.addFaults([fault]);
  const { timestamp_ms } = outcomeUnknown(await failureOf(gateway, SUBMIT), 'UNKNOWN', submitMetadata);
  assert.deepEqual(
    simulator.requests().map(({ path }) => path),
    [QUERY.path, SUBMIT.path],
  );
  await gateway.call(QUERY.method, QUERY.request);
  const { activity } = await gateway.call(SUBMIT.method, { ...SUBMIT.request, timestamp_ms });
  assert.equal(activity.status, 'ACTIVITY_STATUS_COMPLETED');
  assert.equal(simulator.requests().length, 4);
  // The first submit may have been carried out or not; the repetition has not acted a second time.
  assert.equal(simulator.service.state.activitiesById.size, 1);
}

describe('a connection that fails', { timeout: HANG_MS }, () => {
  it('is refused: nothing has left, so a submit too may be repeated', async (t) => {
    const stack = await startStack(t);
    await stack.simulator.close();
    for (const sample of [SUBMIT, QUERY]) assertFails(await failureOf(stack.gateway, sample), UNREACHABLE);
  });

  it('is refused after one that was kept has gone', async (t) => {
    const stack = await startStack(t);
    await stack.gateway.call(QUERY.method, QUERY.request);
    await stack.simulator.close();
    for (const sample of [SUBMIT, QUERY]) assertFails(await failureOf(stack.gateway, sample), UNREACHABLE);
  });

  it('is reset at once: no request was seen, and whether bytes left is not known', async (t) => {
    const stack = await startStack(t);
    stack.simulator.addFaults([{ kind: 'resetConnection', times: 'always' }]);
    const query = await failureOf(stack.gateway, QUERY);
    assert.equal(query.code, 'UNAVAILABLE');
    assert.ok(['UPSTREAM_UNREACHABLE', 'UPSTREAM_UNAVAILABLE'].includes(query.reason), query.reason);
    const submit = await failureOf(stack.gateway, SUBMIT);
    if (submit.reason === 'OUTCOME_UNKNOWN') outcomeUnknown(submit, 'UNKNOWN');
    else assertFails(submit, UNREACHABLE);
    assert.equal(stack.simulator.stats().requests, 0);
  });

  it('is reset when the head has come', () => checkFault({ kind: 'resetBeforeRead' }, BROKEN));

  it('is closed when everything has been read', () => checkFault({ kind: 'readAndClose' }, BROKEN));

  for (const kind of ['readAndClose', 'resetBeforeRead']) {
    it(`is a reused one that ends by ${kind}: one request is seen`, async () => {
      for (const sample of [SUBMIT, QUERY]) {
        simulator.reset();
        await gateway.call(QUERY.method, QUERY.request);
        simulator.addFaults([{ kind }]);
        const failed = await failureOf(gateway, sample);
        if (sample === SUBMIT) outcomeUnknown(failed, 'UNKNOWN');
        else assertFails(failed, BROKEN);
        const [first, second, ...more] = simulator.requests();
        assert.deepEqual([second.path, more.length], [sample.path, 0]);
        assert.equal(second.connection, first.connection);
        assert.equal(second.requestOnConnection, first.requestOnConnection + 1);
        // Whatever the gateway might still send would come before this.
        await gateway.call(QUERY.method, QUERY.request);
        assert.equal(simulator.stats().requests, 3);
      }
    });
  }
});

describe('an answer that is not whole', { timeout: HANG_MS }, () => {
  for (const chunked of [false, true]) {
    for (const bytes of [0, 1, undefined]) {
      it(`ends after ${bytes ?? 'half of its'} bytes${chunked ? ', chunked' : ''}`, () =>
        checkFault({ kind: 'truncated', chunked, ...(bytes !== undefined && { bytes }) }, BROKEN));
    }
    it(`is too large${chunked ? ', chunked' : ''}`, () =>
      checkFault({ kind: 'oversized', bytes: MAX_RESPONSE_BYTES + 1, chunked }, UNREADABLE));
  }

  it('ends after half of its bytes, of the key set, which is fetched without a body', async () => {
    simulator.addFaults([{ kind: 'truncated', match: { path: 'jwks' } }]);
    const keySet = { method: 'WebhookService/GetWebhookKeySet', request: {} };
    assertFails(await failureOf(gateway, keySet), BROKEN);
    assert.ok((await gateway.call(keySet.method, keySet.request)).keys.length > 0);
  });

  it('is far too large: it is not read to its end', () =>
    checkFault({ kind: 'oversized', bytes: 2 ** 40, chunked: true }, UNREADABLE));

  it('of exactly the largest size is read', async () => {
    simulator.addFaults([{ kind: 'oversized', bytes: MAX_RESPONSE_BYTES }]);
    const { reason, message } = await failureOf(gateway, QUERY);
    assert.equal(reason, 'UPSTREAM_ANSWER_UNREADABLE');
    assert.match(message, /it has no policy/);
  });
});

describe('an answer that is late', { timeout: HANG_MS }, () => {
  for (const part of ['all', 'body']) {
    it(`by ${part === 'all' ? 'its head' : 'its body'} still arrives`, async () => {
      for (const { method, request } of [QUERY, SUBMIT]) {
        simulator.addFaults([{ kind: 'slow', untilReleased: true, part }]);
        const answer = gateway.call(method, request);
        await simulator.waitFor({ held: 1 });
        simulator.release();
        assert.ok(await answer);
      }
    });

    it(`by ${part === 'all' ? 'its head' : 'its body'} beyond the exchange's own limit ends the call`, async (t) => {
      const stack = await startStack(t, { upstream: { exchange_timeout: '1s' } });
      stack.simulator.addFaults([{ kind: 'slow', untilReleased: true, part, times: 2 }]);
      assertFails(await failureOf(stack.gateway, QUERY), failure('DEADLINE_EXCEEDED', 'UPSTREAM_TIMEOUT'));
      outcomeUnknown(await failureOf(stack.gateway, SUBMIT), 'DEADLINE_EXCEEDED');
      assert.equal((await stack.simulator.waitFor({ held: 0 })).requests, 2);
    });
  }
});

describe('200 with something else', { timeout: HANG_MS }, () => {
  it('an HTML page', () => checkFault({ kind: 'nonJson' }, UNREADABLE));

  const bodies = {
    nothing: '',
    'white space': ' \n',
    'an array': '[]',
    'a text': '"activity"',
    null: 'null',
    'an empty object': '{}',
    'an object of other things': '{"code": 5, "message": "not found", "details": []}',
    'a null': '{"activity": null, "policy": null}',
    'an array where the message is': '{"activity": [], "policy": []}',
    'a text where the message is': '{"activity": "{}", "policy": "{}"}',
    'JSON that is cut': '{"activity": {"id": "1"}, "policy": {"policyId": "1"}',
    'JSON with something after it': '{"activity": {"id": "1"}, "policy": {"policyId": "1"}} {}',
    'a member twice': '{"activity": {"id": "1", "id": "2"}, "policy": {"policyId": "1", "policyId": "2"}}',
    'JSON that is too deep': `{"activity": ${'['.repeat(5000)}${']'.repeat(5000)}}`,
  };
  for (const [name, body] of Object.entries(bodies)) {
    it(name, () => checkFault({ kind: 'status', status: 200, body }, UNREADABLE));
  }

  it('bytes that are not UTF-8', () => {
    const body = Buffer.from('{"activity":{"id":"\xff"},"policy":{"policyId":"\xff"}}', 'latin1');
    return checkFault({ kind: 'status', status: 200, bodyBase64: body.toString('base64') }, UNREADABLE);
  });
});

describe('another status', { timeout: HANG_MS }, () => {
  const unreadable = (status) => ({ ...UNREADABLE, metadata: { http_status: String(status) } });

  for (const status of [201, 202, 204, 205, 206, 207, 226]) {
    it(`${status} without a whole answer is none`, async () => {
      const http_status = String(status);
      const body = [204, 205].includes(status) ? '' : '{"activity": {"id": "1"}, "policy": {"policyId": "1"}';
      await checkFault({ kind: 'status', status, body }, unreadable(status), { http_status });
    });
  }

  for (const status of [300, 301, 302, 303, 304, 305, 307, 308]) {
    it(`${status} is not followed`, async (t) => {
      const canary = await startCanary(t);
      const location = `${canary.url}/public/v1/elsewhere`;
      await checkFault({ kind: 'redirect', status, location }, unreadable(status), { http_status: String(status) });
      assert.equal(canary.connections, 0);
    });

    it(`${status} to another path of the same host is not followed`, () =>
      checkFault({ kind: 'redirect', status, location: SUBMIT.path }, unreadable(status), { http_status: String(status) }));
  }
});

describe('what is not HTTP', { timeout: HANG_MS }, () => {
  const ok = 'HTTP/1.1 200 OK\r\n';
  const answers = {
    nothing: '',
    garbage: 'what do you want?\r\n\r\n',
    'zero bytes': '\0'.repeat(1000),
    'a greeting of another protocol': '220 mail.example ESMTP\r\n',
    'a status line without a number': 'HTTP/1.1 abc OK\r\n\r\n',
    'a head that is cut': `${ok}Content-Type: application/json\r\n`,
    'a length that is no number': `${ok}Content-Length: many\r\n\r\n{}`,
    'a negative length': `${ok}Content-Length: -1\r\n\r\n{}`,
    'a chunk size that is none': `${ok}Transfer-Encoding: chunked\r\n\r\nZZ\r\n{}\r\n0\r\n\r\n`,
    'a chunk size that is too large': `${ok}Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n{}`,
    'an interim answer alone': 'HTTP/1.1 100 Continue\r\n\r\n',
  };
  for (const [name, bytes] of Object.entries(answers)) {
    it(name, async (t) => {
      const upstream = await startRawServer(t, (socket) => socket.end(bytes));
      await checkRaw(await startGateway(t, upstream));
      assert.equal(upstream.requests, 2);
    });
  }

  // Endless: the gateway must hang up by itself.
  const floods = {
    'a head of endless lines': [ok, `X-Flood: ${'x'.repeat(1000)}\r\n`],
    'a head of one endless line': [`${ok}X-Flood: `, 'x'.repeat(1000)],
    'endless interim answers': ['', `HTTP/1.1 103 Early Hints\r\nLink: ${'x'.repeat(1000)}\r\n\r\n`],
  };
  for (const [name, [head, piece]] of Object.entries(floods)) {
    it(name, async (t) => {
      const upstream = await startRawServer(t, (socket) => {
        socket.write(head);
        const flood = () => {
          while (!socket.destroyed && socket.write(piece.repeat(16)));
        };
        socket.on('drain', flood);
        flood();
      });
      await checkRaw(await startGateway(t, upstream));
      assert.equal(upstream.requests, 2);
    });
  }

  async function checkRaw(started) {
    assertFails(await failureOf(started, QUERY), BROKEN);
    outcomeUnknown(await failureOf(started, SUBMIT), 'UNKNOWN');
  }
});

describe('the gateway goes nowhere else', { timeout: HANG_MS }, () => {
  it('whatever proxies and passwords the environment has', async (t) => {
    const canary = await startCanary(t);
    const home = scratch(t);
    writeFileSync(join(home, '.netrc'), 'machine 127.0.0.1 login canary password canary\n', { mode: 0o600 });
    writeFileSync(join(home, '.curlrc'), `proxy = ${canary.url}\n`);
    const lower = ['http_proxy', 'https_proxy', 'all_proxy', 'ftp_proxy', 'socks_proxy'];
    const upper = lower.map((name) => name.toUpperCase());
    const env = Object.fromEntries([...lower, ...upper].map((name) => [name, canary.url]));
    const stack = await startStack(t, { env: { ...env, no_proxy: '', NO_PROXY: '', HOME: home, CURL_HOME: home } });
    for (const { method, request } of [QUERY, SUBMIT]) await stack.gateway.call(method, request);
    assert.equal(canary.connections, 0);
    assert.equal(stack.simulator.stats().requests, 2);
    for (const { headers } of stack.simulator.requests()) {
      const names = headers.map(([name]) => name.toLowerCase());
      assert.ok(!names.some((name) => name.includes('auth') || name.includes('proxy')), names.join(', '));
    }
  });

  it('whatever an answer tells it to remember', async (t) => {
    const canary = await startCanary(t);
    const { host } = new URL(canary.url);
    const headers = {
      'Set-Cookie': 'session=canary; Path=/',
      'Alt-Svc': `h2="${host}", http/1.1="${host}"; ma=3600`,
      'Strict-Transport-Security': 'max-age=3600',
      Refresh: `0; url=${canary.url}`,
      Location: canary.url,
      'Content-Location': canary.url,
    };
    simulator.addFaults([{ kind: 'mutate', headers, times: 2 }]);
    for (let i = 0; i < 3; ++i) await gateway.call(QUERY.method, QUERY.request);
    assert.equal(canary.connections, 0);
    assert.equal(simulator.stats().requests, 3);
    for (const { headers: sent } of simulator.requests()) {
      assert.ok(!sent.some(([name]) => name.toLowerCase() === 'cookie'));
    }
  });
});
