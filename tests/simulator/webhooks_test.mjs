// Tests the simulator's deliveries with a plain HTTP server as the receiver.
import assert from 'node:assert/strict';
import { createPublicKey, verify } from 'node:crypto';
import { describe, test } from 'node:test';
import { startSimulator } from './server.mjs';
import * as testing from './testing.mjs';
import { WebhookKeys } from './webhook_keys.mjs';
import { attemptUntilAnswered, newStop } from './webhook_retries.mjs';
import { draftOf, signed } from './webhook_signature.mjs';

const { ORGANIZATION, exchange, identifier, startReceiver, submit, subOrganization } = testing;

/** Settings that repeat a delivery without delay. */
const FAST = { retryMs: 0, maxRetryMs: 0 };

/** A clock that advances with each call. */
function ticking() {
  let now = Date.now();
  return () => (now += 1);
}

/** Returns a test function that calls `use` with a simulator and a receiver of the events of all organizations. */
function withReceiver(use, { answer, settings, ...options } = {}) {
  return async () => {
    const receiver = await startReceiver({ answer });
    const webhooks = { urls: [receiver.url], settings: { ...FAST, ...settings } };
    const run = testing.withSimulator(startSimulator, { now: ticking(), webhooks, ...options }, async (simulator) => {
      await use(simulator.webhooks, receiver, simulator);
    });
    await run().finally(() => receiver.close());
  };
}

const keySetAnswer = ({ url }) => exchange(`${url}/public/v1/discovery/webhooks/jwks`, { method: 'GET' });
const keySetOf = async (simulator) => (await keySetAnswer(simulator)).json;

/** Whether the received signature is valid. Follows the steps in the specification. */
function isSigned({ fields, body }, { keys }, operator = 'service') {
  const field = (name) => fields[`x-${operator}-${name}`]?.[0];
  const { x } = keys.find(({ kid }) => kid === field('signature-key-id'));
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  const names = ['signature-version', 'signature-algorithm', 'signature-key-id', 'timestamp', 'event-id'];
  const text = Buffer.concat([Buffer.from(`${names.map(field).join('.')}.`), body]);
  return verify(null, text, key, Buffer.from(field('signature'), 'hex'));
}

const update = (simulator, options) =>
  submit(simulator, 'update_organization_name', 'UPDATE_ORGANIZATION_NAME', { organizationName: 'é "1"' }, options);

describe('a delivery', () => {
  test('has the headers and the signature of the known answer', () => {
    const seed = Buffer.from(Array.from({ length: 32 }, (_, index) => index)).toString('hex');
    const keys = new WebhookKeys([{ kid: 'webhook-key-1', seed }], 'turnkey');
    const body = Buffer.from('{"type":"activity.created","data":{"id":"act_123"}}');
    const event = { organizationId: 'org-1', type: 'ACTIVITY_UPDATES', eventId: 'evt_123', body };
    const draft = draftOf(event, { key: keys.signing, timestampMs: 1_700_000_000_000n, operator: 'turnkey' });
    assert.deepEqual(signed(draft), {
      headers: [
        ['Content-Type', 'application/json'],
        ['X-Turnkey-Organization-Id', 'org-1'],
        ['X-Turnkey-Event-Type', 'ACTIVITY_UPDATES'],
        ['X-Turnkey-Timestamp', '1700000000000'],
        ['X-Turnkey-Webhook-Version', '1'],
        ['X-Turnkey-Event-Id', 'evt_123'],
        ['X-Turnkey-Signature-Key-Id', 'webhook-key-1'],
        ['X-Turnkey-Signature-Algorithm', 'ed25519'],
        ['X-Turnkey-Signature-Version', 'v1'],
        [
          'X-Turnkey-Signature',
          '99c87f03e9254ed35896a394daa264f30d87574c6f4187e861fe136e4a15b50b' +
            '5f43052a1a4f506d6faec7f699e42bfe40d523f5040946984e6c95497dc67a0f',
        ],
      ],
      body,
    });
    assert.equal(keys.document().keys[0].x, 'A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg');
  });

  const { keys: vectorKeys, deliveries: vectors } = testing.readVectors('webhooks.json');
  const exact = vectors.filter(({ id }) => id.startsWith('ok-') && !/case|changed/.test(id));
  for (const { id, headers, body, bodyBase64 } of exact) {
    test(`has the headers and the signature of the vector ${id}`, () => {
      const value = (name) => headers[`X-Turnkey-${name}`];
      const { privateKeyHex: seed } = vectorKeys.find(({ kid }) => kid === value('Signature-Key-Id'));
      const { signing: key } = new WebhookKeys([{ kid: value('Signature-Key-Id'), seed }], 'turnkey');
      const bytes = bodyBase64 === undefined ? Buffer.from(body) : Buffer.from(bodyBase64, 'base64');
      const event = { organizationId: value('Organization-Id'), type: value('Event-Type'), body: bytes };
      const about = { key, timestampMs: value('Timestamp'), operator: 'turnkey' };
      const message = signed(draftOf({ ...event, eventId: value('Event-Id') }, about));
      assert.deepEqual(Object.fromEntries(message.headers), headers);
    });
  }

  test(
    'arrives unchanged',
    withReceiver(async (webhooks, receiver) => {
      const body = Buffer.from([0x7b, 0xff, 0x00, 0x7d]);
      const event = { eventId: 'evt_123', type: 'A_TYPE', bodyBase64: body.toString('base64') };
      const [{ state, attempts }] = await webhooks.send(event).done;
      const [{ method, path, headers, body: received }] = receiver.received;
      assert.deepEqual([method, path, state], ['POST', '/hook', 'acknowledged']);
      assert.ok(received.equals(body));
      const own = headers.slice(1, 11);
      assert.deepEqual(own, attempts[0].headers);
      assert.deepEqual(own.slice(0, 6), [
        ['Content-Type', 'application/json'],
        ['X-Service-Organization-Id', ORGANIZATION],
        ['X-Service-Event-Type', 'A_TYPE'],
        ['X-Service-Timestamp', own[3][1]],
        ['X-Service-Webhook-Version', '1'],
        ['X-Service-Event-Id', 'evt_123'],
      ]);
      assert.match(own[9][1], /^[0-9a-f]{128}$/);
    }),
  );

  for (const operator of ['service', 'turnkey']) {
    test(
      `of ${operator} verifies with the published key`,
      withReceiver(
        async (webhooks, receiver, simulator) => {
          await webhooks.send().done;
          assert.ok(isSigned(receiver.received[0], await keySetOf(simulator), operator));
        },
        { operator },
      ),
    );
  }
});

