// Demonstrates a shared subscription for deploy/quickstart: two consumers divide the events of calls. Then one of them is
// killed while it handles an event, and the other one receives this event.
//
//   node deploy/demo_consumers.mjs GATEWAY SUBSCRIPTION
import { randomUUID } from 'node:crypto';
import { call, connect } from '../tests/clients/gateway.mjs';
import { DemoProgram, fail } from './demo_program.mjs';

const [gateway, subscription] = process.argv.slice(2);
if (!subscription) {
  console.error('usage: demo_consumers.mjs GATEWAY SUBSCRIPTION');
  process.exit(2);
}

const client = connect(gateway);
const HOUR_MS = '3600000';
/** More calls than two consumers can handle one after the other without both being busy. */
const MAX_CALLS = 100;
setTimeout(() => fail('an event did not arrive'), 60_000).unref();

async function createPolicy() {
  const policy = { policy_name: randomUUID(), effect: 'EFFECT_ALLOW', consensus: 'approvers.count() >= 2', notes: '' };
  await call(client, 'PolicyService/CreatePolicies', {
    organization_id: '11111111-2222-4333-8444-555555555555',
    parameters: { policies: [policy] },
    idempotency_key: randomUUID(),
  });
}

console.log('\nTwo consumers divide the events of calls. The second one needs an hour for an event.');
const first = new DemoProgram('first consumer', 'consumer.mjs', gateway, subscription);
const second = new DemoProgram('second consumer', 'consumer.mjs', gateway, subscription, HOUR_MS);
await Promise.all([first.said('consumes'), second.said('consumes')]);
for (let calls = 0; second.lineWith('handles') === undefined; ++calls) {
  if (calls === MAX_CALLS) fail('the second consumer received no event');
  await Promise.all([createPolicy(), createPolicy()]);
}
await first.said('has handled');

console.log('\nThe second consumer is killed. When settle_within is over, the first one receives its event.');
const [, event] = /^handles (.*) \(/.exec(second.lineWith('handles'));
await second.kill();
await first.said(`handles ${event} (DELIVERY_REASON_TIMEOUT)`);
await first.said(`has handled ${event}`);
await first.kill();
client.close();
