// Rounds of faults on a cluster of PostgreSQL servers and on the gateways that share its event log, while a sender
// delivers events and subscribers read. Afterwards the judge of histories checks that nothing acknowledged is lost.
//
// Each round has one fault. With STAMPGATE_LONG=1 the test uses 300 rounds instead of 5. STAMPGATE_STEPS=killPrimary
// uses only these faults, and STAMPGATE_SEED=... chooses another order.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { PostgresCluster } from '../postgresql/cluster.mjs';
import { simpleActivity } from '../simulator/webhook_events.mjs';
import { described } from './failures.mjs';
import { HANG_MS } from './harness.mjs';
import { Follower, seen } from './history/follower.mjs';
import { judge } from './history/judge.mjs';
import { logLines, logged } from './log_lines.mjs';
import { LONG, until } from './processes.mjs';
import { Random } from './random.mjs';
import { SharedLogStack } from './shared_log_stack.mjs';
import { EARLIEST, Subscriber, idsOf, listAll } from './subscriber.mjs';

const ROUNDS = LONG ? 300 : 5;
const GATEWAYS = 3;
const SENDERS = 4;
/** How many events are acknowledged between two faults, and during a fault that lets the log continue. */
const PROGRESS = 40;
/** Longer than each timeout of a gateway and of a server's session. */
const LONG_PAUSE_MS = 7000;
/** The maximum number of printed findings. One fault usually causes several. */
const MAX_FINDINGS = 20;

/** One gateway process after another. A Follower uses it as its stack. */
class Slot {
  #up;
  #waiting = [];

  constructor(stack) {
    this.stack = stack;
  }

  get up() {
    return this.#up;
  }

  /** Resolves to the gateway as soon as one is running. */
  gateway() {
    return this.#up ?? new Promise((resolve) => this.#waiting.push(resolve));
  }

  async start() {
    this.#up = await this.stack.start();
    for (const resolve of this.#waiting.splice(0)) resolve(this.#up);
  }

  async kill() {
    const killed = this.#up;
    this.#up = undefined;
    await this.stack.kill(killed);
  }
}

/** Delivers one event after another to random gateways. Repeats each until it is acknowledged, as upstream does. */
class Sender {
  #stop = false;
  sent = [];
  acknowledged = [];
  /** The number of attempts by status, and of those without a response. */
  answers = {};

  constructor({ webhooks }, random, slots, prefix = 'evt_') {
    Object.assign(this, { webhooks, random, slots, prefix });
    this.done = Promise.all(Array.from({ length: SENDERS }, () => this.#work()));
  }

  /** Begins no new delivery. Resolves when all events are acknowledged. */
  stop() {
    this.#stop = true;
    return this.done;
  }

  /** Stops also if the last deliveries are not acknowledged. */
  abandon() {
    this.isAbandoned = true;
    return this.stop();
  }

  /** Resolves when `count` more events are acknowledged. */
  async progress(count = PROGRESS) {
    const wanted = this.acknowledged.length + count;
    await until(() => this.acknowledged.length >= wanted, `${count} more events are acknowledged`);
  }

  async #work() {
    while (!this.#stop) {
      const eventId = `${this.prefix}${this.sent.length}`;
      this.sent.push(eventId);
      await this.#deliver(eventId);
      await pause(5);
    }
  }

  async #deliver(eventId) {
    const { organizationId, courier } = this.webhooks;
    const body = Buffer.from(simpleActivity({ eventId, organizationId, bytes: 300 }));
    const event = { eventId, organizationId, type: 'ACTIVITY_UPDATES', body };
    for (let number = 1; !this.isAbandoned; ++number) {
      const url = this.random.pick(this.slots).up?.webhookUrl;
      const { status = 'error' } = url ? await courier.attempt(event, url, number) : {};
      this.answers[status] = (this.answers[status] ?? 0) + 1;
      if (status === 200) {
        this.acknowledged.push(eventId);
        return;
      }
      await pause(20);
    }
  }
}

/** The cluster, the gateways, a sender, and subscribers that read from the beginning. */
class Scene {
  followers = [];

