// Faults of upstream or of a proxy in front of it: the caller gets a correct error, and the gateway repeats no request.
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

/**
 * Makes a query and a submit with this fault. Checks their errors, that upstream received each once, and that the
 * gateway still serves calls.
 */
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
  // Whether or not upstream carried out the first submit, the repetition created no second activity.
  assert.equal(simulator.service.state.activitiesById.size, 1);
}

describe('a connection that fails', { timeout: HANG_MS }, () => {
  it('is refused: nothing was sent, so the caller may repeat a submit too', async (t) => {
    const stack = await startStack(t);
    await stack.simulator.close();
    for (const sample of [SUBMIT, QUERY]) assertFails(await failureOf(stack.gateway, sample), UNREACHABLE);
  });

  it('is refused after an idle connection was closed', async (t) => {
    const stack = await startStack(t);
    await stack.gateway.call(QUERY.method, QUERY.request);
    await stack.simulator.close();
    for (const sample of [SUBMIT, QUERY]) assertFails(await failureOf(stack.gateway, sample), UNREACHABLE);
  });

  it('is reset before a request: upstream received none, but the gateway cannot know that', async (t) => {
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

  it('is reset when the request head has arrived', () => checkFault({ kind: 'resetBeforeRead' }, BROKEN));

  it('is closed when upstream has read the whole request', () => checkFault({ kind: 'readAndClose' }, BROKEN));

  for (const kind of ['readAndClose', 'resetBeforeRead']) {
    it(`is a reused one that ends by ${kind}: upstream receives one request`, async () => {
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
        // If the gateway sent the request again, upstream would receive the repeated request before this query.
        await gateway.call(QUERY.method, QUERY.request);
        assert.equal(simulator.stats().requests, 3);
      }
    });
  }
});

describe('a response that is incomplete or too large', { timeout: HANG_MS }, () => {
  for (const chunked of [false, true]) {
    for (const bytes of [0, 1, undefined]) {
      it(`ends after ${bytes ?? 'half of its'} bytes${chunked ? ', chunked' : ''}`, () =>
        checkFault({ kind: 'truncated', chunked, ...(bytes !== undefined && { bytes }) }, BROKEN));
    }
    it(`is too large${chunked ? ', chunked' : ''}`, () =>
      checkFault({ kind: 'oversized', bytes: MAX_RESPONSE_BYTES + 1, chunked }, UNREADABLE));
  }

  it('(a key set that ends after half of its bytes) fails the call', async () => {
    simulator.addFaults([{ kind: 'truncated', match: { path: 'jwks' } }]);
    const keySet = { method: 'WebhookService/GetWebhookKeySet', request: {} };
    assertFails(await failureOf(gateway, keySet), BROKEN);
    assert.ok((await gateway.call(keySet.method, keySet.request)).keys.length > 0);
  });

  it('is far too large: the gateway does not read it to its end', () =>
    checkFault({ kind: 'oversized', bytes: 2 ** 40, chunked: true }, UNREADABLE));

  it('of exactly the largest size is accepted', async () => {
    simulator.addFaults([{ kind: 'oversized', bytes: MAX_RESPONSE_BYTES }]);
    const { reason, message } = await failureOf(gateway, QUERY);
    assert.equal(reason, 'UPSTREAM_ANSWER_UNREADABLE');
    assert.match(message, /it has no policy/);
  });
});

describe('a late response', { timeout: HANG_MS }, () => {
  for (const part of ['all', 'body']) {
    it(`whose ${part === 'all' ? 'head' : 'body'} is late reaches the caller`, async () => {
      for (const { method, request } of [QUERY, SUBMIT]) {
        simulator.addFaults([{ kind: 'slow', untilReleased: true, part }]);
        const answer = gateway.call(method, request);
        await simulator.waitFor({ held: 1 });
        simulator.release();
        assert.ok(await answer);
      }
    });

    it(`whose ${part === 'all' ? 'head' : 'body'} is later than exchange_timeout ends the call`, async (t) => {
      const stack = await startStack(t, { upstream: { exchange_timeout: '1s' } });
      stack.simulator.addFaults([{ kind: 'slow', untilReleased: true, part, times: 2 }]);
      assertFails(await failureOf(stack.gateway, QUERY), failure('DEADLINE_EXCEEDED', 'UPSTREAM_TIMEOUT'));
      outcomeUnknown(await failureOf(stack.gateway, SUBMIT), 'DEADLINE_EXCEEDED');
      assert.equal((await stack.simulator.waitFor({ held: 0 })).requests, 2);
    });
  }
});

describe('a response 200 with another body than specified', { timeout: HANG_MS }, () => {
  it('an HTML page', () => checkFault({ kind: 'nonJson' }, UNREADABLE));

  const bodies = {
    nothing: '',
    'white space': ' \n',
    'an array': '[]',
    'a text': '"activity"',
    null: 'null',
    'an empty object': '{}',
    'an object with other members': '{"code": 5, "message": "not found", "details": []}',
    'a null': '{"activity": null, "policy": null}',
    'an array where the message is': '{"activity": [], "policy": []}',
    'a text where the message is': '{"activity": "{}", "policy": "{}"}',
    'JSON that ends too early': '{"activity": {"id": "1"}, "policy": {"policyId": "1"}',
    'JSON with text after it': '{"activity": {"id": "1"}, "policy": {"policyId": "1"}} {}',
    'a member twice': '{"activity": {"id": "1", "id": "2"}, "policy": {"policyId": "1", "policyId": "2"}}',
    'JSON that is nested too deeply': `{"activity": ${'['.repeat(5000)}${']'.repeat(5000)}}`,
  };
  for (const [name, body] of Object.entries(bodies)) {
    it(name, () => checkFault({ kind: 'status', status: 200, body }, UNREADABLE));
  }

  it('bytes that are not UTF-8', () => {
    const body = Buffer.from('{"activity":{"id":"\xff"},"policy":{"policyId":"\xff"}}', 'latin1');
    return checkFault({ kind: 'status', status: 200, bodyBase64: body.toString('base64') }, UNREADABLE);
  });
});

describe('a response with another status', { timeout: HANG_MS }, () => {
  const unreadable = (status) => ({ ...UNREADABLE, metadata: { http_status: String(status) } });

  for (const status of [201, 202, 204, 205, 206, 207, 226]) {
    it(`${status} without a complete body fails the call`, async () => {
      const http_status = String(status);
      const body = [204, 205].includes(status) ? '' : '{"activity": {"id": "1"}, "policy": {"policyId": "1"}';
      await checkFault({ kind: 'status', status, body }, unreadable(status), { http_status });
    });
  }

  for (const status of [300, 301, 302, 303, 304, 305, 307, 308]) {
    it(`${status}, a redirect to another host, is not followed`, async (t) => {
      const canary = await startCanary(t);
      const location = `${canary.url}/public/v1/elsewhere`;
      await checkFault({ kind: 'redirect', status, location }, unreadable(status), { http_status: String(status) });
      assert.equal(canary.connections, 0);
    });

    it(`${status}, a redirect to another path of the same host, is not followed`, () =>
      checkFault({ kind: 'redirect', status, location: SUBMIT.path }, unreadable(status), {
        http_status: String(status),
      }));
  }
});

describe('bytes that are not HTTP', { timeout: HANG_MS }, () => {
  const ok = 'HTTP/1.1 200 OK\r\n';
  const answers = {
    nothing: '',
    garbage: 'what do you want?\r\n\r\n',
    'zero bytes': '\0'.repeat(1000),
    'a greeting of another protocol': '220 mail.example ESMTP\r\n',
    'a status line without a number': 'HTTP/1.1 abc OK\r\n\r\n',
    'a response head that ends too early': `${ok}Content-Type: application/json\r\n`,
    'a length that is no number': `${ok}Content-Length: many\r\n\r\n{}`,
    'a negative length': `${ok}Content-Length: -1\r\n\r\n{}`,
    'a chunk size that is no number': `${ok}Transfer-Encoding: chunked\r\n\r\nZZ\r\n{}\r\n0\r\n\r\n`,
    'a chunk size that is too large': `${ok}Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n{}`,
    'an interim response alone': 'HTTP/1.1 100 Continue\r\n\r\n',
  };
  for (const [name, bytes] of Object.entries(answers)) {
    it(name, async (t) => {
      const upstream = await startRawServer(t, (socket) => socket.end(bytes));
      await checkRaw(await startGateway(t, upstream));
      assert.equal(upstream.requests, 2);
    });
  }

  // These responses never end: the gateway must close the connection.
  const floods = {
    'a response head of endless lines': [ok, `X-Flood: ${'x'.repeat(1000)}\r\n`],
    'a response head of one endless line': [`${ok}X-Flood: `, 'x'.repeat(1000)],
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

describe('the gateway connects to no other server', { timeout: HANG_MS }, () => {
  it('if the environment has proxies and passwords', async (t) => {
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

  it('if a response has headers that name another server for later requests', async (t) => {
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