describe('an activity', () => {
  for (const timestamps of ['object', 'string']) {
    const title = `is sent exactly as in the response, times as ${timestamps}`;
    test(
      title,
      withReceiver(
        async (webhooks, receiver, simulator) => {
          const { text } = await update(simulator);
          await webhooks.waitFor({ done: 1 });
          const [{ body, fields }] = receiver.received;
          assert.equal(`{"activity":${body}}`, text);
          assert.deepEqual(fields['x-service-event-type'], ['ACTIVITY_UPDATES']);
          assert.deepEqual(fields['x-service-organization-id'], [ORGANIZATION]);
        },
        { timestamps },
      ),
    );
  }

  test(
    'that is failed or pending is sent too',
    withReceiver(async (webhooks, receiver, simulator) => {
      simulator.addFaults([{ kind: 'activityStatus', status: 'ACTIVITY_STATUS_CONSENSUS_NEEDED' }]);
      await update(simulator);
      await webhooks.waitFor({ done: 1 });
      assert.equal(JSON.parse(receiver.received[0].body).status, 'ACTIVITY_STATUS_CONSENSUS_NEEDED');
    }),
  );

  test(
    'is sent once; a request without a new activity sends nothing',
    withReceiver(async (webhooks, receiver, simulator) => {
      await update(simulator);
      const [{ body }] = simulator.requests();
      await testing.post(simulator, '/public/v1/submit/update_organization_name', body);
      await testing.query(simulator, 'whoami');
      await submit(simulator, 'delete_webhook_endpoint', 'DELETE_WEBHOOK_ENDPOINT', { endpointId: 'unknown' });
      simulator.addFaults([{ kind: 'error' }]);
      await update(simulator);
      assert.equal((await webhooks.waitFor({ waiting: 0 })).deliveries, 1);
    }),
  );
});

describe('endpoints', () => {
  /** Runs `use` with two receivers that are not yet endpoints. */
  const withTwo = (use) => async () => {
    const receivers = [await startReceiver(), await startReceiver()];
    const webhooks = { settings: FAST };
    const run = testing.withSimulator(startSimulator, { webhooks }, (simulator) => use(simulator, ...receivers));
    await run().finally(() => Promise.all(receivers.map((receiver) => receiver.close())));
  };

  test(
    'receive only the events of their organization',
    withTwo(async (simulator, parent, child) => {
      const { webhooks } = simulator;
      webhooks.setEndpoints(ORGANIZATION, [parent.url]);
      webhooks.setEndpoints(subOrganization(1), [child.url]);
      await update(simulator);
      await update(simulator, { organizationId: subOrganization(1) });
      await update(simulator, { organizationId: subOrganization(2) });
      await webhooks.waitFor({ waiting: 0 });
      const organizations = ({ received }) => received.map(({ body }) => JSON.parse(body).organizationId);
      assert.deepEqual(organizations(parent), [ORGANIZATION]);
      assert.deepEqual(organizations(child), [subOrganization(1)]);
    }),
  );

  test(
    'of one organization receive an event under the same id',
    withTwo(async ({ webhooks }, first, second) => {
      webhooks.setEndpoints(ORGANIZATION, [first.url, second.url]);
      const { eventId, done } = webhooks.send();
      const deliveries = await done;
      assert.deepEqual(
        deliveries.map(({ endpointId }) => endpointId),
        [identifier(4), identifier(26)],
      );
      for (const { received } of [first, second]) {
        assert.deepEqual(
          received.map(({ fields }) => fields['x-service-event-id'][0]),
          [eventId],
        );
      }
    }),
  );

  test(
    'that are deleted receive nothing more, not even waiting deliveries',
    withTwo(async (simulator, first, second) => {
      const { webhooks } = simulator;
      webhooks.setEndpoints(ORGANIZATION, [first.url, second.url]);
      first.answer = () => ({ status: 503, held: true });
      const { done } = webhooks.send();
      await first.waitFor(1);
      await submit(simulator, 'delete_webhook_endpoint', 'DELETE_WEBHOOK_ENDPOINT', { endpointId: identifier(4) });
      first.release();
      const states = (await done).map(({ state, attempts }) => [state, attempts.length]);
      assert.deepEqual(states, [
        ['stopped', 1],
        ['acknowledged', 1],
      ]);
      await webhooks.send().done;
      await webhooks.waitFor({ waiting: 0 });
      // The second receiver also gets the event of the deletion.
      assert.deepEqual([first.received.length, second.received.length], [1, 3]);
      assert.deepEqual(webhooks.endpoints(), [
        { organizationId: ORGANIZATION, endpointId: identifier(26), url: second.url },
      ]);
    }),
  );

  test(
    'may get another URL while a delivery waits',
    withTwo(async ({ webhooks }, first, second) => {
      webhooks.setEndpoints(ORGANIZATION, [first.url]);
      first.answer = () => ({ status: 503, held: true });
      const { done } = webhooks.send();
      await first.waitFor(1);
      webhooks.setEndpoints(ORGANIZATION, [second.url]);
      first.release();
      const [{ state, attempts }] = await done;
      assert.equal(state, 'acknowledged');
      assert.deepEqual(
        attempts.map(({ url }) => url),
        [first.url, second.url],
      );
    }),
  );

  test(
    'are created when they are needed',
    withTwo(async ({ webhooks }, first, second) => {
      webhooks.setEndpoints(subOrganization(1), [first.url, second.url]);
      const [one, two] = webhooks.endpoints().slice(2);
      assert.notEqual(one.endpointId, two.endpointId);
      assert.deepEqual([one.url, two.url], [first.url, second.url]);
    }),
  );

  test(
    'without a URL receive nothing',
    withTwo(async (simulator, { url }) => {
      const { webhooks } = simulator;
      assert.throws(() => webhooks.send(), /no endpoint/);
      webhooks.setEndpoints(ORGANIZATION, [null, url]);
      assert.equal(webhooks.send().targets, 1);
      webhooks.setEndpoints(ORGANIZATION, []);
      assert.throws(() => webhooks.send(), /no endpoint/);
      await update(simulator);
      await webhooks.waitFor({ waiting: 0 });
    }),
  );

  for (const url of ['ftp://127.0.0.1/', 'http://user@127.0.0.1/', 'http://:pass@127.0.0.1/', 'hook', '', 7]) {
    test(
      `cannot have the URL ${JSON.stringify(url)}`,
      withTwo(async ({ webhooks }) => {
        assert.throws(() => webhooks.setEndpoints(ORGANIZATION, [url]), /URL/);
      }),
    );
  }

  test('with TLS are verified with the given CA', async () => {
    const { cert, key } = testing.selfSigned();
    const receiver = await startReceiver({ tls: { cert, key } });
    const outcome = async (ca) => {
      let deliveries;
      const webhooks = { urls: [receiver.url], ca, settings: { ...FAST, maxAttempts: 1 } };
      await testing.withSimulator(startSimulator, { webhooks }, async (simulator) => {
        deliveries = await simulator.webhooks.send().done;
      })();
      return deliveries[0].attempts[0];
    };
    try {
      assert.equal((await outcome(cert)).status, 200);
      assert.equal((await outcome(undefined)).error, 'DEPTH_ZERO_SELF_SIGNED_CERT');
    } finally {
      await receiver.close();
    }
  });
});

