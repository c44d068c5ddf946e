// The operator's name in deliveries, and the operator's own verifier: what it takes, the gateway takes.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { load } from '../clients/packages.mjs';
import { deliver } from './event_stack.mjs';
import { HANG_MS, startStack } from './harness.mjs';
import { listAll } from './subscriber.mjs';

const SIGNED = ['Timestamp', 'Event-Id', 'Signature-Key-Id', 'Signature-Algorithm', 'Signature-Version', 'Signature'];
const LABELS = ['Organization-Id', 'Event-Type', 'Webhook-Version', 'Content-Type'];

describe("the operator's name", { timeout: HANG_MS }, () => {
  it('is part of the headers and the members of keys', async (t) => {
    const options = { simulator: { operator: 'example' }, config: { operator_name: 'Example' }, events: true };
    const { simulator, gateway } = await startStack(t, options);
    const { eventId, status, headers } = await deliver(simulator);
    assert.equal(status, 200);
    const [event] = await listAll(gateway);
    assert.equal(event.event_id, eventId);
    assert.deepEqual(
      event.headers.map(({ name, value }) => [name, value]),
      headers.filter(([name]) => name.startsWith('X-Example-')),
    );
    assert.equal(event.headers.length, 9);
  });

  it('is refused if it is another', async (t) => {
    const { simulator, gateway } = await startStack(t, { simulator: { operator: 'example' }, events: true });
    assert.equal((await deliver(simulator)).status, 400);
    assert.deepEqual(await listAll(gateway), []);
  });
});

describe("the operator's own verifier", { timeout: HANG_MS }, async () => {
  const { verifyTurnkeyWebhookSignature: verifySignature } = load('@turnkey/crypto');
  const options = { simulator: { operator: 'turnkey' }, config: { operator_name: 'Turnkey' }, events: true };
  const { simulator, gateway } = await startStack({ after }, options);
  before(() => simulator.webhooks.change({ maxAttempts: 1 }));

  /** What the verifier says of a delivery, by the keys that the gateway gives out. */
  async function verdictOf({ headers, body }) {
    const { keys } = await gateway.call('WebhookService/GetWebhookKeySet', {});
    const verificationKeys = keys.map(({ kid, x, signature_algorithm: algorithm }) => {
      return { keyId: kid, publicKey: Buffer.from(x, 'base64url').toString('hex'), algorithm };
    });
    const maxTimestampAgeMs = 300_000;
    return verifySignature({ headers: Object.fromEntries(headers), body, verificationKeys, maxTimestampAgeMs });
  }

  const spoiled = (header) => ['missingHeader', 'malformedHeader'].map((kind) => ({ kind, header }));
  for (const fault of [
    undefined,
    ...['wrongSignature', 'otherKey', 'keyId', 'version', 'algorithm'].map((kind) => ({ kind })),
    ...['labels', 'upperCaseHex', 'lowerCaseNames'].map((kind) => ({ kind })),
    ...[-360_000, -240_000, 240_000, 360_000].map((offsetMs) => ({ kind: 'timestamp', offsetMs })),
    ...SIGNED.flatMap((header) => spoiled(header)),
    ...LABELS.flatMap((header) => spoiled(header)),
  ]) {
    it(`agrees with the gateway about ${JSON.stringify(fault) ?? 'what is right'}`, async () => {
      const delivered = await deliver(simulator, { faults: fault ? [fault] : [] });
      const { ok } = await verdictOf(delivered);
      // It takes any text for an event id, though nothing but its form keeps the signed text apart.
      const isLoose = fault?.kind === 'malformedHeader' && fault.header === 'Event-Id';
      if (isLoose) assert.deepEqual([ok, delivered.status], [true, 400]);
      else assert.equal(delivered.status === 200, ok, `${delivered.status}`);
    });
  }
});
