// Gateways on a cluster of PostgreSQL servers, with a sender, callers and subscribers, whose history can be judged.
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { code } from '../clients/gateway.mjs';
import { Machine } from '../machine/machine.mjs';
import { PostgresCluster } from '../postgresql/cluster.mjs';
import { Pool } from '../postgresql/pool.mjs';
import { Relay } from '../postgresql/relay.mjs';
import { simpleActivity } from '../simulator/webhook_events.mjs';
import { described } from './failures.mjs';
import { HANG_MS, scratch } from './harness.mjs';
import { Caller, SUBMIT, submitOf } from './history/callers.mjs';
import { Follower, seen } from './history/follower.mjs';
import { UpstreamRecord } from './history/upstream_record.mjs';
import { logged } from './log_lines.mjs';
import { until } from './processes.mjs';
import { SharedLogStack } from './shared_log_stack.mjs';
import { listAll } from './subscriber.mjs';

const SENDERS = 4;
/** The kinds of the callers' submits: see judge.mjs. */
const SUBMITS = ['keyed', 'keyed', 'timestamped', 'equal', 'equal', 'plain'];
const SUBMIT_INTERVAL_MS = 20;
/** A gateway has timestamps for 15 equal submits a second, and both callers of equal submits can call the same one. */
const EQUAL_INTERVAL_MS = 200;
/** How far ahead of its clock a gateway reserves timestamps in the store, which it repeats every 3 s. */
const RESERVE_MS = 10_000;
/** How long the sender waits for a look-up. */
const LOOK_UP_MS = 1000;
/** How many events are acknowledged between two faults, and during a fault that lets the log continue. */
export const PROGRESS = 40;
/** How many submits succeed after each fault. */
const SUBMITS_PROGRESS = 10;

/** One gateway process after another, on a machine of its own. A Follower uses it as its stack. */
export class Slot {
  /** The result of the latest delivery; see Courier.attempt(). @type {number | string | undefined} */
  lastStatus;
  #up;
  #waiting = [];

  /**
   * @param {SharedLogStack} stack
   * @param {Machine} machine
   * @param {Relay[]} relays to each server of the cluster; if there are none, the gateways connect without relays
   */
  constructor(stack, machine, relays) {
    this.stack = stack;
    this.machine = machine;
    this.relays = relays;
  }

  get up() {
    return this.#up;
  }

  /** Resolves to the gateway as soon as one is running. */
  gateway() {
    return this.#up ?? new Promise((resolve) => this.#waiting.push(resolve));
  }

  async start() {
    const store = this.relays.length > 0 ? { hosts: this.relays.map(({ host }) => host) } : {};
    this.#up = await this.stack.start(store, this.machine);
    for (const resolve of this.#waiting.splice(0)) resolve(this.#up);
  }

  async kill() {
    const killed = this.#up;
    this.#up = undefined;
    await this.stack.kill(killed);
  }

  /** Ends the gateway, which completes its calls. */
  async stop() {
    const stopped = this.#up;
    this.#up = undefined;
    await this.stack.stop(stopped);
  }

  /** Resolves when a delivery to the gateway has this status. */
  async answers(status) {
    this.lastStatus = undefined;
    await until(() => this.lastStatus === status, `the gateway answers ${status}`);
  }
}

/**
 * Delivers one event after another to random gateways. Repeats each until it is acknowledged, as upstream does. Then looks
 * the event up at a random gateway, which must not answer that there is no such event.
 */
export class Sender {
  #stop = false;
  sent = [];
  acknowledged = [];
  /** The number of attempts by status, and of those without a response. */
  answers = {};
  /** False answers to look-ups. */
  faults = [];

