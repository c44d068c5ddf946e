// Demonstrates events for deploy/quickstart: a subscriber receives the event that a call caused. Then the subscriber is
// killed, starts again, and receives the event that it missed.
//
//   node deploy/demo_events.mjs GATEWAY SIMULATOR_URL WEBHOOK_URL CURSOR_FILE
import { randomUUID } from 'node:crypto';
import { call, connect } from '../tests/clients/gateway.mjs';
import { DemoProgram, fail } from './demo_program.mjs';

const [gateway, simulator, webhookUrl, cursorFile] = process.argv.slice(2);
if (!cursorFile) {
  console.error('usage: demo_events.mjs GATEWAY SIMULATOR_URL WEBHOOK_URL CURSOR_FILE');
  process.exit(2);
}

const organizationId = '11111111-2222-4333-8444-555555555555';
const client = connect(gateway);

const subscribe = () => new DemoProgram('subscriber', 'subscriber.mjs', gateway, cursorFile);

setTimeout(() => fail('an event did not arrive'), 60_000).unref();

async function control(path, method, body) {
  const answer = await fetch(`${simulator}/_simulator/${path}`, { method, body: JSON.stringify(body) });
  if (!answer.ok) fail(`the simulator answered ${answer.status}`);
  return answer.json();
}

async function createPolicy(name) {
  const policy = { policy_name: name, effect: 'EFFECT_ALLOW', consensus: 'approvers.count() >= 2', notes: '' };
  const { activity } = await call(client, 'PolicyService/CreatePolicies', {
    organization_id: organizationId,
    parameters: { policies: [policy] },
    idempotency_key: randomUUID(),
  });
  console.log(`  caller: CreatePolicies returned activity ${activity.id}`);
  return activity.id;
}

await control('webhooks/endpoints', 'PUT', { organizationId, urls: [webhookUrl] });

console.log('\nA subscriber receives the event of a call. Upstream signed it; the gateway verified and stored it.');
const first = subscribe();
await first.said('subscribing from the beginning');
await first.said(await createPolicy('while the subscriber runs'));
await first.said('saved the cursor');

console.log('\nThe subscriber is killed. Another call causes an event.');
await first.kill();
const missed = await createPolicy('while no subscriber runs');

console.log('\nThe subscriber starts again at the saved cursor, and receives the event that it missed.');
const second = subscribe();
await second.said('subscribing from the saved cursor');
await second.said(missed);
await second.kill();
client.close();
