// Gateways on a cluster of PostgreSQL servers, with a sender and with subscribers, whose history can be judged.
import { setTimeout as pause } from 'node:timers/promises';
import { PostgresCluster } from '../postgresql/cluster.mjs';
import { Relay } from '../postgresql/relay.mjs';
import { simpleActivity } from '../simulator/webhook_events.mjs';
import { Follower, seen } from './history/follower.mjs';
import { logged } from './log_lines.mjs';
import { until } from './processes.mjs';
import { SharedLogStack } from './shared_log_stack.mjs';
import { listAll } from './subscriber.mjs';

const SENDERS = 4;
/** How many events are acknowledged between two faults, and during a fault that lets the log continue. */
export const PROGRESS = 40;

/** One gateway process after another. A Follower uses it as its stack. */
class Slot {
  #up;
  #waiting = [];

  /** @param {Relay[]} relays to each server of the cluster */
  constructor(stack, relays) {
    Object.assign(this, { stack, relays });
  }

  get up() {
    return this.#up;
  }

  /** Resolves to the gateway as soon as one is running. */
  gateway() {
    return this.#up ?? new Promise((resolve) => this.#waiting.push(resolve));
  }

  async start() {
    this.#up = await this.stack.start({ hosts: this.relays.map(({ host }) => host) });
    for (const resolve of this.#waiting.splice(0)) resolve(this.#up);
  }

  async kill() {
    const killed = this.#up;
    this.#up = undefined;
    await this.stack.kill(killed);
  }
}

/** Delivers one event after another to random gateways. Repeats each until it is acknowledged, as upstream does. */
export class Sender {
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
export class Scene {
  followers = [];

  static async make(t, random, { size, confirmations, gateways }) {
    const scene = new Scene();
    scene.random = random;
    // The newest version. Its servers end before the gateways do, because t.after() runs the first function first.
    scene.cluster = await PostgresCluster.create(t, { version: 18, size, confirmations });
    const { hosts } = scene.cluster;
    scene.stack = await SharedLogStack.prepare(t, { hosts, allow_single_server: confirmations === 0 });
    scene.stack.simulator.webhooks.change({ timeoutMs: 1000 });
    scene.slots = [];
    for (let i = 0; i < gateways; ++i) {
      const relays = await Promise.all(scene.cluster.servers.map((server) => Relay.create(t, server)));
      scene.slots.push(new Slot(scene.stack, relays));
      await scene.slots[i].start();
    }
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
