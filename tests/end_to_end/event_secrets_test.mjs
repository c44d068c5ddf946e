// Events contain secrets. Whether the gateway stores or refuses a delivery, its log contains nothing of the delivery
// but the event id.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { deliver, prepareEventStack, startEventStack } from './event_stack.mjs';
import { HANG_MS, WEBHOOK_PATH } from './harness.mjs';
import { logged } from './log_lines.mjs';
import { Subscriber, listAll } from './subscriber.mjs';

const PIECE = 10;

/** Fails if `text` contains a piece of the secret that is too long for a coincidence. */
function assertWithout(text, secret) {
  for (let at = 0; at + PIECE <= secret.length; at += 1) {
    assert.ok(!text.includes(secret.slice(at, at + PIECE)), `the piece at ${at} of ${secret} is in ${text}`);
  }
}

/** Ends the gateway. Resolves to everything that it has printed. */
async function printedBy(gateway) {
  await gateway.stop();
  return gateway.output;
}

const secretText = () => randomBytes(36).toString('base64url').replaceAll('-', 'x');

describe('the log of a gateway contains nothing', { timeout: HANG_MS }, () => {
  it('of the content of deliveries, stored or refused', async (t) => {
    const stack = await startEventStack(t);
    const { simulator } = stack;
    simulator.webhooks.change({ maxAttempts: 1 });
    const secret = secretText();
    const subscriber = await Subscriber.start(stack.gateway);
    const json = { type: 'ACTIVITY_TYPE_SIMULATED', organizationId: secret, result: { oauthResult: secret }, id: 7 };
    const header = (kind, name, value = secret) => ({ kind, header: name, value });
    const deliveries = [
      [200, { json }],
      [200, { json: { ...json, type: secret } }],
      [200, { json, eventId: 'same' }],
      [200, { json: { ...json, more: secret }, eventId: 'same' }],
      [200, { json, faults: [{ kind: 'labels', organizationId: secret, type: secret, webhookVersion: secret }] }],
      [200, { body: `{"a":"${secret}"` }],
      [200, { body: `{"${secret}":1,"${secret}":2}` }],
      [200, { body: secret }],
      [200, { json, faults: [header('malformedHeader', 'Event-Id', `${secret}/`)] }],
      [401, { json, faults: [{ kind: 'otherKey' }] }],
      [503, { json, faults: [{ kind: 'timestamp', value: '1' }] }],
      [503, { json, faults: [{ kind: 'keyId', value: secret }] }],
      [503, { json, faults: [{ kind: 'version', value: secret }] }],
      [503, { json, faults: [{ kind: 'algorithm', value: secret }] }],
      ...['Timestamp', 'Signature'].map((name) => [400, { json, faults: [header('malformedHeader', name)] }]),
      [503, { json, faults: [header('malformedHeader', 'Signature-Key-Id', `${secret}/`)] }],
      [400, { json, faults: [header('duplicateHeader', 'Event-Id')] }],
    ];
    for (const [status, event] of deliveries) {
      assert.equal((await deliver(simulator, event)).status, status, JSON.stringify(event));
    }
    assert.equal((await subscriber.events(8)).length, 8);
    await stack.gateway.refusal('EventService/GetEvent', { event_id: secret });
    await stack.gateway.refusal('EventService/ListEvents', { cursor: secret });

    const events = await listAll(stack.gateway);
    const printed = await printedBy(stack.gateway);
    assert.equal(logged(stack.gateway, 'delivery_not_stored').length, deliveries.length - events.length);
    assertWithout(printed, secret);
    for (const { signature, body } of events) {
      assertWithout(printed, signature.signature.toString('hex'));
      assertWithout(printed, body.toString());
    }
  });

  it('of the webhook path, also if strangers try similar paths', async (t) => {
    const stack = await startEventStack(t);
    const base = stack.gateway.webhookUrl.slice(0, -WEBHOOK_PATH.length);
    const guess = secretText();
    for (const path of [WEBHOOK_PATH, `/${guess}`, `${WEBHOOK_PATH}${guess}`, `${WEBHOOK_PATH}?${guess}`]) {
      await deliver(stack.simulator, { url: base + path, body: 'nothing' });
    }
    const printed = await printedBy(stack.gateway);
    for (const secret of [WEBHOOK_PATH, guess]) assertWithout(printed, secret);
  });

  it('of an invalid key set', async (t) => {
    const stack = await prepareEventStack(t);
    const secret = secretText();
    const { keys } = stack.simulator.webhooks;
    for (const member of ['kid', 'kty', 'crv', 'alg', 'use', 'x', 'service_signature_version']) {
      keys.publish({ ...keys.document().keys[0], kid: 'wrong', [member]: secret });
    }
    keys.publish(secret);
    await stack.start();
    assert.equal((await deliver(stack.simulator)).status, 200);
    assertWithout(await printedBy(stack.gateway), secret);
  });
});