describe('a delivery that the receiver answers', () => {
  for (const status of [200, 201, 202, 204, 299]) {
    test(
      `with ${status} is acknowledged`,
      withReceiver(async (webhooks, receiver) => {
        receiver.answer = () => ({ status });
        const [{ state, attempts }] = await webhooks.send().done;
        assert.deepEqual([state, attempts.length, attempts[0].status], ['acknowledged', 1, status]);
        assert.equal(receiver.received.length, 1);
      }),
    );
  }

  for (const status of [300, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 408, 409, 410, 413, 425, 429, 499]) {
    test(
      `with ${status} is never repeated`,
      withReceiver(async (webhooks, receiver) => {
        const headers = { Location: receiver.url, 'Retry-After': '0' };
        receiver.answer = () => ({ status, headers });
        const [{ state, attempts }] = await webhooks.send().done;
        assert.deepEqual([state, attempts.length, attempts[0].status], ['refused', 1, status]);
        assert.equal(receiver.received.length, 1);
      }),
    );
  }

  for (const status of [500, 501, 502, 503, 504, 599]) {
    test(
      `with ${status} is repeated`,
      withReceiver(async (webhooks, receiver) => {
        receiver.answer = (number) => ({ status: number < 4 ? status : 200 });
        const [{ state, attempts }] = await webhooks.send().done;
        assert.equal(state, 'acknowledged');
        assert.deepEqual(
          attempts.map((attempt) => attempt.status),
          [status, status, status, 200],
        );
      }),
    );
  }

  for (const ending of ['reset', 'closed']) {
    test(
      `not at all, but ${ending}, is repeated`,
      withReceiver(async (webhooks, receiver) => {
        receiver.answer = (number) => (number < 3 ? { [ending]: true } : { status: 200 });
        const [{ state, attempts }] = await webhooks.send().done;
        assert.equal(state, 'acknowledged');
        assert.deepEqual(
          attempts.map(({ status, error }) => status ?? error),
          ['ECONNRESET', 'ECONNRESET', 200],
        );
      }),
    );
  }

  test(
    'too late is repeated',
    withReceiver(
      async (webhooks, receiver) => {
        receiver.answer = (number) => (number === 1 ? { held: true } : {});
        const [{ state, attempts }] = await webhooks.send().done;
        assert.deepEqual([state, attempts[0].error], ['acknowledged', 'TIMEOUT']);
      },
      { settings: { timeoutMs: 20 } },
    ),
  );

  test(
    'only after a restart is repeated until the receiver listens',
    withReceiver(
      async (webhooks, receiver) => {
        await receiver.close();
        const { done } = webhooks.send();
        assert.equal((await webhooks.waitFor({ attempts: 3 })).answers.error, 3);
        await receiver.open();
        const [{ state, attempts }] = await done;
        assert.deepEqual([state, attempts[0].error], ['acknowledged', 'ECONNREFUSED']);
      },
      { settings: { maxAttempts: 1_000_000, retryMs: 1, maxRetryMs: 5 } },
    ),
  );

  test(
    'with an error at every attempt is abandoned after the last one',
    withReceiver(
      async (webhooks, receiver) => {
        const [{ state, attempts }] = await webhooks.send().done;
        assert.deepEqual([state, attempts.length, receiver.received.length], ['abandoned', 7, 7]);
      },
      { answer: () => ({ status: 500 }), settings: { maxAttempts: 7 } },
    ),
  );

  test(
    'with an error is repeated with a new signature',
    withReceiver(
      async (webhooks, receiver, simulator) => {
        await webhooks.send({ eventId: 'evt_same' }).done;
        const values = (name) => receiver.received.map(({ fields }) => fields[`x-service-${name}`][0]);
        assert.deepEqual(new Set(values('event-id')), new Set(['evt_same']));
        assert.equal(new Set(values('timestamp')).size, 5);
        assert.equal(new Set(values('signature')).size, 5);
        assert.equal(new Set(receiver.received.map(({ body }) => body.toString())).size, 1);
        const keySet = await keySetOf(simulator);
        assert.ok(receiver.received.every((each) => isSigned(each, keySet)));
      },
      { answer: (number) => ({ status: number < 5 ? 503 : 200 }) },
    ),
  );

  test(
    'slowly delays other deliveries only at the limit of concurrent attempts',
    withReceiver(
      async (webhooks, receiver, simulator) => {
        for (let i = 0; i < 5; i += 1) webhooks.send();
        await receiver.waitFor(3);
        for (let i = 0; i < 10; i += 1) await keySetOf(simulator);
        assert.deepEqual([webhooks.stats().waiting, receiver.received.length], [5, 3]);
        receiver.answer = () => ({});
        receiver.release();
        assert.equal((await webhooks.waitFor({ waiting: 0 })).acknowledged, 5);
        assert.equal(receiver.most, 3);
      },
      { answer: () => ({ held: true }), settings: { concurrency: 3 } },
    ),
  );
});

describe('other events', () => {
  for (const [finality, type] of [
    ['confirmed', 'BALANCE_CONFIRMED_UPDATES'],
    ['finalized', 'BALANCE_FINALIZED_UPDATES'],
  ]) {
    for (const numbers of ['number', 'string']) {
      test(
        `a ${finality} balance, numbers as ${numbers}`,
        withReceiver(async (webhooks, receiver) => {
          const organizationId = subOrganization(1);
          await webhooks.sendBalance({ organizationId, finality, numbers, msg: { operation: 'withdraw' } }).done;
          const [{ body, fields }] = receiver.received;
          const { msg, ...about } = JSON.parse(body);
          const bodyType = `balances:${finality}`;
          assert.deepEqual(about, { type: bodyType, organizationId, parentOrganizationId: ORGANIZATION });
          assert.deepEqual(Object.keys(msg), [
            ...['operation', 'caip2', 'txHash', 'address', 'idempotencyKey', 'asset', 'block'],
          ]);
          assert.deepEqual(Object.keys(msg.asset), ['symbol', 'name', 'decimals', 'caip19', 'amount']);
          assert.deepEqual(Object.keys(msg.block), ['number', 'hash', 'timestamp']);
          assert.deepEqual([typeof msg.asset.decimals, typeof msg.block.number], [numbers, numbers]);
          assert.equal(msg.operation, 'withdraw');
          assert.deepEqual(fields['x-service-event-type'], [type]);
          assert.deepEqual(fields['x-service-organization-id'], [ORGANIZATION]);
        }),
      );
    }
  }

  for (const [status, more] of [
    ['BROADCASTING', []],
    ['INCLUDED', ['txHash']],
    ['FAILED', ['error']],
  ]) {
    test(
      `a transaction that is ${status}`,
      withReceiver(async (webhooks, receiver) => {
        await webhooks.sendTransaction({ status }).done;
        const [{ body, fields }] = receiver.received;
        const { type, organizationId, parentOrganizationId, msg } = JSON.parse(body);
        assert.deepEqual([type, organizationId, parentOrganizationId], ['transaction:status', ORGANIZATION, undefined]);
        assert.deepEqual(Object.keys(msg), [
          ...['sendTransactionStatusId', 'activityId', 'status', 'caip2', 'idempotencyKey', 'timestamp', ...more],
        ]);
        assert.equal(msg.status, status);
        assert.deepEqual(fields['x-service-event-type'], ['SEND_TRANSACTION_STATUS_UPDATES']);
        assert.deepEqual(fields['x-service-organization-id'], [ORGANIZATION]);
      }),
    );
  }

  test(
    'that are invalid are refused',
    withReceiver(async (webhooks) => {
      assert.throws(() => webhooks.sendBalance({ finality: 'x' }), /finality/);
      assert.throws(() => webhooks.sendBalance({ numbers: 'x' }), /numbers/);
      assert.throws(() => webhooks.sendTransaction({ status: 'x' }), /status/);
      assert.throws(() => webhooks.send({ stranger: 1 }), /stranger/);
      assert.throws(() => webhooks.send({ body: '{}', json: {} }), /only one body/);
    }),
  );
});

