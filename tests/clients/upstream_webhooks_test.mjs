// Runs upstream's own verifier on the simulator's deliveries. The verifier must accept the deliveries that the
// simulator signs correctly, and reject the deliveries that a fault has changed.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startSimulator } from '../simulator/server.mjs';
import * as testing from '../simulator/testing.mjs';
import { load } from './packages.mjs';

const { verifyTurnkeyWebhookSignature: verifySignature } = load('@turnkey/crypto');

const { exchange, readVectors, startReceiver, submit, subOrganization } = testing;

const OPERATOR = 'turnkey';
const MAX_AGE_MS = 300_000;
const NOW = Date.now();

/** Returns the published keys in the form that the verifier expects. */
async function verificationKeys({ url }) {
  const { json } = await exchange(`${url}/public/v1/discovery/webhooks/jwks`, { method: 'GET' });
  return json.keys.map(({ kid, x, turnkey_signature_algorithm: algorithm }) => {
    return { keyId: kid, publicKey: Buffer.from(x, 'base64url').toString('hex'), algorithm };
  });
}

/** Returns the verifier's result for a received delivery. */
async function verdictOf(simulator, { fields, body }) {
  const keys = await verificationKeys(simulator);
  return verifySignature({ headers: fields, body, verificationKeys: keys, maxTimestampAgeMs: MAX_AGE_MS, nowMs: NOW });
}

/** Calls `use` with a simulator, whose clock is stopped, and a receiver of its deliveries. */
const withReceiver = (use) => async () => {
  const receiver = await startReceiver();
  const webhooks = { urls: [receiver.url], settings: { retryMs: 0, maxRetryMs: 0 } };
  const options = { operator: OPERATOR, now: () => NOW, webhooks };
  const run = testing.withSimulator(startSimulator, options, (simulator) => use(simulator, receiver));
  await run().finally(() => receiver.close());
};

/** Sends one event, verifies the received delivery, and calls `check` with the verifier's result. */
const verdictWith = (event, check) =>
  withReceiver(async (simulator, receiver) => {
    await simulator.webhooks.send(event).done;
    await check(await verdictOf(simulator, receiver.received[0]), receiver.received[0]);
  });

const isAccepted = (verdict, { fields }) => {
  assert.deepEqual(verdict, {
    ok: true,
    eventId: fields['x-turnkey-event-id'][0],
    keyId: fields['x-turnkey-signature-key-id'][0],
    timestampMs: Number(fields['x-turnkey-timestamp'][0]),
  });
};

describe("upstream's verifier accepts", () => {
  for (const delivery of readVectors('webhooks.json').deliveries.filter(({ verdict }) => verdict.ok)) {
    const bodyBase64 = delivery.bodyBase64 ?? Buffer.from(delivery.body).toString('base64');
    test(
      `a delivery with the body of ${delivery.id}`,
      verdictWith({ bodyBase64 }, (verdict, received) => {
        isAccepted(verdict, received);
        assert.equal(received.body.toString('base64'), bodyBase64);
      }),
    );
  }

  for (const kind of ['upperCaseHex', 'lowerCaseNames', 'chunked', 'answerLost']) {
    test(kind, verdictWith({ faults: [{ kind }] }, isAccepted));
  }
  test('a body of 5 MB', verdictWith({ faults: [{ kind: 'hugeBody', bytes: 5_000_000 }] }, isAccepted));
  const labels = { kind: 'labels', organizationId: 'x', type: 'y' };
  test('labels that do not match the body', verdictWith({ faults: [labels] }, isAccepted));
  for (const offsetMs of [-MAX_AGE_MS, MAX_AGE_MS]) {
    test(`a timestamp ${offsetMs} ms from now`, verdictWith({ faults: [{ kind: 'timestamp', offsetMs }] }, isAccepted));
  }

  test(
    'activities, balances and transactions',
    withReceiver(async (simulator, receiver) => {
      await submit(simulator, 'update_organization_name', 'UPDATE_ORGANIZATION_NAME', { organizationName: 'é' });
      const organizationId = subOrganization(1);
      for (const numbers of ['number', 'string'])
        await simulator.webhooks.sendBalance({ organizationId, numbers }).done;
      await simulator.webhooks.sendTransaction({ organizationId }).done;
      await simulator.webhooks.waitFor({ waiting: 0 });
      assert.equal(receiver.received.length, 4);
      for (const received of receiver.received) isAccepted(await verdictOf(simulator, received), received);
    }),
  );

  test(
    'every repetition of a delivery',
    withReceiver(async (simulator, receiver) => {
      receiver.answer = (number) => ({ status: number < 4 ? 503 : 200 });
      await simulator.webhooks.send({ faults: [{ kind: 'repeated', body: '{}' }] }).done;
      assert.equal(receiver.received.length, 5);
      for (const received of receiver.received) isAccepted(await verdictOf(simulator, received), received);
    }),
  );

  test(
    'a signature of a new key, once the key is published',
    withReceiver(async (simulator, receiver) => {
      simulator.webhooks.keys.add();
      await simulator.webhooks.send().done;
      const [received] = receiver.received;
      isAccepted(await verdictOf(simulator, received), received);
    }),
  );
});

