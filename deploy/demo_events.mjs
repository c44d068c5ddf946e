// Shows the events of deploy/quickstart: a subscriber receives the changes that the calls caused, is killed, and misses
// nothing.
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

/** A running deploy/subscriber.mjs, whose output is shown. */
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

  /** Resolves when it has printed a line with `text` in it. */
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
  console.error(`the demonstration went wrong: ${what}`);
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
  console.log(`  caller: CreatePolicies gave activity ${activity.id}`);
  return activity.id;
}

await control('webhooks/endpoints', 'PUT', { organizationId, urls: [webhookUrl] });

console.log('\nA subscriber is told what came of a call: upstream signed it, the gateway verified and stored it.');
const first = new Subscriber();
await first.said('subscribing from the beginning');
await first.said(await createPolicy('told at once'));
await first.said('place kept');

console.log('\nThe subscriber is killed. Events go on.');
await first.kill();
const missed = await createPolicy('told later');

console.log('\nIt starts again where it stopped, and is told what it missed.');
const second = new Subscriber();
await second.said('subscribing where it stopped');
await second.said(missed);
await second.kill();
client.close();
