// Tests upstream's name in deliveries. Also runs upstream's own verifier, which must accept the same deliveries as the
// gateway.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { load } from '../clients/packages.mjs';
import { deliver } from './event_stack.mjs';
import { HANG_MS, startStack } from './harness.mjs';
import { listAll } from './subscriber.mjs';

const SIGNED = ['Timestamp', 'Event-Id', 'Signature-Key-Id', 'Signature-Algorithm', 'Signature-Version', 'Signature'];
const LABELS = ['Organization-Id', 'Event-Type', 'Webhook-Version', 'Content-Type'];

describe("upstream's name", { timeout: HANG_MS }, () => {
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

  it('must be the configured one; deliveries with another name are refused', async (t) => {
    const { simulator, gateway } = await startStack(t, { simulator: { operator: 'example' }, events: true });
    assert.equal((await deliver(simulator)).status, 400);
    assert.deepEqual(await listAll(gateway), []);
  });
});

describe("upstream's own verifier", { timeout: HANG_MS }, async () => {
  const { verifyTurnkeyWebhookSignature: verifySignature } = load('@turnkey/crypto');
  const options = { simulator: { operator: 'turnkey' }, config: { operator_name: 'Turnkey' }, events: true };
  const { simulator, gateway } = await startStack({ after }, options);
  before(() => simulator.webhooks.change({ maxAttempts: 1 }));

  /** The verifier's result for a delivery, with the keys that the gateway returns. */
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
    it(`agrees with the gateway about ${JSON.stringify(fault) ?? 'a valid delivery'}`, async () => {
      const delivered = await deliver(simulator, { faults: fault ? [fault] : [] });
      const { ok } = await verdictOf(delivered);
      assert.equal(delivered.status === 200, ok, `${delivered.status}`);
    });
  }
});