  /**
   * @param {import('../simulator/server.mjs').Simulator} simulator
   * @param {import('./random.mjs').Random} random
   * @param {Slot[]} slots
   * @param {string} [prefix] of the events' ids
   */
  constructor({ webhooks }, random, slots, prefix = 'evt_') {
    this.webhooks = webhooks;
    this.random = random;
    this.slots = slots;
    this.prefix = prefix;
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
      const slot = this.random.pick(this.slots);
      const url = slot.up?.webhookUrl;
      const { status = 'error' } = url ? await courier.attempt(event, url, number) : {};
      slot.lastStatus = status;
      this.lastStatus = status;
      this.answers[status] = (this.answers[status] ?? 0) + 1;
      if (status === 200) {
        this.acknowledged.push(eventId);
        await this.#lookUp(eventId);
        return;
      }
      await pause(20);
    }
  }

  async #lookUp(eventId) {
    const gateway = this.random.pick(this.slots).up;
    try {
      await gateway?.call('EventService/GetEvent', { event_id: eventId }, { deadlineMs: LOOK_UP_MS });
    } catch (error) {
      // A gateway that is killed, paused or cut off answers nothing.
      if (![code.NOT_FOUND, code.DATA_LOSS].includes(error.code)) return;
      const found = described(error);
      this.faults.push(`event ${eventId} was acknowledged, and a look-up ended with ${found.code} ${found.reason}`);
    }
  }
}

/** Whether the gateway carries out a submit with an idempotency key. */
async function submits(gateway) {
  const name = randomUUID();
  return gateway.call(SUBMIT, { ...submitOf(name), idempotency_key: name }).then(
    () => true,
    () => false,
  );
}

/**
 * Cuts the standbys of a cluster off, and empties synchronous_standby_names when COMMITs wait for them. Resolves when the
 * primary has let all of them go.
 */
export async function emptySettingWhileCommitsWait({ primary, standbys }) {
  for (const standby of standbys) await standby.follow(undefined);
  const look = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'stampgate'";
  await until(async () => (await primary.sql(look)) !== '0', 'transactions wait for a standby');
  await primary.set('synchronous_standby_names', '');
  await until(async () => (await primary.sql(look)) === '0', 'no transaction waits');
}

/** The cluster, the gateways, a sender, and subscribers that read from the beginning. */
export class Scene {
  /** @type {import('./random.mjs').Random} */
  random;
  /** @type {PostgresCluster} */
  cluster;
  /** @type {SharedLogStack} */
  stack;
  /** @type {Slot[]} */
  slots;
  /** @type {Sender} */
  sender;
  /** With callers only. @type {UpstreamRecord | undefined} */
  upstream;
  followers = [];
  callers = [];
  /** When every gateway had timestamps again after the latest fault; a time of performance.now(). */
  #recoveredMs = -Infinity;
  #submitted = 0;