describe('keys', () => {
  /** Whether a key is usable according to the table in the specification. Points of small order are listed by hand. */
  function isUsable({ kid, kty, crv, alg, use, x }) {
    const isNamed = typeof kid === 'string' && /^[A-Za-z0-9_:-]+$/.test(kid);
    const isRightKind = [kty, crv, alg, use].join() === 'OKP,Ed25519,EdDSA,sig';
    const bytes = Buffer.from(String(x), 'base64url');
    const isSmall = /^(?:01(?:00){31}|ec(?:ff){30}7f)$/.test(bytes.toString('hex'));
    return isNamed && isRightKind && bytes.length === 32 && bytes.toString('base64url') === x && !isSmall;
  }

  const kids = async (simulator) => (await keySetOf(simulator)).keys.map(({ kid }) => kid);

  test(
    'can be rotated',
    withReceiver(async (webhooks, receiver, simulator) => {
      const made = webhooks.keys.add();
      await webhooks.send().done;
      assert.deepEqual(await kids(simulator), ['webhook-key-1', 'webhook-key-2']);
      assert.deepEqual(receiver.received[0].fields['x-service-signature-key-id'], ['webhook-key-2']);
      assert.ok(isSigned(receiver.received[0], await keySetOf(simulator)));
      webhooks.keys.drop('webhook-key-1');
      const [key] = (await keySetOf(simulator)).keys;
      assert.deepEqual({ kid: key.kid, x: key.x }, made);
      assert.equal(webhooks.keys.add().kid, 'webhook-key-3');
    }),
  );

  test(
    'can sign without being published, and can be published without signing',
    withReceiver(async (webhooks, receiver, simulator) => {
      const { x } = webhooks.keys.add({ kid: 'hidden', published: false });
      webhooks.keys.add({ kid: 'idle', signing: false });
      await webhooks.send().done;
      assert.deepEqual(await kids(simulator), ['webhook-key-1', 'idle']);
      assert.ok(isSigned(receiver.received[0], { keys: [{ kid: 'hidden', x }] }));
      assert.deepEqual(
        webhooks.keys.list().map(({ kid, published, signing }) => [kid, published, signing]),
        [
          ['webhook-key-1', true, false],
          ['idle', true, false],
          ['hidden', false, true],
        ],
      );
    }),
  );

  test(
    'that sign can be removed from the key set',
    withReceiver(async (webhooks, receiver, simulator) => {
      const [{ x }] = webhooks.keys.list();
      webhooks.keys.drop('webhook-key-1');
      await webhooks.send().done;
      assert.deepEqual(await kids(simulator), []);
      assert.ok(isSigned(receiver.received[0], { keys: [{ kid: 'webhook-key-1', x }] }));
      assert.throws(() => webhooks.keys.drop('webhook-key-1'), /no key/);
    }),
  );

  test(
    'that are unusable are published before and after the usable one',
    withReceiver(async (webhooks, receiver, simulator) => {
      webhooks.keys.publishBroken();
      webhooks.keys.publish('not even a key', { first: true });
      const { keys } = await keySetOf(simulator);
      const at = keys.findIndex(({ kid }) => kid === 'webhook-key-1');
      assert.ok(at > 1 && at < keys.length - 1);
      assert.equal(keys[0], 'not even a key');
      const broken = keys.filter((each) => each.kid !== 'webhook-key-1').map(isUsable);
      assert.ok(broken.length > 10 && !broken.includes(true));
      assert.ok(isUsable(keys[at]));
      await webhooks.send().done;
      assert.ok(isSigned(receiver.received[0], { keys }));
    }),
  );

  test(
    'are sent with the default Cache-Control, another one, or none',
    withReceiver(async (webhooks, receiver, simulator) => {
      const cacheControl = async () => (await keySetAnswer(simulator)).headers['cache-control'];
      assert.equal(await cacheControl(), 'public, max-age=86400, s-maxage=86400, stale-if-error=604800');
      webhooks.change({ cacheControl: 'max-age=0' });
      assert.equal(await cacheControl(), 'max-age=0');
      webhooks.change({ cacheControl: null });
      assert.equal(await cacheControl(), undefined);
      assert.throws(() => webhooks.change({ cacheControl: 'a\nb' }), /cacheControl/);
    }),
  );

  test(
    'can be requested with a fault',
    withReceiver(async (webhooks, receiver, simulator) => {
      const faults = [{ kind: 'resetBeforeRead' }, { kind: 'status' }, { kind: 'oversized', bytes: 100_000 }];
      simulator.addFaults(faults.map((fault) => ({ ...fault, match: { path: 'jwks' } })));
      await assert.rejects(keySetAnswer(simulator), /ECONNRESET|socket hang up/);
      assert.equal((await keySetAnswer(simulator)).status, 500);
      assert.equal((await keySetAnswer(simulator)).body.length, 100_000);
      assert.equal(simulator.pendingFaults(), 0);
    }),
  );
});