  static async make(t, random, { size, confirmations, gateways }) {
    const scene = new Scene();
    scene.random = random;
    // The newest version. Its servers end before the gateways do, because t.after() runs the first function first.
    scene.cluster = await PostgresCluster.create(t, { version: 18, size, confirmations });
    const { hosts } = scene.cluster;
    scene.stack = await SharedLogStack.prepare(t, { hosts, allow_single_server: confirmations === 0 });
    scene.stack.simulator.webhooks.change({ timeoutMs: 1000 });
    scene.slots = Array.from({ length: gateways }, () => new Slot(scene.stack));
    for (const slot of scene.slots) await slot.start();
    scene.sender = new Sender(scene.stack.simulator, random, scene.slots);
    for (const [index, slot] of scene.slots.entries()) scene.followers.push(new Follower(slot, `of gateway ${index}`));
    t.after(async () => {
      scene.slots.forEach(({ up }) => up?.child.kill('SIGCONT'));
      await Promise.all([scene.sender.abandon(), ...scene.followers.map((follower) => follower.stop())]);
    });
    return scene;
  }

  /** Adds a subscriber that changes to another gateway now and then. */
  addWanderer() {
    const { random, slots } = this;
    const stack = { gateway: () => random.pick(slots).gateway() };
    this.followers.push(new Follower(stack, 'of all gateways', () => random.below(20) === 0));
  }