  /**
   * @param {object} t
   * @param {import('./random.mjs').Random} random
   * @param {object} options the other members are options of the cluster
   * @param {number} options.gateways the number of gateways
   * @param {boolean} [options.relayed] whether they connect through relays
   * @param {boolean} [options.pooled] whether a pool is between the relays and each server
   * @param {object} [options.store] `store.postgresql` of their config, which is merged over the usual one
   * @param {(scene: Scene) => Promise<void>} [options.prepare] runs before the gateways start
   * @param {number} options.confirmations
   * @param {number} [options.size]
   * @param {string[]} [options.settings]
   * @param {(index: number) => object} [options.placeOf]
   */
  static async make(t, random, { gateways, relayed = true, pooled = false, store, prepare, confirmations, ...more }) {
    const scene = new Scene();
    scene.random = random;
    // The newest version. Its servers end before the gateways do, because t.after() runs the first function first.
    scene.cluster = await PostgresCluster.create(t, { version: 18, confirmations, ...more });
    const { hosts } = scene.cluster;
    scene.stack = await SharedLogStack.prepare(t, { hosts, allow_single_server: confirmations === 0, ...store });
    scene.stack.simulator.webhooks.change({ timeoutMs: 1000 });
    await prepare?.(scene);
    scene.slots = [];
    const { servers } = scene.cluster;
    const ends = pooled ? await Promise.all(servers.map((server) => Pool.create(t, server))) : servers;
    for (let i = 0; i < gateways; ++i) {
      const relays = await Promise.all((relayed ? ends : []).map((end) => Relay.create(t, end)));
      const machine = new Machine(join(scratch(t), 'machine'), scratch(t));
      t.after(() => machine.close());
      scene.slots.push(new Slot(scene.stack, machine, relays));
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

  /** Adds callers, each of which makes one submit after another. Each try is at a random gateway. */
  addCallers(t) {
    const { random, slots } = this;
    this.upstream = new UpstreamRecord(this.stack.simulator);
    /** @type {import('./history/callers.mjs').Gateways} */
    const gateways = {
      gateway: () => (gateways.isOver ? undefined : random.pick(slots).gateway()),
      // During a fault, a gateway can lack timestamps: if it cannot reach the store, or if its clock was set.
      maxBehindMsSince: (ms) => (ms < this.#recoveredMs ? Infinity : 0),
    };
    const answered = () => (this.#submitted += 1);
    this.callers = SUBMITS.map((kind, index) => {
      const intervalMs = kind === 'equal' ? EQUAL_INTERVAL_MS : SUBMIT_INTERVAL_MS;
      return new Caller(gateways, this.upstream, kind, index, answered, intervalMs);
    });
    t.after(async () => {
      gateways.isOver = true;
      this.upstream.end();
      await Promise.all(this.callers.map((caller) => caller.stop()));
    });
  }

  /** Resolves when more submits have succeeded. */
  async submits() {
    const wanted = this.#submitted + SUBMITS_PROGRESS;
    await until(() => this.#submitted >= wanted, `${SUBMITS_PROGRESS} more submits succeed`);
  }

  /** Carries out a fault. Resolves when each gateway submits again and has timestamps, and the cluster is whole. */
  async during(fault) {
    this.#recoveredMs = Infinity;
    await fault(this);
    const endedMs = Date.now();
    await this.cluster.isLevel();
    await Promise.all(this.slots.map(({ up }) => until(() => submits(up), 'a gateway submits again')));
    await until(async () => (await this.#reserves(endedMs)) >= this.slots.length, 'each gateway reserves timestamps');
    this.#recoveredMs = performance.now();
  }

  /**
   * The number of gateways that have reserved timestamps since `ms`. Until then, a gateway that could not reach the store
   * has only the 15 equal submits of the last second of its old reserve. A process whose clock was set has reserved other
   * timestamps.
   */
  async #reserves(ms) {
    const [from, to] = [ms + RESERVE_MS, ms + RESERVE_MS + HANG_MS];
    const { primary } = this.cluster;
    return Number(
      await primary.sql(`SELECT count(*) FROM stampgate.leases WHERE through_ms BETWEEN ${from} AND ${to}`),
    );
  }

  /** Resolves to the history when every delivery is acknowledged and every subscriber has the whole log. */
  async end() {
    await Promise.all([this.sender.stop(), ...this.callers.map((caller) => caller.stop())]);
    this.upstream?.end();
    const log = (await listAll(this.slots[0].up)).map(seen);
    const isOver = (follower) => follower.isOver || follower.events.length >= log.length;
    await until(() => this.followers.every(isOver), 'every subscriber has the log');
    await Promise.all(this.followers.map((follower) => follower.stop()));
    const history = this.history(log);
    return { ...history, faults: [...history.faults, ...(await this.#faults(log.length))] };
  }

  /** The history for the judge. */
  history(log) {
    return {
      sent: this.sender.sent,
      acknowledged: this.sender.acknowledged,
      log,
      subscribers: this.followers.map(({ name, events, faults }) => ({ name, events, faults })),
      attempts: this.callers.flatMap(({ attempts }) => attempts),
      requests: this.upstream?.requests ?? [],
      faults: [...this.sender.faults],
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
