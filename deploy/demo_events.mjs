// Demonstrates events for deploy/quickstart: a subscriber receives the event that a call caused. Then the subscriber is
// killed, starts again, and receives the event that it missed.
//
//   node deploy/demo_events.mjs GATEWAY SIMULATOR_URL WEBHOOK_URL CURSOR_FILE
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { call, connect } from '../tests/clients/gateway.mjs';

const [gateway, simulator, webhookUrl, cursorFile] = process.argv.slice(2);
if (!cursorFile) {
  console.error('usage: demo_events.mjs GATEWAY SIMULATOR_URL WEBHOOK_URL CURSOR_FILE');
  process.exit(2);
}

const organizationId = '11111111-2222-4333-8444-555555555555';
const client = connect(gateway);

/** A running deploy/subscriber.mjs. Prints each line of its output. */
class Subscriber {
  #waiting = [];
  #lines = [];

  constructor() {
    const program = join(dirname(fileURLToPath(import.meta.url)), 'subscriber.mjs');
    this.child = spawn(process.execPath, [program, gateway, cursorFile], { stdio: ['ignore', 'pipe', 'inherit'] });
    this.child.on('exit', (status) => status && fail(`the subscriber exited with ${status}`));
    createInterface({ input: this.child.stdout }).on('line', (line) => {
      console.log(`  subscriber: ${line}`);
      this.#lines.push(line);
      this.#waiting = this.#waiting.filter((look) => !look());
    });
  }

  /** Resolves when the subscriber has printed a line that contains `text`. */
  said(text) {
    return new Promise((resolve) => {
      const look = () => this.#lines.some((line) => line.includes(text)) && (resolve(), true);
      if (!look()) this.#waiting.push(look);
    });
  }

  kill() {
    return new Promise((resolve) => {
      this.child.once('exit', resolve);
      this.child.kill('SIGKILL');
    });
  }
}

function fail(what) {
  console.error(`the demonstration failed: ${what}`);
  process.exit(1);
}
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
const first = new Subscriber();
await first.said('subscribing from the beginning');
await first.said(await createPolicy('while the subscriber runs'));
await first.said('saved the cursor');

console.log('\nThe subscriber is killed. Another call causes an event.');
await first.kill();
const missed = await createPolicy('while no subscriber runs');

console.log('\nThe subscriber starts again at the saved cursor, and receives the event that it missed.');
const second = new Subscriber();
await second.said('subscribing from the saved cursor');
await second.said(missed);
await second.kill();
client.close();
