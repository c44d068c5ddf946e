// Measures shared subscriptions that several gateways serve on PostgreSQL; see tests/bench/shared_subscriptions.
import { mkdirSync } from 'node:fs';
import { cpus, release } from 'node:os';
import { join } from 'node:path';
import { metricsOf } from '../end_to_end/admin_port.mjs';
import { Consumer } from '../end_to_end/consumer.mjs';
import { Gateway, run } from '../end_to_end/harness.mjs';
import { until } from '../end_to_end/processes.mjs';
import { SharedLogStack } from '../end_to_end/shared_log_stack.mjs';
import { binary } from '../paths.mjs';
import { PostgresCluster } from '../postgresql/cluster.mjs';
import { heading, median, row, writeBody } from './tables.mjs';

const quick = process.argv.includes('--quick');
const ROUNDS = quick ? 1 : 3;
const EVENTS = quick ? 3000 : 30_000;
const LIVE = { rate: 200, events: quick ? 1000 : 4000 };
const KEYS = 1000;
const CONSUMERS = 6;
const SETTLE_WITHIN_S = 5;

/** What must end when the measurement ends. */
const ends = [];
const scope = { after: (end) => ends.push(end) };

/** Delivers events to a gateway, at this rate if one is given. */
async function deliver(gateway, body, count, rate) {
  const { status, stderr } = await run(
    [
      `--body=${body}`,
      `--url=${gateway.webhookUrl}`,
      `--pid=${gateway.child.pid}`,
      `--keys=${KEYS}`,
      `--count=${count}`,
      '--warm_up=0',
      ...(rate === undefined ? ['--connections=8'] : [`--rate=${rate}`]),
    ],
    { command: binary('tests/bench/deliver') },
  );
  if (status !== 0) throw new Error(`deliver: ${stderr}`);
}

/** Consumers that settle whatever they get, and that consume at another gateway when theirs ends. */
class Crowd {
  /** The ids of the events that are settled, and of those for whose settle there was no response yet, or never. */
  settled = new Set();
  #tried = new Set();
  repeated = 0;
  #ended = false;
  #calls = new Set();

