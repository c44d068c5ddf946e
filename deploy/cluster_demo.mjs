// Shows on loopback that three gateways with one store survive the death of each of their parts; see deploy/cluster-demo.
//
//   node deploy/cluster_demo.mjs [--once]
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Consumer, stateOf, subscriptionConfig } from '../tests/end_to_end/consumer.mjs';
import { deliver } from '../tests/end_to_end/event_stack.mjs';
import { until } from '../tests/end_to_end/processes.mjs';
import { SharedLogStack } from '../tests/end_to_end/shared_log_stack.mjs';
import { Subscriber, listAll } from '../tests/end_to_end/subscriber.mjs';
import { PostgresCluster } from '../tests/postgresql/cluster.mjs';
import { ORGANIZATION } from '../tests/simulator/testing.mjs';

const once = process.argv.includes('--once');

/** What must end when the demonstration ends, in the order of its start. */
const ends = [];
const scope = { after: (end) => ends.push(end) };

async function end(status) {
  for (const stop of ends.splice(0).reverse()) await stop();
  process.exit(status);
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => end(once ? 130 : 0));

const step = (text) => console.log(`\n\x1b[1m== ${text}\x1b[0m`);

function expect(what, holds) {
  if (!holds) throw new Error(what);
}

/** The events that were acknowledged, and the submits that were carried out, so far. */
const events = [];
const submits = [];

/** How often the consumers of the shared subscription have handled each event. */
const handled = new Map();

/** A consumer of the shared subscription, which consumes at another gateway if it loses the present one. */
class Worker {
  #dies = false;

  /** `gateways` are those that run; others can be added and removed. */
  constructor(name, gateways) {
    this.name = name;
    this.gateways = gateways;
    this.end = this.#run();
  }

  /** Handles one more event, and ends before it settles it. */
  async die() {
    this.#dies = true;
    await this.end;
  }

  async #run() {
    for (let number = 0; ; ++number) {
      /** @type {Consumer | undefined} */
      let consumer;
      try {
        consumer = await Consumer.start(this.gateways[number % this.gateways.length]);
        for (;;) {
          const [delivery] = await consumer.deliveries(1);
          const id = delivery.event.event_id;
          handled.set(id, (handled.get(id) ?? 0) + 1);
          if (this.#dies) return consumer.call.cancel();
          await consumer.settle([delivery]);
        }
      } catch {
        consumer?.call.cancel();
        await pause(100);
      }
    }
  }
}

/** Waits until each event was handled and settled. */
async function checkHandled(gateway) {
  await until(async () => {
    const state = await stateOf(gateway).catch(() => undefined);
    return state !== undefined && !Number(state.events_behind ?? 0) && events.every((id) => handled.has(id));
  }, 'the consumers have handled and settled each event');
  const times = [...handled.values()].reduce((sum, count) => sum + count, 0);
  console.log(`  the consumers have handled ${events.length} events, ${times} times in all`);
}

/** Delivers an event to a gateway. Repeats it as upstream does, until a gateway acknowledges it. */
async function deliverOne({ simulator }, gateway) {
  const event = { eventId: `event-${events.length + 1}`, body: JSON.stringify({ number: events.length + 1 }) };
  let attempts = 0;
  await until(async () => {
    ++attempts;
    return (await deliver(simulator, { url: gateway.webhookUrl, ...event })).status === 200;
  }, 'the event is acknowledged');
  events.push(event.eventId);
  console.log(`  ${gateway.name} acknowledged ${event.eventId} at attempt ${attempts}`);
}

/** Makes a submit, and repeats it with its idempotency key until the gateway returns the activity. */
async function activityOf(gateway, request) {
  /** @type {{id: string} | undefined} */
  let activity;
  await until(async () => {
    ({ activity } = await gateway.call('OrganizationService/UpdateOrganizationName', request).catch(() => ({})));
    return activity !== undefined;
  }, 'the submit has an activity');
  return activity;
}

/** Makes a submit with a new idempotency key. */
async function submitOne(gateway) {
  const parameters = { organization_name: `Name ${submits.length + 1}` };
  const request = { organization_id: ORGANIZATION, parameters, idempotency_key: randomUUID() };
  const { id } = await activityOf(gateway, request);
  submits.push({ request, id });
  console.log(`  ${gateway.name} carried out submit ${submits.length}: activity ${id}`);
}