describe("upstream's verifier rejects", () => {
  const HEADERS = [
    ...['Timestamp', 'Event-Id', 'Signature-Key-Id'],
    ...['Signature-Algorithm', 'Signature-Version', 'Signature'],
  ];

  const refused = (name, fault, reason, more = {}) =>
    test(
      name,
      verdictWith({ faults: [fault] }, (verdict) => {
        assert.deepEqual(verdict, { ok: false, reason, ...more });
      }),
    );

  for (const header of HEADERS) {
    const headerName = `x-turnkey-${header.toLowerCase()}`;
    refused(`no ${header}`, { kind: 'missingHeader', header }, 'missing_header', { headerName });
    const empty = { kind: 'malformedHeader', header, value: '' };
    refused(`an empty ${header}`, empty, 'missing_header', { headerName });
  }
  refused('a malformed Timestamp', { kind: 'malformedHeader', header: 'Timestamp' }, 'invalid_timestamp');
  const beyond = { kind: 'timestamp', value: '9007199254740992' };
  refused('a timestamp that is too large for a number', beyond, 'invalid_timestamp');
  for (const offsetMs of [-MAX_AGE_MS - 1, MAX_AGE_MS + 1]) {
    refused(`a timestamp ${offsetMs} ms from now`, { kind: 'timestamp', offsetMs }, 'stale_timestamp');
  }
  for (const value of ['v2', 'V1', 'v 1']) {
    refused(`the version ${value}`, { kind: 'version', value }, 'unsupported_signature_version');
  }
  for (const value of ['ed448', 'Ed25519', 'ecdsa']) {
    refused(`the algorithm ${value}`, { kind: 'algorithm', value }, 'unsupported_signature_algorithm');
  }
  for (const header of ['Signature-Version', 'Signature-Algorithm']) {
    const reason = `unsupported_${header.toLowerCase().replace('-', '_')}`;
    refused(`a malformed ${header}`, { kind: 'malformedHeader', header }, reason);
  }
  refused('an unknown key', { kind: 'keyId' }, 'missing_key');
  refused('a malformed key id', { kind: 'malformedHeader', header: 'Signature-Key-Id' }, 'missing_key');
  refused('a malformed Signature', { kind: 'malformedHeader', header: 'Signature' }, 'invalid_signature');
  for (const byte of [0, 31, 32, 63]) {
    refused(`a signature with a changed byte ${byte}`, { kind: 'wrongSignature', byte }, 'invalid_signature');
  }
  refused('the signature of another key', { kind: 'otherKey' }, 'invalid_signature');
  for (const byte of [0, 20, undefined]) {
    refused(`a body with a changed byte ${byte ?? 'inside'}`, { kind: 'flippedBody', byte }, 'invalid_signature');
  }

  test(
    'a signature of a key that is not published',
    withReceiver(async (simulator, receiver) => {
      simulator.webhooks.keys.add({ published: false });
      await simulator.webhooks.send().done;
      const verdict = await verdictOf(simulator, receiver.received[0]);
      assert.deepEqual(verdict, { ok: false, reason: 'missing_key' });
    }),
  );

  test(
    'a signature of a key that is no longer published',
    withReceiver(async (simulator, receiver) => {
      const { webhooks } = simulator;
      await webhooks.send().done;
      webhooks.keys.add();
      webhooks.keys.drop('webhook-key-1');
      await webhooks.send().done;
      const verdicts = [];
      for (const received of receiver.received) verdicts.push((await verdictOf(simulator, received)).ok);
      assert.deepEqual(verdicts, [false, true]);
    }),
  );
});

test(
  "upstream's verifier accepts any event id that is signed",
  verdictWith({ faults: [{ kind: 'malformedHeader', header: 'Event-Id' }] }, isAccepted),
);