describe('a fault', () => {
  const HEADERS = [
    ...['Organization-Id', 'Event-Type', 'Timestamp', 'Webhook-Version', 'Event-Id', 'Signature-Key-Id'],
    ...['Signature-Algorithm', 'Signature-Version', 'Signature'],
  ];
  const BODY = '{"organizationId":"o","text":"é"}';

  /** Returns a test that calls `use` with an attempt that has the fault, and a later attempt without it. */
  const withFault = (fault, use, options = {}) =>
    withReceiver(
      async (webhooks, receiver, simulator) => {
        const [delivery] = await webhooks.send({ eventId: 'evt_1', body: BODY, faults: [fault] }).done;
        assert.equal(delivery.attempts[0].fault, fault.kind);
        await receiver.waitFor(2);
        const keySet = await keySetOf(simulator);
        const good = receiver.received.at(-1);
        await use({ ...receiver.received[0], keySet, good, delivery, receiver, webhooks });
      },
      { answer: (number) => ({ status: number === 1 ? 503 : 200 }), ...options },
    );

  /** Upstream's own headers, without values that differ between attempts. */
  const own = ({ headers }) =>
    headers
      .filter(([name]) => /^(?:x-|content-type)/i.test(name))
      .map(([name, value]) => (/-(?:timestamp|signature)$/i.test(name) ? [name, 'fresh'] : [name, value]));

  const changed = (fields, header, value) =>
    fields.map(([name, old]) => (name === `X-Service-${header}` || name === header ? [name, value] : [name, old]));

  /** Checks that the next attempt has no fault. */
  const isGood = ({ good, keySet }) => {
    assert.ok(isSigned(good, keySet));
    assert.equal(good.body.toString(), BODY);
    assert.equal(own(good).length, 10);
  };

  for (const byte of [0, 31, 32, 63]) {
    test(
      `wrongSignature changes byte ${byte}`,
      withFault({ kind: 'wrongSignature', byte }, (seen) => {
        assert.deepEqual(own(seen), own(seen.good));
        assert.equal(seen.body.toString(), BODY);
        assert.ok(!isSigned(seen, seen.keySet));
        isGood(seen);
      }),
    );
  }

  test(
    'otherKey signs with an unknown key',
    withFault({ kind: 'otherKey' }, (seen) => {
      assert.deepEqual(own(seen), own(seen.good));
      assert.match(seen.fields['x-service-signature'][0], /^[0-9a-f]{128}$/);
      assert.ok(!isSigned(seen, seen.keySet));
      isGood(seen);
    }),
  );

  test(
    'flippedBody changes a bit of the body',
    withFault({ kind: 'flippedBody', byte: 3 }, (seen) => {
      assert.deepEqual(own(seen), own(seen.good));
      const back = Buffer.from(seen.body);
      back[3] ^= 1;
      assert.equal(back.toString(), BODY);
      assert.ok(!isSigned(seen, seen.keySet));
      assert.ok(isSigned({ ...seen, body: back }, seen.keySet));
      isGood(seen);
    }),
  );

  for (const offsetMs of [-300_001, 300_001]) {
    test(
      `timestamp sends a time ${offsetMs} ms from now`,
      withFault({ kind: 'timestamp', offsetMs }, (seen) => {
        const time = ({ fields }) => Number(fields['x-service-timestamp'][0]);
        assert.ok(Math.abs(time(seen) - offsetMs - time(seen.good)) < 1000);
        assert.ok(isSigned(seen, seen.keySet));
        isGood(seen);
      }),
    );
  }

  for (const [fault, header, value] of [
    [{ kind: 'timestamp', value: '12' }, 'Timestamp', '12'],
    [{ kind: 'version' }, 'Signature-Version', 'v2'],
    [{ kind: 'algorithm' }, 'Signature-Algorithm', 'ed448'],
    [{ kind: 'version', value: 'V1' }, 'Signature-Version', 'V1'],
    [{ kind: 'algorithm', value: 'Ed25519' }, 'Signature-Algorithm', 'Ed25519'],
  ]) {
    test(
      `${fault.kind} sends and signs ${value}`,
      withFault(fault, (seen) => {
        assert.deepEqual(seen.fields[`x-service-${header.toLowerCase()}`], [value]);
        assert.ok(isSigned(seen, seen.keySet));
        isGood(seen);
      }),
    );
  }

  test(
    'keyId sends and signs another key id',
    withFault({ kind: 'keyId' }, (seen) => {
      assert.deepEqual(own(seen), changed(own(seen.good), 'Signature-Key-Id', 'unknown-key'));
      assert.ok(isSigned(seen, { keys: [{ ...seen.keySet.keys[0], kid: 'unknown-key' }] }));
      isGood(seen);
    }),
  );

  test(
    'labels replaces labels',
    withFault({ kind: 'labels', organizationId: 'not yours', type: 'OTHER' }, (seen) => {
      const lying = changed(changed(own(seen.good), 'Organization-Id', 'not yours'), 'Event-Type', 'OTHER');
      assert.deepEqual(own(seen), lying);
      assert.ok(isSigned(seen, seen.keySet));
      isGood(seen);
    }),
  );

  for (const header of [...HEADERS, 'Content-Type']) {
    const isIt = ([name]) => name === `X-Service-${header}` || name === header;

    test(
      `missingHeader omits ${header}`,
      withFault({ kind: 'missingHeader', header }, (seen) => {
        assert.deepEqual(
          own(seen),
          own(seen.good).filter((field) => !isIt(field)),
        );
        isGood(seen);
      }),
    );

    test(
      `duplicateHeader sends ${header} twice`,
      withFault({ kind: 'duplicateHeader', header }, (seen) => {
        assert.deepEqual(
          own(seen),
          own(seen.good).flatMap((field) => (isIt(field) ? [field, field] : [field])),
        );
        assert.ok(isSigned(seen, seen.keySet));
        isGood(seen);
      }),
    );

    const another = { kind: 'duplicateHeader', header, value: 'b' };
    test(
      `duplicateHeader sends ${header} again with another value`,
      withFault(another, (seen) => {
        const [first, second, ...more] = seen.headers.filter(isIt).map(([, value]) => value);
        assert.notEqual(first, 'b');
        assert.deepEqual([second, more], ['b', []]);
        isGood(seen);
      }),
    );

    test(
      `malformedHeader sends ${header} in the wrong form`,
      withFault({ kind: 'malformedHeader', header }, (seen) => {
        const values = seen.headers.filter(isIt).map(([, value]) => value);
        assert.equal(values.length, 1);
        assert.notDeepEqual(
          values,
          seen.good.headers.filter(isIt).map(([, value]) => value),
        );
        if (header === 'Timestamp') assert.doesNotMatch(values[0], /^[0-9]{1,16}$/);
        else if (header === 'Signature') assert.doesNotMatch(values[0], /^[0-9a-f]{128}$/);
        else assert.deepEqual(own(seen), changed(own(seen.good), header, values[0]));
        isGood(seen);
      }),
    );

    const empty = { kind: 'malformedHeader', header, value: '' };
    test(
      `malformedHeader can send ${header} with an empty value`,
      withFault(empty, (seen) => {
        assert.deepEqual(
          seen.headers.filter(isIt).map(([, value]) => value),
          [''],
        );
        isGood(seen);
      }),
    );
  }

  for (const header of ['Timestamp', 'Event-Id', 'Signature-Version', 'Signature-Algorithm']) {
    test(
      `malformedHeader signs the wrong value of ${header}`,
      withFault({ kind: 'malformedHeader', header }, (seen) => {
        assert.ok(isSigned(seen, seen.keySet));
      }),
    );
  }

  test(
    'upperCaseHex sends the signature in upper case',
    withFault({ kind: 'upperCaseHex' }, (seen) => {
      assert.match(seen.fields['x-service-signature'][0], /^[0-9A-F]{128}$/);
      assert.ok(isSigned(seen, seen.keySet));
      isGood(seen);
    }),
  );

  test(
    'lowerCaseNames sends header names in lower case',
    withFault({ kind: 'lowerCaseNames' }, (seen) => {
      assert.deepEqual(
        own(seen),
        own(seen.good).map(([name, value]) => [name.toLowerCase(), value]),
      );
      assert.ok(isSigned(seen, seen.keySet));
      isGood(seen);
    }),
  );

  for (const bytes of [100, 4_194_305]) {
    test(
      `hugeBody sends ${bytes} bytes`,
      withFault({ kind: 'hugeBody', bytes }, (seen) => {
        assert.equal(seen.body.length, bytes);
        const { padding, ...rest } = JSON.parse(seen.body);
        assert.deepEqual(rest, JSON.parse(BODY));
        assert.ok(isSigned(seen, seen.keySet));
        isGood(seen);
      }),
    );
  }

  test(
    'chunked sends the body in chunks',
    withFault({ kind: 'chunked', bytes: 7 }, (seen) => {
      assert.deepEqual([seen.fields['transfer-encoding'], seen.fields['content-length']], [['chunked'], undefined]);
      assert.equal(seen.body.toString(), BODY);
      assert.ok(isSigned(seen, seen.keySet));
      assert.deepEqual(seen.good.fields['content-length'], [String(Buffer.byteLength(BODY))]);
      isGood(seen);
    }),
  );

  for (const bytes of [1, 10]) {
    test(
      `truncatedBody ends the body after ${bytes} bytes`,
      withFault({ kind: 'truncatedBody', bytes }, (seen) => {
        assert.equal(seen.isComplete, false);
        assert.deepEqual(seen.fields['content-length'], [String(Buffer.byteLength(BODY))]);
        assert.equal(seen.body.toString(), BODY.slice(0, bytes));
        assert.deepEqual(
          seen.delivery.attempts.map(({ status, error }) => status ?? error),
          ['ECONNRESET', 200],
        );
        isGood(seen);
      }),
    );
  }

  test(
    'slowBody holds the body until a test releases it',
    withReceiver(async (webhooks, receiver) => {
      const { done } = webhooks.send({ body: BODY, faults: [{ kind: 'slowBody', ms: 0 }] });
      await webhooks.waitFor({ held: 1 });
      await receiver.waitForBytes(Buffer.byteLength(BODY) - 1);
      for (let i = 0; i < 10; i += 1) await webhooks.send().done;
      assert.equal(receiver.received.length, 10);
      assert.equal(webhooks.release(), 1);
      const [{ state }] = await done;
      await receiver.waitFor(11);
      assert.deepEqual([state, receiver.received[0].body.toString()], ['acknowledged', BODY]);
      assert.ok(receiver.received[0].chunks > 1);
      assert.equal(webhooks.stats().held, 0);
    }),
  );

  test(
    'slowBody can be released in the middle of the body',
    withReceiver(async (webhooks, receiver) => {
      const { done } = webhooks.send({ body: BODY, faults: [{ kind: 'slowBody', ms: 1_000_000 }] });
      await receiver.waitForBytes(1);
      webhooks.release();
      assert.equal((await done)[0].state, 'acknowledged');
      assert.deepEqual([receiver.received[0].body.toString(), receiver.received[0].chunks], [BODY, 2]);
    }),
  );

  test(
    'slowBody ends when the receiver disconnects',
    withReceiver(async (webhooks, receiver) => {
      const { done } = webhooks.send({ body: BODY, faults: [{ kind: 'slowBody', ms: 1 }] });
      await receiver.waitForBytes(1);
      receiver.disconnect();
      const [first, second] = (await done)[0].attempts;
      assert.ok(['ECONNRESET', 'EPIPE'].includes(first.error), first.error);
      assert.equal(second.status, 200);
      assert.equal(webhooks.stats().held, 0);
    }),
  );

  test(
    'answerLost repeats the delivery although the receiver acknowledged it',
    withReceiver(async (webhooks, receiver) => {
      const [{ state, attempts }] = await webhooks.send({ faults: [{ kind: 'answerLost', times: 2 }] }).done;
      assert.equal(state, 'acknowledged');
      const answers = attempts.map(({ status, error }) => [status, error]);
      assert.deepEqual(answers, [
        [200, 'LOST'],
        [200, 'LOST'],
        [200, undefined],
      ]);
      assert.equal(receiver.received.length, 3);
      assert.deepEqual(webhooks.stats().answers, { 200: 1, error: 2 });
    }),
  );

  test(
    'repeated sends the event id again',
    withReceiver(async (webhooks, receiver, simulator) => {
      const deliveries = await webhooks.send({ eventId: 'e', body: BODY, faults: [{ kind: 'repeated', count: 3 }] })
        .done;
      const states = deliveries.map(({ number, state }) => `${number} ${state}`);
      assert.deepEqual(
        states,
        [1, 2, 3, 4].map((number) => `${number} acknowledged`),
      );
      const keySet = await keySetOf(simulator);
      for (const each of receiver.received) {
        assert.ok(isSigned(each, keySet));
        assert.deepEqual([each.fields['x-service-event-id'], each.body.toString()], [['e'], BODY]);
      }
      assert.equal(new Set(receiver.received.map(({ fields }) => fields['x-service-timestamp'][0])).size, 4);
      assert.equal(webhooks.stats().waiting, 0);
    }),
  );

  test(
    'repeated can send the event id again with another body',
    withReceiver(async (webhooks, receiver, simulator) => {
      await webhooks.send({ eventId: 'e', body: BODY, faults: [{ kind: 'repeated', body: '{"other":1}' }] }).done;
      const keySet = await keySetOf(simulator);
      assert.deepEqual(
        receiver.received.map(({ body }) => body.toString()),
        [BODY, '{"other":1}'],
      );
      assert.ok(receiver.received.every((each) => isSigned(each, keySet)));
    }),
  );

  test(
    'together applies several faults to one attempt',
    withReceiver(async (webhooks, receiver) => {
      const missing = { kind: 'missingHeader', header: 'Event-Id' };
      const faults = [{ kind: 'upperCaseHex' }, { kind: 'lowerCaseNames' }, missing];
      const [{ attempts }] = await webhooks.send({ faults: [{ kind: 'together', faults }] }).done;
      assert.equal(attempts[0].fault, 'upperCaseHex+lowerCaseNames+missingHeader');
      const names = receiver.received[0].headers.map(([name]) => name).filter((name) => name.startsWith('x-service'));
      assert.equal(names.length, 8);
      assert.match(receiver.received[0].fields['x-service-signature'][0], /^[0-9A-F]{128}$/);
    }),
  );

  test(
    'applies to matching deliveries',
    withReceiver(async (webhooks) => {
      webhooks.addFaults([
        { kind: 'wrongSignature', match: { type: 'B' }, times: 2 },
        { kind: 'flippedBody', match: { eventId: 'e' } },
        { kind: 'otherKey', match: { nth: 4 } },
      ]);
      const faults = [];
      for (const event of [{}, { type: 'B' }, { eventId: 'e' }, { type: 'B' }, { type: 'B' }, {}]) {
        const [{ attempts }] = await webhooks.send(event).done;
        faults.push(attempts[0].fault);
      }
      assert.deepEqual(faults, [undefined, 'wrongSignature', 'flippedBody', 'wrongSignature', 'otherKey', undefined]);
      assert.equal(webhooks.pendingFaults(), 0);
    }),
  );

  test(
    'applies to matching attempts',
    withReceiver(
      async (webhooks) => {
        webhooks.addFaults([{ kind: 'otherKey', match: { attempt: 3 } }]);
        const faults = [{ kind: 'wrongSignature' }, { kind: 'flippedBody', match: { nth: 2 } }];
        const [{ attempts }] = await webhooks.send({ faults }).done;
        const suffered = attempts.map(({ fault }) => fault);
        assert.deepEqual(suffered, ['wrongSignature', 'flippedBody', 'otherKey', undefined]);
      },
      { answer: (number) => ({ status: number < 4 ? 500 : 200 }) },
    ),
  );

  for (const [name, fault, event] of [
    ['a flipped bit in an empty body', { kind: 'flippedBody' }, { body: '' }],
    ['a body that is larger already', { kind: 'hugeBody', bytes: 3 }, {}],
    ['a header that cannot be sent', { kind: 'malformedHeader', header: 'Event-Id', value: 'a\nb' }, {}],
  ]) {
    test(
      `that cannot be applied ends the delivery: ${name}`,
      withReceiver(async (webhooks, receiver) => {
        const [{ state, attempts }] = await webhooks.send({ ...event, faults: [fault] }).done;
        assert.deepEqual([state, attempts.length, receiver.received.length], ['abandoned', 1, 0]);
        assert.ok(attempts[0].error.length > 0);
      }),
    );
  }

  for (const [name, fault] of Object.entries({
    'an unknown kind': { kind: 'x' },
    'an unknown option': { kind: 'keyId', kid: 1 },
    'an unknown match': { kind: 'keyId', match: { path: 'x' } },
    'no header': { kind: 'missingHeader' },
    'an unknown header': { kind: 'missingHeader', header: 'X-Service-Timestamp' },
    'no size': { kind: 'hugeBody' },
    'no time': { kind: 'timestamp' },
    'two times': { kind: 'timestamp', value: '1', offsetMs: 1 },
    'half a byte': { kind: 'wrongSignature', byte: 0.5 },
  })) {
    test(
      `with ${name} is refused`,
      withReceiver(async (webhooks, receiver) => {
        assert.throws(() => webhooks.addFaults([{ kind: 'keyId' }, fault]));
        assert.equal(webhooks.pendingFaults(), 0);
        assert.throws(() => webhooks.send({ faults: [fault] }));
        assert.equal(receiver.received.length, 0);
      }),
    );
  }
});