  /** Resolves to the history when every delivery is acknowledged and every subscriber has the whole log. */
  async end() {
    await this.sender.stop();
    const log = (await listAll(this.slots[0].up)).map(seen);
    const isOver = (follower) => follower.isOver || follower.events.length >= log.length;
    await until(() => this.followers.every(isOver), 'every subscriber has the log');
    await Promise.all(this.followers.map((follower) => follower.stop()));
    return { ...this.history(log), faults: await this.#faults(log.length) };
  }

  /** The history for the judge. */
  history(log) {
    return {
      sent: this.sender.sent,
      acknowledged: this.sender.acknowledged,
      log,
      subscribers: this.followers.map(({ name, events, faults }) => ({ name, events, faults })),
      ...{ attempts: [], requests: [], audit: [], verification: { status: 0 }, faults: [] },
    };
  }

  /** Faults of the tables and of the gateways, which the judge does not see. */
  async #faults(count) {
    const found = [];
    const positions = await this.cluster.primary.sql(
      'SELECT count(*), min(position), max(position), count(DISTINCT event_id) FROM stampgate.events',
    );
    if (positions !== `${count}|1|${count}|${count}`) found.push(`${count} events have the positions ${positions}`);
    for (const { output } of this.stack.gateways) {
      for (const { had, latest } of logged({ output }, 'events_taken_back')) {
        found.push(`a gateway had event ${had}, and the log ended at ${latest}`);
      }
    }
    for (const status of Object.keys(this.sender.answers)) {
      if (!['200', '503', 'error'].includes(status)) found.push(`a delivery was answered ${status}`);
    }
    return found;
  }
}

const FAULTS = {
  async killGateway({ slots, random, sender }) {
    const slot = random.pick(slots);
    await slot.kill();
    await sender.progress();
    await slot.start();
  },

  async pauseGateway({ slots, random, sender }) {
    const { child } = random.pick(slots).up;
    child.kill('SIGSTOP');
    await Promise.all([pause(LONG_PAUSE_MS), sender.progress()]);
    child.kill('SIGCONT');
  },

  async killPrimary({ cluster, sender }) {
    await cluster.primary.kill();
    const old = await cluster.failOver();
    await sender.progress();
    await cluster.rejoin(old);
  },

  /** Among the servers that a gateway tries before the new primary is one that accepts connections and hangs. */
  async pausePrimary({ cluster, sender }) {
    cluster.primary.pause();
    await pause(LONG_PAUSE_MS);
    const old = await cluster.failOver();
    await sender.progress();
    await old.kill();
    await cluster.rejoin(old);
  },

  async killStandby({ cluster, random, sender }) {
    const standby = random.pick(cluster.standbys);
    await standby.kill();
    await sender.progress();
    await standby.start();
    await cluster.primary.hasStandby(standby);
  },
};

/** The faults of all rounds: each kind once, in random order, and then again. */
function scheduleOf(random, kinds) {
  const schedule = [];
  while (schedule.length < ROUNDS) {
    for (const left = [...kinds]; left.length > 0; ) schedule.push(...left.splice(random.below(left.length), 1));
  }
  return schedule.slice(0, ROUNDS);
}

const TIMEOUT = { timeout: (LONG ? 120 : 4) * HANG_MS };

test('gateways on a cluster lose nothing acknowledged, whichever process fails', TIMEOUT, async (t) => {
  const random = new Random(t);
  const schedule = scheduleOf(random, process.env.STAMPGATE_STEPS?.split(',') ?? Object.keys(FAULTS));
  const scene = await Scene.make(t, random, { size: 3, confirmations: 1, gateways: GATEWAYS });
  scene.addWanderer();
  for (const kind of schedule) {
    await scene.sender.progress();
    const began = performance.now();
    await FAULTS[kind](scene);
    await scene.cluster.isLevel();
    t.diagnostic(`${kind}: ${Math.round(performance.now() - began)} ms`);
  }
  await scene.sender.progress();
  const history = await scene.end();
  t.diagnostic(`${history.log.length} events, answers: ${JSON.stringify(scene.sender.answers)}`);
  assert.deepEqual(judge(history).slice(0, MAX_FINDINGS), []);
});

test('the judge finds the events that a failover without a synchronous standby loses', TIMEOUT, async (t) => {
  const scene = await Scene.make(t, new Random(t), { size: 2, confirmations: 0, gateways: 1 });
  const { cluster, sender, followers } = scene;
  const [{ up: gateway }] = scene.slots;
  const [standby] = cluster.standbys;
  await sender.progress();
  await standby.kill();
  await sender.progress();
  await sender.stop();
  const before = idsOf(await listAll(gateway));
  const { cursor } = await gateway.call('EventService/ListEvents', { end: 'LOG_END_LATEST' });
  await until(() => followers[0].events.length === before.length, 'the subscriber has the log');

  await cluster.primary.kill();
  await standby.start();
  await cluster.failOver();
  const [{ had, latest }] = await logLines(gateway, 1, 'events_taken_back');
  assert.equal(had, before.length);
  assert.ok(latest < had);
  await until(() => followers[0].isOver, 'the subscription ends');
  const events = await listAll(gateway);
  assert.deepEqual(idsOf(events), before.slice(0, latest));

  const findings = judge(scene.history(events.map(seen)));
  for (const id of before.slice(latest)) {
    assert.ok(findings.includes(`event ${id} was acknowledged and is not in the log`), findings.join('\n'));
  }
  const ended = 'subscriber of gateway 0: its call ended with DATA_LOSS CURSOR_AHEAD_OF_LOG';
  assert.ok(findings.includes(ended), findings.join('\n'));
  assert.ok(findings.some((finding) => finding.endsWith('which the log does not have')), findings.join('\n'));

  /** Checks that the gateway refuses the cursor of the lost events. */
  const refuses = async () => {
    const failures = [
      described(await gateway.refusal('EventService/ListEvents', { cursor })),
      await new Subscriber(gateway, { cursor }).failure(),
    ];
    for (const { code, reason } of failures) assert.deepEqual([code, reason], ['DATA_LOSS', 'CURSOR_AHEAD_OF_LOG']);
  };
  await refuses();
  // The log then has other events at these positions.
  scene.sender = new Sender(scene.stack.simulator, scene.random, scene.slots, 'new_');
  await scene.sender.progress(had - latest + PROGRESS);
  await scene.sender.stop();
  await refuses();
  assert.ok((await listAll(gateway, EARLIEST)).length > had);
});