/** Checks that each gateway has every event, and knows the activity of every submit. */
async function check(gateways) {
  for (const gateway of gateways) {
    /** @type {{event_id: string}[] | undefined} */
    let found;
    await until(async () => (found = await listAll(gateway).catch(() => undefined)), 'the event log can be read');
    const ids = found.map(({ event_id }) => event_id);
    expect(`${gateway.name} has the events ${ids}`, JSON.stringify(ids) === JSON.stringify(events));
    for (const { request, id } of submits) {
      const activity = await activityOf(gateway, request);
      expect(`${gateway.name} has carried out a submit twice`, activity.id === id);
    }
    console.log(`  ${gateway.name} has all ${events.length} events, and the activity of all ${submits.length} submits`);
  }
  await checkHandled(gateways[0]);
}

/** Delivers, submits and checks after a fault. */
async function show(stack, gateways, fault) {
  console.log(`  now: ${fault}`);
  await deliverOne(stack, gateways[0]);
  await submitOne(gateways.at(-1));
  await check(gateways);
}

/** Starts a gateway, and adds it to `gateways`. */
async function startGateway(stack, gateways, name) {
  const gateway = Object.assign(await stack.start(), { name });
  gateways.push(gateway);
  console.log(`  ${name}: gRPC on ${gateway.address}, webhooks on ${gateway.webhookUrl}`);
}

async function demonstrate() {
  step('Starting PostgreSQL: a primary and two standbys, one of which must confirm each transaction');
  const cluster = await PostgresCluster.create(scope);
  for (const server of cluster.servers) console.log(`  ${server.name}: ${server.host}`);

  step('Starting the upstream simulator, and three gateways with one store');
  const config = subscriptionConfig({ settle_within: '5s', order_by: 'none' });
  const stack = await SharedLogStack.prepare(scope, { hosts: cluster.hosts }, { config });
  stack.simulator.webhooks.change({ maxAttempts: 1 });
  const gateways = [];
  for (const name of ['gateway-1', 'gateway-2', 'gateway-3']) await startGateway(stack, gateways, name);

  step('An event that one gateway receives is read at another');
  const subscriber = await Subscriber.start(gateways[2]);
  await deliverOne(stack, gateways[0]);
  const [{ event_id: received }] = await subscriber.events(1);
  expect('the subscriber got another event', received === events[0]);
  await subscriber.leave();
  console.log(`  a subscriber of gateway-3 received ${received}`);

  step('The consumers of a shared subscription divide the events');
  const [first] = ['consumer-1', 'consumer-2'].map((name) => new Worker(name, gateways));
  await checkHandled(gateways[0]);

  step('A consumer dies after it has handled an event, and before it has settled it');
  let isDead = false;
  first.die().then(() => (isDead = true));
  while (!isDead) {
    await deliverOne(stack, gateways[0]);
    await until(() => handled.size === events.length, 'a consumer has handled the event');
  }
  await checkHandled(gateways[0]);

  step('A submit that one gateway carried out is repeated at another');
  await submitOne(gateways[0]);
  await check(gateways);

  step('A gateway dies');
  await stack.kill(gateways.shift());
  await show(stack, gateways, 'gateway-2 and gateway-3 run');
  await startGateway(stack, gateways, 'gateway-4');

  step('The primary dies, and a standby takes over');
  await cluster.primary.kill();
  const old = await cluster.failOver();
  await show(stack, gateways, `${cluster.primary.name} is the primary instead of ${old.name}`);
  await cluster.rejoin(old);
  console.log(`  ${old.name} is a standby again`);

  step('A standby dies');
  const [standby] = cluster.standbys;
  await standby.kill();
  await show(
    stack,
    gateways,
    `${cluster.standbys.find((server) => server !== standby).name} confirms transactions alone`,
  );
  await standby.start();
  return gateways;
}

try {
  const gateways = await demonstrate();
  step('Nothing was lost, and nothing was done twice');
  if (once) {
    console.log('This was --once: all processes end now. Without --once they run until Ctrl-C, for calls of your own.');
  } else {
    console.log(`All processes run until Ctrl-C. In another terminal:

  node deploy/call.mjs ${gateways[0].address} EventService/ListEvents '{"end": "LOG_END_EARLIEST"}'
  kill -9 ${gateways[0].child.pid}    # ${gateways[0].name}; its log is not printed
`);
    await new Promise(() => setInterval(() => {}, 2 ** 30));
  }
  await end(0);
} catch (error) {
  console.error(`the demonstration failed: ${error.message}`);
  await end(1);
}