describe('the events of a load', () => {
  test(
    'are all acknowledged and recorded',
    withReceiver(
      async (webhooks, receiver, simulator) => {
        const load = webhooks.sendMany({ count: 200, bodyBytes: 300 });
        await receiver.waitFor(8);
        receiver.release();
        const { acknowledged, isDone, ...rest } = await load.done;
        assert.deepEqual(rest, { events: 200, attempts: 200, answers: { 200: 200 }, refused: {} });
        assert.ok(isDone);
        const ids = receiver.received.map(({ fields }) => fields['x-service-event-id'][0]);
        assert.deepEqual(new Set(acknowledged), new Set(ids));
        assert.equal(new Set(ids).size, 200);
        const keySet = await keySetOf(simulator);
        for (const each of receiver.received) {
          assert.ok(isSigned(each, keySet));
          const { organizationId, id } = JSON.parse(each.body);
          assert.deepEqual([each.body.length, organizationId], [300, ORGANIZATION]);
          assert.deepEqual(each.fields['x-service-event-id'], [id]);
        }
        assert.equal(receiver.most, 8);
      },
      { answer: (number) => ({ held: number <= 8 }) },
    ),
  );

  test(
    'have the requested ids, also repeated ones',
    withReceiver(async (webhooks) => {
      const load = webhooks.sendMany({ ids: ['a', 'b', 'a', 'a'] });
      await load.done;
      assert.deepEqual(Object.fromEntries(load.acknowledged), { a: 3, b: 1 });
      assert.deepEqual((await webhooks.sendMany({ count: 2, ids: 'p-' }).done).acknowledged.sort(), ['p-0', 'p-1']);
    }),
  );

  test(
    'are all acknowledged although the receiver restarts',
    withReceiver(
      async (webhooks, receiver) => {
        const stored = new Set();
        receiver.answer = (number, { fields }) => {
          if (number > 100) return { reset: true };
          stored.add(fields['x-service-event-id'][0]);
          // The receiver resets the connection of the last event instead of answering.
          return number === 100 ? { reset: true } : {};
        };
        const load = webhooks.sendMany({ count: 300 });
        const { acknowledged } = await load.waitFor({ acknowledged: 99 });
        assert.equal(acknowledged.length, 99);
        assert.ok(acknowledged.every((id) => stored.has(id)));
        await receiver.waitFor(200);
        await receiver.close();
        const again = await startReceiver();
        try {
          webhooks.setEndpoints(null, [again.url]);
          const summary = await load.done;
          assert.deepEqual([summary.acknowledged.length, summary.answers[200]], [300, 300]);
          for (const { fields } of again.received) stored.add(fields['x-service-event-id'][0]);
          assert.equal(stored.size, 300);
        } finally {
          await again.close();
        }
      },
      { settings: { maxAttempts: 1 } },
    ),
  );

  test(
    'are no longer sent after a stop',
    withReceiver(
      async (webhooks, receiver) => {
        receiver.answer = (number) => ({ status: number <= 50 ? 200 : 503 });
        const load = webhooks.sendMany({ count: 100 });
        await load.waitFor({ acknowledged: 50 });
        const { acknowledged, isDone } = await load.stop();
        assert.deepEqual([acknowledged.length, isDone], [50, true]);
      },
      { settings: { retryMs: 1_000_000, maxRetryMs: 1_000_000 } },
    ),
  );

  test(
    'are recorded if they are refused, and can have faults',
    withReceiver(async (webhooks, receiver, simulator) => {
      const keySet = await keySetOf(simulator);
      receiver.answer = (number, received) => ({ status: isSigned(received, keySet) ? 200 : 401 });
      webhooks.addFaults([{ kind: 'wrongSignature', match: { eventId: 'b' } }]);
      const { acknowledged, refused } = await webhooks.sendMany({ ids: ['a', 'b', 'c'], concurrency: 1 }).done;
      assert.deepEqual([acknowledged, refused], [['a', 'c'], { b: 401 }]);
    }),
  );
});