  constructor(subscription, gateways, count) {
    this.subscription = subscription;
    this.gateways = gateways;
    this.work = Promise.all(Array.from({ length: count }, (_, index) => this.#consume(index)));
  }

  async #consume(index) {
    while (!this.#ended) {
      /** @type {Consumer | undefined} */
      let consumer;
      try {
        const gateway = this.gateways[index % this.gateways.length];
        consumer = new Consumer(gateway, { subscription: this.subscription, max_unsettled: 200 });
        for (;;) {
          const { deliveries } = await consumer.message();
          this.#calls.add(consumer.call);
          if (deliveries.length === 0) continue;
          for (const { event } of deliveries) this.#tried.add(event.event_id);
          await gateway.call('SubscriptionService/Settle', {
            subscription: this.subscription,
            tokens: deliveries.map(({ token }) => token),
            outcome: 'SETTLE_OUTCOME_DONE',
          });
          for (const { event, delivery_count } of deliveries) {
            if (delivery_count > 1) this.repeated += 1;
            this.settled.add(event.event_id);
          }
        }
      } catch {
        consumer?.call?.cancel();
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  }

  async until(count) {
    const areSettled = async () =>
      this.settled.size >= count || (this.#tried.size >= count && (await this.#isNothingLeft()));
    await until(areSettled, `${count} events are settled`, 600_000);
  }

  /** A settle can have succeeded without a response, when its gateway was killed. */
  async #isNothingLeft() {
    const request = { subscription: this.subscription };
    const { subscription } = await this.gateways[0].call('SubscriptionService/GetSubscription', request);
    return subscription.events_behind === undefined || subscription.events_behind === '0';
  }

  async end() {
    this.#ended = true;
    for (const call of this.#calls) call.cancel();
    await this.work;
  }
}

/** The rows of subscriptions that the server has written, and its syncs, so far. */
async function writesOf(server) {
  const counts = await server.sql(
    `SELECT (SELECT sum(n_tup_ins + n_tup_upd + n_tup_del) FROM pg_stat_user_tables
       WHERE relname LIKE 'subscription%'), (SELECT wal_sync FROM pg_stat_wal)`,
  );
  const [rows, syncs] = counts.trim().split('|').map(Number);
  return { rows, syncs };
}

/** The sum and the count of the times until events were settled, at these gateways. */
async function doneAt(gateways, subscription) {
  let sum = 0;
  let count = 0;
  for (const gateway of gateways) {
    const metrics = await metricsOf(gateway);
    sum += metrics.get(`stampgate_subscription_done_seconds_sum{subscription="${subscription}"}`) ?? 0;
    count += metrics.get(`stampgate_subscription_done_seconds_count{subscription="${subscription}"}`) ?? 0;
  }
  return { sum, count };
}

const subscriptionsOf = (names) =>
  names.map((name) => ({
    ...{ name, callers: ['loopback'], all_organizations: true, order_by: 'activity' },
    settle_within: `${SETTLE_WITHIN_S}s`,
  }));

async function main() {
  const cluster = await PostgresCluster.create(scope, { size: 2 });
  const rounds = Array.from({ length: ROUNDS }, (_, round) => round);
  const names = rounds.flatMap((round) => [`sqlite-${round}`, `one-${round}`, `three-${round}`]);
  const stack = await SharedLogStack.prepare(
    scope,
    { hosts: cluster.hosts },
    {
      config: {
        subscriptions: subscriptionsOf([...names, 'live']),
        events: { max_subscribers: 1000, max_subscribers_per_caller: 1000, heartbeat_interval: '1s' },
      },
    },
  );
  const body = writeBody(stack.folder);
  const folder = join(stack.folder, 'sqlite');
  mkdirSync(folder);
  const single = await Gateway.start({ ...stack.config(), store: { sqlite: { folder } } }, { folder: stack.folder });
  stack.gateways.push(single);
  const gateways = [await stack.start(), await stack.start(), await stack.start()];
  await deliver(single, body, EVENTS);
  await deliver(gateways[0], body, EVENTS);

  const rates = { sqlite: [], one: [], three: [] };
  const repeated = { sqlite: 0, one: 0, three: 0 };
  const writes = { one: [], three: [] };
  for (const round of rounds) {
    for (const [name, of] of Object.entries({ sqlite: [single], one: gateways.slice(0, 1), three: gateways })) {
      const before = await writesOf(cluster.primary);
      const began = performance.now();
      const crowd = new Crowd(`${name}-${round}`, of, CONSUMERS);
      await crowd.until(EVENTS);
      rates[name].push(EVENTS / ((performance.now() - began) / 1000));
      repeated[name] += crowd.repeated;
      await crowd.end();
      const after = await writesOf(cluster.primary);
      const per = (what) => ((after[what] - before[what]) * 1000) / EVENTS;
      writes[name]?.push({ rows: per('rows'), syncs: per('syncs') });
    }
  }

  // New events, while gateways join, end and are killed. The subscription has the earlier events first.
  const alive = [...gateways];
  const crowd = new Crowd('live', alive, CONSUMERS);
  await crowd.until(EVENTS);
  let expected = EVENTS;
  const changes = {
    'no gateway': async () => {},
    'a gateway joins': async () => alive.push(await stack.start()),
    'a gateway ends': async () => stack.stop(alive.pop()),
    'a gateway is killed': async () => stack.kill(alive.pop()),
  };
  const live = [];
  for (const [title, change] of Object.entries(changes)) {
    const again = crowd.repeated;
    const known = [...alive];
    const before = await doneAt(known, 'live');
    const began = performance.now();
    const delivering = deliver(gateways[0], body, LIVE.events, LIVE.rate);
    await new Promise((resolve) => setTimeout(resolve, (LIVE.events / LIVE.rate / 4) * 1000));
    await change();
    await delivering;
    await crowd.until((expected += LIVE.events));
    const longer = (performance.now() - began) / 1000 - LIVE.events / LIVE.rate;
    const rest = known.filter((gateway) => alive.includes(gateway));
    const after = await doneAt(rest, 'live');
    const mean = title === 'no gateway' ? ((after.sum - before.sum) * 1000) / (after.count - before.count) : undefined;
    live.push([title, crowd.repeated - again, longer, mean]);
  }
  await crowd.end();

  console.log(`machine: ${cpus().length} cores, ${cpus()[0].model}, Linux ${release()}; medians of ${ROUNDS} round(s)`);
  heading(`${EVENTS} events of ${KEYS} keys, ${CONSUMERS} consumers`, ['events/s', 'repeated']);
  row('SQLite, one gateway', [median(rates.sqlite), repeated.sqlite]);
  row('PostgreSQL with a synchronous standby, one gateway', [median(rates.one), repeated.one]);
  row('the same, three gateways', [median(rates.three), repeated.three]);
  heading('the server, for 1,000 settled events', ['rows', 'syncs']);
  for (const name of ['one', 'three']) {
    const of = (what) => median(writes[name].map((values) => values[what]));
    row(name === 'one' ? 'one gateway' : 'three gateways', [of('rows'), of('syncs')], 1);
  }
  heading(`${LIVE.events} new events, ${LIVE.rate} a second`, ['repeated', 'longer by s', 'mean ms']);
  for (const [title, ...values] of live) row(title, values, 1);
}

let status = 0;
try {
  await main();
} catch (error) {
  console.error(error.message);
  status = 1;
}
for (const end of ends.reverse()) await end();
process.exit(status);
