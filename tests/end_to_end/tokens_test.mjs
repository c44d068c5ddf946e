// Tests the bearer tokens of callers: static tokens, whose hashes the config contains, and JSON Web Tokens of an
// issuer, whose keys come from its server or from a file. All callers here connect over loopback, so only their tokens
// differ.
import assert from 'node:assert/strict';
import { createHash, createHmac, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { code } from '../clients/gateway.mjs';
import { Machine } from '../machine/machine.mjs';
import { startSimulator } from '../simulator/server.mjs';
import { callFromCpp } from './cpp_client.mjs';
import { deliver } from './event_stack.mjs';
import { QUERY, SUBMIT, described } from './failures.mjs';
import { HeldCall } from './held_call.mjs';
import { HANG_MS, eventsConfig, run, scratch, startGateway, writeKey } from './harness.mjs';
import { logLines } from './log_lines.mjs';
import { reconfigure, reloaded } from './policy_callers.mjs';
import { until } from './processes.mjs';

const ISSUER = 'https://issuer.example';
const AUDIENCE = 'stampgate';
const HOUR = 3600;
/** A claim of every token. No output may contain it. */
const CANARY = `canary-${randomBytes(8).toString('hex')}`;

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const newEc = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const ALGORITHMS = new Map([[rsa, 'RS256'], [ec, 'ES256'], [newEc, 'ES256']]); // prettier-ignore

const base64url = (value) =>
  Buffer.from(typeof value === 'string' || Buffer.isBuffer(value) ? value : JSON.stringify(value)).toString(
    'base64url',
  );
const sha256 = (text) => createHash('sha256').update(text).digest('hex');
const now = () => Math.floor(Date.now() / 1000);

/** The public key in the form of a key set. */
const jwk = (key, kid) => ({ ...key.publicKey.export({ format: 'jwk' }), kid, use: 'sig', alg: ALGORITHMS.get(key) });

/** Every token that a test made, so that logs and errors can be searched for them. */
const tokens = [];
function remember(token) {
  tokens.push(token);
  return token;
}

/** A JSON Web Token. `header` and `claims` replace valid members, and `signature` replaces the signature of `key`. */
function jwt(key, { kid, header, claims, signature } = {}) {
  const whole = { iss: ISSUER, aud: AUDIENCE, sub: 'reader', iat: now(), exp: now() + HOUR, jti: CANARY, ...claims };
  const text = `${base64url({ alg: ALGORITHMS.get(key), kid, ...header })}.${base64url(whole)}`;
  const made = signature?.(text) ?? sign('sha256', text, { key: key.privateKey, dsaEncoding: 'ieee-p1363' });
  return remember(`${text}.${base64url(made)}`);
}

const bearer = (token) => ({ metadata: { authorization: `Bearer ${token}` } });

/** Serves a key set at `url`. A test may change `keys`; `requests` counts the requests. */
async function startKeyServer(t, keys) {
  const served = { keys, requests: 0, port: 0 };
  served.listen = async () => {
    served.server = createServer((request, response) => {
      served.requests += 1;
      response.writeHead(200, {
        'content-type': 'application/json',
        'cache-control': 'max-age=3600',
        connection: 'close',
      });
      response.end(JSON.stringify({ keys: served.keys }));
    });
    await new Promise((resolve) => served.server.listen(served.port, '127.0.0.1', resolve));
    served.port = served.server.address().port;
    served.url = `http://127.0.0.1:${served.port}/keys`;
  };
  served.close = async () => {
    const closed = new Promise((resolve) => served.server.close(resolve));
    served.server.closeAllConnections();
    await closed;
  };
  await served.listen();
  t.after(() => served.close());
  return served;
}

const staticToken = remember(randomBytes(32).toString('hex'));

/**
 * Three callers. The first one queries and the second one submits, both with a token of the issuer. The third one
 * queries with a static token.
 */
const callers = () => [
  {
    name: 'reader',
    loopback: true,
    token: { issuer: 'main', subjects: ['reader'] },
    grants: [{ classes: ['query'], all_organizations: true }],
  },
  {
    name: 'writer',
    loopback: true,
    token: { issuer: 'main', subjects: ['system:serviceaccount:payments:writer'] },
    grants: [{ classes: ['write'], all_organizations: true }],
  },
  {
    name: 'static',
    loopback: true,
    token_sha256: [sha256(staticToken)],
    grants: [{ classes: ['query'], all_organizations: true }],
  },
];
const WRITER = { sub: 'system:serviceaccount:payments:writer' };

const issuer = (source) => ({ name: 'main', issuer: ISSUER, audiences: ['other', AUDIENCE], ...source });

const simulator = await startSimulator();
after(() => simulator.close());

async function start(t, source, config = {}) {
  const gateway = await startGateway(t, simulator, { callers: callers(), token_issuers: [issuer(source)], ...config });
  gateway.told = [];
  t.after(() => checkSilence(gateway));
  return gateway;
}

const query = (gateway, options) => gateway.call(QUERY.method, QUERY.request, options);

/** Makes a query and a submit, which must be refused without a request to upstream. Returns the error's message. */
async function refused(gateway, options, code = 'UNAUTHENTICATED') {
  const error = await gateway.refusal(QUERY.method, QUERY.request, options);
  gateway.told.push(`${error.message} ${error.statusBytes}`);
  const failure = described(error);
  assert.deepEqual([failure.code, failure.reason], [code, 'CALLER_NOT_RECOGNIZED'], failure.message);
  return failure.message;
}

/** Checks that no log and no error contains a token, a part of one, or a claim. */
function checkSilence(gateway) {
  const parts = new Set(tokens.flatMap((token) => [token, ...token.split('.')]).filter(({ length }) => length >= 16));
  for (const text of [gateway.output, ...gateway.told]) {
    for (const part of [CANARY, ...parts])
      assert.ok(!text.includes(part), `the text contains a part of a token: ${text}`);
  }
}

const begun = Date.now();
const server = await startKeyServer({ after }, [jwk(rsa, 'rsa'), jwk(ec, 'ec')]);
const gateway = await start({ after }, { jwks_url: server.url });

describe('tokens', { timeout: HANG_MS, concurrency: true }, () => {
  describe('of all kinds', { concurrency: true }, () => {
    it('that are valid identify their callers, and no others', async () => {
      assert.ok((await query(gateway, bearer(staticToken))).policy);
      assert.ok((await query(gateway, bearer(jwt(rsa, { kid: 'rsa' })))).policy);
      assert.ok((await query(gateway, bearer(jwt(ec, { kid: 'ec', header: { typ: 'JWT' } })))).policy);
      assert.ok((await query(gateway, bearer(jwt(ec)))).policy, 'a token may omit the name of the only key for ES256');
      const writer = bearer(jwt(ec, { kid: 'ec', claims: WRITER }));
      assert.ok((await gateway.call(SUBMIT.method, SUBMIT.request, writer)).activity.id);
      for (const [sample, options] of [
        [QUERY, writer],
        [SUBMIT, bearer(jwt(ec))],
        [SUBMIT, bearer(staticToken)],
      ]) {
        const error = await gateway.refusal(sample.method, sample.request, options);
        assert.equal(described(error).code, 'PERMISSION_DENIED');
      }
    });

    it('are required', async () => {
      assert.equal(await refused(gateway, {}), 'a bearer token is required');
      for (const authorization of ['Basic YTpi', 'Bearer', staticToken]) {
        const message = await refused(gateway, { metadata: { authorization } });
        assert.equal(message, 'authorization is not of the form Bearer TOKEN');
      }
    });

    it('must be sent only once', async () => {
      const good = `Bearer ${staticToken}`;
      for (const other of [good, 'Bearer other', `Bearer ${jwt(ec)}`]) {
        const metadata = [good, other].map((value) => ['authorization', value]);
        const { status } = await callFromCpp(gateway, QUERY.method, QUERY.request, { metadata });
        assert.deepEqual(status, { code: code.UNAUTHENTICATED, message: 'authorization is given more than once' });
      }
    });

    const signWith = (key) => (text) => sign('sha256', text, { key: key.privateKey, dsaEncoding: 'ieee-p1363' });
    const hmacOf = (secret) => (text) => createHmac('sha256', secret).update(text).digest();
    const pem = rsa.publicKey.export({ format: 'pem', type: 'spki' });
    for (const [title, token, message] of [
      ['has expired', () => jwt(ec, { claims: { exp: now() - 60 } }), 'the token has expired'],
      ['never expires', () => jwt(ec, { claims: { exp: undefined } }), "the token's claim exp is missing or malformed"],
      ['is not valid yet', () => jwt(ec, { claims: { nbf: now() + 300 } }), 'the token is not valid yet'],
      [
        'is for another audience',
        () => jwt(ec, { claims: { aud: ['kubernetes'] } }),
        'the token is not for this audience',
      ],
      ['is of another issuer', () => jwt(ec, { claims: { iss: `${ISSUER}/` } }), "the token's issuer is not known"],
      ['has no subject', () => jwt(ec, { claims: { sub: '' } }), "the token's claim sub is missing or malformed"],
      [
        'is of a stranger',
        () => jwt(ec, { claims: { sub: 'stranger' } }),
        'the bearer token belongs to no configured caller',
      ],
      ['is signed by another key', () => jwt(newEc, { kid: 'ec' }), "the token's signature is wrong"],
      [
        'is signed for another algorithm',
        () => jwt(rsa, { signature: signWith(ec) }),
        "the token's signature is wrong",
      ],
      [
        'has a signature in DER',
        () => jwt(ec, { signature: (text) => sign('sha256', text, ec.privateKey) }),
        "the token's signature is wrong",
      ],
      [
        'is not signed',
        () => jwt(ec, { header: { alg: 'none' }, signature: () => '' }),
        "the token's algorithm is missing or not allowed",
      ],
      [
        'is signed by HMAC with the public key as the secret',
        () => jwt(rsa, { header: { alg: 'HS256' }, signature: hmacOf(pem) }),
        "the token's algorithm is missing or not allowed",
      ],
      [
        'has a header for RSA but is signed by HMAC with the public key',
        () => jwt(rsa, { kid: 'rsa', signature: hmacOf(pem) }),
        "the token's signature is wrong",
      ],
      [
        'brings its key',
        () => jwt(newEc, { header: { jwk: jwk(newEc, 'x') } }),
        "the token's header has a member that is refused",
      ],
      [
        'names the URL of its key',
        () => jwt(newEc, { header: { jku: server.url } }),
        "the token's header has a member that is refused",
      ],
      ['names an unknown key', () => jwt(ec, { kid: 'unknown' }), "the token's key is not known"],
      ['is no token', () => remember(`not a token ${CANARY}`), 'the token is not a JSON Web Token'],
      ['is another static token', () => remember(randomBytes(32).toString('hex')), 'the token is not a JSON Web Token'],
      ['has a further part', () => remember(`${jwt(ec)}.x`), 'the token is not a JSON Web Token'],
    ]) {
      // prettier-ignore
      it(`are refused if one ${title}`, async () => {
          assert.equal(await refused(gateway, bearer(token())), message);
      });
    }

    it('with unknown keys do not make the gateway fetch the key set repeatedly', async () => {
      assert.ok((await query(gateway, bearer(jwt(ec)))).policy);
      for (let i = 0; i < 200; i += 1) {
        assert.equal(await refused(gateway, bearer(jwt(ec, { kid: `unknown-${i}` }))), "the token's key is not known");
      }
      const allowed = 1 + Math.floor((Date.now() - begun) / 10_000);
      assert.ok(server.requests <= allowed, `${server.requests} requests`);
    });
  });

  /** Starts a gateway with events and with a clock that the test sets. */
  async function startEvents(t) {
    const server = await startKeyServer(t, [jwk(ec, 'ec')]);
    const folder = scratch(t);
    const machine = new Machine(scratch(t), folder);
    t.after(() => machine.close());
    const grants = [{ classes: ['events'], all_organizations: true }];
    const subscribers = [{ name: 'reader', loopback: true, token: { issuer: 'main', subjects: ['reader'] }, grants }];
    const config = {
      callers: subscribers,
      token_issuers: [issuer({ jwks_url: server.url })],
      ...eventsConfig(folder, { events: { heartbeat_interval: '100ms' } }),
    };
    const gateway = await startGateway(t, simulator, config, { folder, env: machine.env });
    simulator.webhooks.setEndpoints(null, [gateway.webhookUrl]);
    t.after(() => simulator.webhooks.setEndpoints(null, []));
    return { gateway, expire: () => (machine.clockOffsetMs = (HOUR + 31) * 1000) };
  }

  it('that expire end their subscriptions, which can resume at their cursors', async (t) => {
    const { gateway, expire } = await startEvents(t);
    const { eventId } = await deliver(simulator);
    const messages = (request, token) => gateway.stream('EventService/Subscribe', request, bearer(token));
    const ids = [];
    let failure;
    try {
      for await (const { events = [] } of messages({ end: 'LOG_END_EARLIEST' }, jwt(ec, { kid: 'ec' }))) {
        ids.push(...events.map(({ event_id }) => event_id));
        if (ids.length > 0) expire();
      }
    } catch (error) {
      failure = described(error);
    }
    assert.ok(ids.includes(eventId)); // beside the events of submits that other tests send
    assert.deepEqual(
      [failure.code, failure.reason, Object.keys(failure.metadata)],
      ['UNAVAILABLE', 'TOKEN_EXPIRED', ['cursor']],
    );
    assert.ok(failure.retryMs > 0);
    const { cursor } = failure.metadata;
    for await (const message of messages({ cursor }, jwt(ec, { kid: 'ec', claims: { exp: now() + 3 * HOUR } }))) {
      assert.deepEqual([message.events ?? [], message.cursor], [[], cursor]);
      break;
    }
    gateway.told = [failure.message];
    checkSilence(gateway);
  });

  it('that expire end the reading of a body, which can resume at its offset', async (t) => {
    const { gateway, expire } = await startEvents(t);
    const json = { type: 'a', text: 'x'.repeat(3 << 20) };
    const { eventId: event_id } = await deliver(simulator, { json });
    const old = bearer(jwt(ec, { kid: 'ec' }));
    const held = await HeldCall.start(gateway, 'EventService/ReadEventBody', { event_id }, old.metadata);
    expire();
    const isRefused = () =>
      gateway.call('EventService/GetEvent', { event_id }, old).then(
        () => false,
        () => true,
      );
    await until(isRefused, 'the gateway notices that the token has expired');
    assert.ok((await held.finish()) < 3 << 20);
    assert.equal(held.status, String(code.UNAVAILABLE));
    const details = Buffer.from(held.trailers['grpc-status-details-bin'], 'base64').toString('latin1');
    const [, offset_bytes] = /TOKEN_EXPIRED[^]*offset_bytes\x12.([0-9]+)/.exec(details);
    const token = bearer(jwt(ec, { kid: 'ec', claims: { exp: now() + 3 * HOUR } }));
    let rest = 0;
    for await (const { chunk } of gateway.stream('EventService/ReadEventBody', { event_id, offset_bytes }, token)) {
      rest += chunk.length;
    }
    assert.equal(Number(offset_bytes) + rest, JSON.stringify(json).length);
  });

  it('are ignored if the caller needs none', async (t) => {
    const server = await startKeyServer(t, [jwk(ec, 'ec')]);
    const [{ grants }] = callers();
    const plain = [{ name: 'plain', loopback: true, grants }];
    const gateway = await start(t, { jwks_url: server.url }, { callers: plain });
    assert.ok((await query(gateway, {})).policy);
    assert.ok((await query(gateway, bearer(remember(`somebody else's ${CANARY}`)))).policy);
  });

  it('of a new key of the issuer are accepted', async (t) => {
    const server = await startKeyServer(t, [jwk(ec, 'old')]);
    const gateway = await start(t, { jwks_url: server.url });
    const [old, rotated] = [jwt(ec, { kid: 'old' }), jwt(newEc, { kid: 'new' })];
    assert.ok((await query(gateway, bearer(old))).policy);
    assert.equal(await refused(gateway, bearer(rotated)), "the token's key is not known");
    server.keys = [jwk(newEc, 'new')];
    // The gateway fetches the key set again at the earliest ten seconds after the last time.
    for (const before = server.requests; server.requests === before; await delay(100)) {
      await gateway.call(QUERY.method, QUERY.request, bearer(rotated)).catch(() => {});
    }
    assert.ok((await query(gateway, bearer(rotated))).policy);
    assert.equal(await refused(gateway, bearer(old)), "the token's key is not known");
  });

  it("are refused until the issuer's key server responds", async (t) => {
    const server = await startKeyServer(t, [jwk(ec, 'ec')]);
    await server.close();
    const gateway = await start(t, { jwks_url: server.url }, { reload_interval: '100ms' });
    await logLines(gateway, 1, 'token_keys_not_fetched');
    const token = bearer(jwt(ec, { kid: 'ec' }));
    const message = await refused(gateway, token, 'UNAVAILABLE');
    assert.equal(message, "the keys of the token's issuer are not available");
    assert.ok((await query(gateway, bearer(staticToken))).policy, 'other tokens do not need them');
    await server.listen();
    // The gateway fetches the keys even before a caller sends a token.
    await logLines(gateway, 1, 'token_keys_fetched');
    assert.ok((await query(gateway, token)).policy);
  });

  it("remain valid while the issuer's key server is down", async (t) => {
    const server = await startKeyServer(t, [jwk(ec, 'ec')]);
    const gateway = await start(t, { jwks_url: server.url });
    const token = bearer(jwt(ec, { kid: 'ec' }));
    assert.ok((await query(gateway, token)).policy);
    await server.close();
    assert.ok((await query(gateway, token)).policy);
    await server.listen();
  });

  it('cause no new fetch of keys after a reload that leaves their issuer unchanged', async (t) => {
    const server = await startKeyServer(t, [jwk(ec, 'ec')]);
    const gateway = await start(t, { jwks_url: server.url });
    const token = bearer(jwt(ec, { kid: 'ec' }));
    assert.ok((await query(gateway, token)).policy);
    assert.equal(server.requests, 1);
    await reconfigure(gateway, { token_issuers: [issuer({ jwks_url: server.url, audiences: ['elsewhere'] })] });
    assert.equal(await refused(gateway, token), 'the token is not for this audience');
    await reconfigure(gateway, { token_issuers: [issuer({ jwks_url: server.url })] });
    assert.ok((await query(gateway, token)).policy);
    assert.equal(server.requests, 1);
  });

  it('are verified with the current keys of a file', async (t) => {
    const file = join(scratch(t), 'keys.json');
    const write = (text) => {
      writeFileSync(`${file}.new`, text);
      renameSync(`${file}.new`, file);
    };
    write(JSON.stringify({ keys: [jwk(ec, 'old')] }));
    const gateway = await start(t, { jwks_file: file }, { reload_interval: '10m' });
    const [old, rotated] = [bearer(jwt(ec, { kid: 'old' })), bearer(jwt(newEc, { kid: 'new' }))];
    assert.ok((await query(gateway, old)).policy);
    assert.equal(await refused(gateway, rotated), "the token's key is not known");

    await reloaded(gateway, () => write(JSON.stringify({ keys: [jwk(newEc, 'new')] })));
    assert.ok((await query(gateway, rotated)).policy);
    assert.equal(await refused(gateway, old), "the token's key is not known");

    const { message } = await reloaded(gateway, () => write('{}'), 'reload_failed');
    assert.match(message, /:\d+:\d+: token_issuers\[0\]\.jwks_file: the key set has no list of keys$/);
    assert.ok((await query(gateway, rotated)).policy, 'a broken file changes nothing');
  });
});

describe('stampgate check', () => {
  const folder = scratch({ after });
  writeFileSync(join(folder, 'keys.json'), JSON.stringify({ keys: [jwk(ec, 'ec')] }));
  writeFileSync(join(folder, 'none.json'), '{"keys":[]}');

  /** The report about issuers with these settings, with a line `field: message` for each fault. */
  async function check(...issuers) {
    const file = join(folder, 'config.yaml');
    const whole = {
      upstream: { base_url: 'https://upstream.example' },
      keys: [{ name: 'main', file: writeKey(folder), all_organizations: true }],
      token_issuers: issuers,
      callers: callers(),
      class_grants_as_of: '2026-09-22',
    };
    writeFileSync(file, JSON.stringify(whole, null, 1));
    const { status, stderr } = await run(['check', '--config', file]);
    const report = stderr.trimEnd().split('\n').filter(Boolean);
    assert.equal(status, report.length === 0 ? 0 : 1);
    return report.map((line) => /^.*config\.yaml:\d+:\d+: (.*)$/.exec(line)?.[1] ?? line);
  }

  it('does not fetch key sets', async (t) => {
    const server = await startKeyServer(t, [jwk(ec, 'ec')]);
    assert.deepEqual(await check(issuer({ jwks_url: server.url })), []);
    assert.equal(server.requests, 0);
  });

  it('reads the files of token issuers', async () => {
    assert.deepEqual(await check(issuer({ jwks_file: 'keys.json' })), []);
    for (const [source, fault] of [
      [{ jwks_file: 'none.json' }, 'jwks_file: the key set has no key that can be used'],
      [{ jwks_file: 'nowhere.json' }, 'jwks_file: it cannot be opened: No such file or directory'],
      [{ jwks_file: '.' }, 'jwks_file: it is not a regular file'],
      [{ jwks_url: 'https://host/keys', ca_file: 'keys.json' }, 'ca_file: it holds no certificate in PEM'],
      [
        { jwks_url: 'https://host/keys', ca_file: 'nowhere.pem' },
        'ca_file: it cannot be opened: No such file or directory',
      ],
    ]) {
      assert.deepEqual(await check(issuer(source)), [`token_issuers[0].${fault}`]);
    }
  });

  it('refuses two issuers with the same claim "iss"', async () => {
    const second = { ...issuer({ jwks_file: 'keys.json' }), name: 'second' };
    const fault = 'token_issuers[1].issuer: is already used by token_issuers[0].issuer';
    assert.deepEqual(await check(issuer({ jwks_file: 'keys.json' }), second), [fault]);
  });
});