describe('the control interface', () => {
  const ask = async (simulator, method, path, body) => {
    const text = body === undefined ? '' : JSON.stringify(body);
    return exchange(`${simulator.url}/_simulator/webhooks/${path}`, { method, body: text });
  };
  const told = async (...question) => {
    const { status, json } = await ask(...question);
    assert.equal(status, 200, JSON.stringify(json));
    return json;
  };

  test(
    'sets endpoints',
    withReceiver(async (webhooks, receiver, simulator) => {
      const first = { organizationId: ORGANIZATION, endpointId: identifier(4), url: `${receiver.url}?1` };
      const second = { organizationId: ORGANIZATION, endpointId: identifier(26), url: null };
      const ofAll = { organizationId: null, endpointId: null, url: receiver.url };
      const { endpoints } = await told(simulator, 'PUT', 'endpoints', { urls: [first.url] });
      assert.deepEqual(endpoints, [first, second, ofAll]);
      await told(simulator, 'PUT', 'endpoints', { organizationId: null, urls: [] });
      assert.deepEqual(await told(simulator, 'GET', 'endpoints'), { endpoints: [first, second] });
      const strange = { organizationId: 'nobody', urls: [] };
      assert.equal((await ask(simulator, 'PUT', 'endpoints', strange)).status, 400);
      assert.equal((await ask(simulator, 'PUT', 'endpoints', { urls: ['x'] })).status, 400);
      assert.equal((await ask(simulator, 'PUT', 'endpoints', {})).status, 400);
    }),
  );

  test(
    'sends events, and returns their deliveries',
    withReceiver(async (webhooks, receiver, simulator) => {
      const event = { eventId: 'evt_1', json: { a: 1 }, faults: [{ kind: 'upperCaseHex' }] };
      assert.deepEqual(await told(simulator, 'POST', 'events', event), { eventId: 'evt_1', targets: 1 });
      await told(simulator, 'POST', 'events/balance', { numbers: 'string', wait: true });
      const failed = { status: 'FAILED', wait: true };
      const [delivery] = (await told(simulator, 'POST', 'events/transaction', failed)).deliveries;
      const { headers, ...attempt } = delivery.attempts[0];
      assert.deepEqual(attempt, { url: receiver.url, status: 200 });
      assert.equal(headers.length, 10);
      assert.equal(delivery.type, 'SEND_TRANSACTION_STATUS_UPDATES');
      const stats = await told(simulator, 'GET', 'stats?done=3');
      assert.deepEqual(stats, {
        ...{ deliveries: 3, waiting: 0, done: 3, acknowledged: 3, refused: 0, abandoned: 0, stopped: 0, held: 0 },
        ...{ attempts: 3, answers: { 200: 3 } },
      });
      const { deliveries } = await told(simulator, 'GET', 'deliveries');
      assert.deepEqual(
        deliveries.map(({ number }) => number),
        [1, 2, 3],
      );
      const { attempts, ...first } = deliveries[0];
      assert.deepEqual(first, {
        ...{ number: 1, eventId: 'evt_1', type: 'ACTIVITY_UPDATES', organizationId: ORGANIZATION, endpointId: null },
        ...{ state: 'acknowledged', body: '{"a":1}', bodyBytes: 7 },
      });
      assert.equal(attempts[0].fault, 'upperCaseHex');
      await told(simulator, 'DELETE', 'deliveries');
      assert.deepEqual(await told(simulator, 'GET', 'deliveries'), { deliveries: [] });
      assert.equal((await told(simulator, 'GET', 'stats')).attempts, 0);
      assert.equal((await ask(simulator, 'GET', 'stats?done=1&timeoutMs=1')).status, 504);
      assert.equal((await ask(simulator, 'GET', 'stats?strange=1')).status, 400);
      assert.equal((await ask(simulator, 'POST', 'events', { strange: 1 })).status, 400);
    }),
  );

  test(
    'accepts faults, and releases slow bodies',
    withReceiver(async (webhooks, receiver, simulator) => {
      assert.deepEqual(await told(simulator, 'POST', 'faults', { kind: 'slowBody' }), { pending: 1 });
      assert.deepEqual(await told(simulator, 'POST', 'faults', [{ kind: 'otherKey' }]), { pending: 2 });
      assert.deepEqual(await told(simulator, 'GET', 'faults'), { pending: 2 });
      assert.equal(simulator.pendingFaults(), 0);
      await told(simulator, 'POST', 'events');
      assert.equal((await told(simulator, 'GET', 'stats?held=1')).done, 0);
      assert.deepEqual(await told(simulator, 'POST', 'release'), { released: 1 });
      assert.equal((await told(simulator, 'GET', 'stats?waiting=0')).done, 1);
      assert.deepEqual(await told(simulator, 'DELETE', 'faults'), { pending: 0 });
      assert.equal((await ask(simulator, 'POST', 'faults', { kind: 'x' })).status, 400);
    }),
  );

  test(
    'changes settings',
    withReceiver(async (webhooks, receiver, simulator) => {
      const { maxAttempts, cacheControl } = await told(simulator, 'POST', 'settings', { maxAttempts: 3 });
      assert.equal(maxAttempts, 3);
      assert.match(cacheControl, /^public/);
      for (const wrong of [{ maxAttempts: 0 }, { retryMs: -1 }, { retryMs: '1' }, { other: 1 }]) {
        assert.equal((await ask(simulator, 'POST', 'settings', wrong)).status, 400);
      }
    }),
  );

  test(
    'manages keys',
    withReceiver(async (webhooks, receiver, simulator) => {
      const before = await told(simulator, 'GET', 'keys');
      const { keys } = await told(simulator, 'POST', 'keys');
      const signing = (list) => list.map((key) => [key.kid, key.signing]);
      assert.deepEqual(signing(before.keys), [['webhook-key-1', true]]);
      assert.deepEqual(signing(keys), [
        ['webhook-key-1', false],
        ['webhook-key-2', true],
      ]);
      const left = await told(simulator, 'DELETE', 'keys?kid=webhook-key-1');
      assert.deepEqual(
        left.keys.map(({ kid }) => kid),
        ['webhook-key-2'],
      );
      await told(simulator, 'POST', 'keys', { jwk: { kid: 'x' }, first: true });
      assert.deepEqual((await keySetOf(simulator)).keys[0], { kid: 'x' });
      await told(simulator, 'POST', 'keys', { broken: true });
      assert.ok((await keySetOf(simulator)).keys.length > 10);
      await told(simulator, 'DELETE', 'keys?kid=x');
      assert.equal((await ask(simulator, 'DELETE', 'keys?kid=x')).status, 400);
      assert.equal((await ask(simulator, 'POST', 'keys', { seed: 'x' })).status, 400);
      assert.equal((await ask(simulator, 'POST', 'keys', { strange: 1 })).status, 400);
    }),
  );

  test(
    'sends a load',
    withReceiver(async (webhooks, receiver, simulator) => {
      receiver.answer = (number) => ({ status: number <= 20 ? 200 : 503 });
      const { load } = await told(simulator, 'POST', 'load', { count: 50, ids: 'id-' });
      const { acknowledged } = await told(simulator, 'GET', `load?load=${load}&acknowledged=20`);
      assert.equal(acknowledged.length, 20);
      assert.equal((await ask(simulator, 'GET', `load?load=${load}&timeoutMs=1`)).status, 504);
      const { isDone, events } = await told(simulator, 'DELETE', `load?load=${load}`);
      assert.deepEqual([isDone, events], [true, 50]);
      assert.equal((await ask(simulator, 'GET', 'load?load=1')).status, 400);
    }),
  );

  test(
    'resets everything',
    withReceiver(async (webhooks, receiver, simulator) => {
      receiver.answer = () => ({ held: true });
      webhooks.setEndpoints(ORGANIZATION, [receiver.url]);
      webhooks.keys.add();
      webhooks.change({ maxAttempts: 3 });
      webhooks.addFaults([{ kind: 'otherKey' }, { kind: 'otherKey' }, { kind: 'otherKey' }, { kind: 'otherKey' }]);
      const { done } = webhooks.send();
      const load = webhooks.sendMany({ count: 1 });
      await receiver.waitFor(3);
      simulator.reset();
      assert.deepEqual(
        (await done).map(({ state }) => state),
        ['stopped', 'stopped'],
      );
      assert.deepEqual((await load.done).acknowledged, []);
      assert.equal(webhooks.pendingFaults(), 0);
      assert.deepEqual(webhooks.deliveries(), []);
      assert.equal(webhooks.stats().deliveries, 0);
      assert.deepEqual(
        webhooks.endpoints().map(({ url }) => url),
        [null, null, receiver.url],
      );
      assert.deepEqual([webhooks.settings.maxAttempts, webhooks.settings.retryMs], [100, 0]);
      assert.equal(webhooks.keys.list().length, 1);
      receiver.answer = () => ({});
      assert.equal((await webhooks.send().done)[0].state, 'acknowledged');
    }),
  );

  test(
    'keeps the last thousand deliveries',
    withReceiver(async (webhooks) => {
      for (let i = 0; i < 1003; i += 1) webhooks.send({ body: '{}' });
      await webhooks.waitFor({ waiting: 0 });
      const kept = webhooks.deliveries();
      assert.deepEqual([kept.length, kept[0].number, webhooks.stats().done], [1000, 4, 1003]);
    }),
  );
});

test('the delays double up to a limit', async () => {
  const delays = [];
  const limits = { settings: { retryMs: 100, maxRetryMs: 2000 }, maxAttempts: 8, stop: newStop().signal };
  const wait = (ms) => void delays.push(ms);
  assert.equal(await attemptUntilAnswered(async () => ({ status: 503 }), { ...limits, wait }), 'abandoned');
  assert.deepEqual(delays, [100, 200, 400, 800, 1600, 2000, 2000]);
});
