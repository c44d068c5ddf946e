// A round with several gateways, which share a store on a cluster of PostgreSQL servers. Each consumer uses any of
// them.
import { setTimeout as pause } from 'node:timers/promises';
import { code } from '../../clients/gateway.mjs';
import { freeCaller } from '../harness.mjs';
import { logLines, logged } from '../log_lines.mjs';
import { callerOf, reconfigure } from '../policy_callers.mjs';
import { until } from '../processes.mjs';
import { Random } from '../random.mjs';
import { SUBSCRIPTION } from './consumer.mjs';
import { Fleet } from './fleet.mjs';
import { Records } from './records.mjs';
import { RETENTION_MS, Round, STALL_MS } from './round.mjs';

/** A hold lasts 5 s. A gateway that is away for this time loses its partitions. */
const LONG_PAUSE_MS = 6500;
/** After this time without a renewal, the partitions of a gateway can be another one's. */
const LAPSE_AFTER_MS = 4500;
/** A hold that was renewed is in effect at its gateway within this time. */
const RENEWED_MS = 200;
/** Behind a fault of the store, a delivery can arrive by so much later than its time has begun. */
const SLACK_MS = 15_000;
const MAX_TRIES = 10;
const RETRY_MS = 500;
/** How many transactions are cut. */
const CUTS = 3;
/** One round in so many has pools between the gateways and the servers. */
const POOLED = 4;

const isOk = (promise) =>
  promise.then(
    () => true,
    () => false,
  );

/** @typedef {import('../shared_log_scene.mjs').Slot} Slot */

export class SharedRound extends Round {
  /** @type {Fleet} */
  stack = undefined;
  /** What changes the store after the start. @type {((round: SharedRound) => Promise<void>) | undefined} */
  spoil;
  /** The highest version of the subscription's settings. */
  #version = 1;

  /**
   * @param {object} t
   * @param {Random} random
   * @param {import('./round.mjs').RoundOptions & {spoil?: (round: SharedRound) => Promise<void>}} [options]
   */
  static async make(t, random, { spoil, ...options } = {}) {
    const round = new SharedRound(t, random, options);
    round.spoil = spoil;
    Object.assign(round.settings, { isShared: true, slackMs: SLACK_MS });
    const fleet = await Fleet.make(t, new Random(`${random.seed} fleet`), { pooled: random.below(POOLED) === 0 });
    round.stack = fleet;
    const [caller] = freeCaller();
    fleet.stack.more = {
      callers: [caller, callerOf('nobody', caller.grants)],
      calls: { drain_grace: '10s' },
      events: { retention_age: `${RETENTION_MS / 1000}s` },
      subscriptions: [round.subscription],
    };
    round.records = new Records(() => fleet.nowMs());
    return round;
  }

  async start() {
    await this.stack.start();
    await this.stack.healed();
    await this.spoil?.(this);
  }

  async stop() {
    await this.stack.stop();
    return [];
  }

  numberOf(gateway) {
    return this.stack.numberOf(gateway);
  }

  /** Repeats the work while a gateway cannot reach the store: it can find out only then that a connection is lost. */
  async repeatedly(work) {
    for (let tries = 1; ; ++tries) {
      try {
        return await work();
      } catch (error) {
        if (error.code !== code.UNAVAILABLE || tries === MAX_TRIES) throw error;
        await pause(RETRY_MS);
      }
    }
  }

  /** The state of the subscription at each gateway that runs. */
  async states() {
    const running = this.stack.slots.filter(({ up }) => up !== undefined);
    const request = { subscription: SUBSCRIPTION };
    const states = running.map(({ up }) => up.call('SubscriptionService/GetSubscription', request));
    return (await Promise.all(states)).map(({ subscription }) => subscription);
  }

  /** Until the faults are over. */
  sendsMore() {
    return !this.isScheduleOver;
  }

  get sendIntervalMs() {
    return 400;
  }

  /** So long that consumers hold events when a gateway fails. */
  get settleIntervalMs() {
    return 400;
  }

  deliver(event) {
    return this.stack.deliver(event);
  }

  /**
   * After a Seek, another gateway can send for up to a second what its old hold had, and refuse tokens of the new ones.
   * Nobody sends or settles until each gateway has renewed its hold.
   */
  async sought() {
    await this.stack.healed();
    await pause(RENEWED_MS);
  }

  /** A gateway takes the partitions of a killed one when it has renewed its hold for 5 s without a step of the clock. */
  allServed() {
    return this.stack.divided();
  }

  /** Applies retention, as each gateway does every 10 s. A part of the log is deleted when its last event is old. */
  async trim() {
    await isOk(this.stack.cluster.primary.sql("SET lock_timeout = '300ms'; SELECT stampgate.trim_events()"));
  }

  // --- The steps.

  /** SIGKILL. The next process starts at once, or after the partitions were taken. */
  kill({ index, downMs }) {
    return this.#restart(index, downMs, (slot) => slot.kill());
  }

  /** SIGTERM: the process drains, and gives its partitions back. */
  terminate({ index, downMs }) {
    return this.#restart(index, downMs, (slot) => slot.stop());
  }

  /**
   * SIGSTOP for longer than a hold, then SIGCONT. If `passesMs` is not 0, the time of what the gateway had sent is over
   * meanwhile, and its events are sent by others.
   */
  async pause({ index, passesMs }) {
    const slot = this.stack.slots[index];
    const { child } = slot.up;
    const restart = this.records.add('restart', { gateway: index });
    const stop = async () => {
      this.stack.silent = slot;
      child.kill('SIGSTOP');
      await pause(LONG_PAUSE_MS);
    };
    if (passesMs === 0) {
      await stop();
    } else {
      await this.quietly(async () => {
        await stop();
        await this.stack.passTime(passesMs);
        this.records.add('passTime', { ms: passesMs });
      });
      await this.progress(20, 'SIGCONT');
    }
    const lapse = this.records.add('lapse', { gateway: index });
    child.kill('SIGCONT');
    await this.#heal([restart, lapse]);
  }

  /** The network between a gateway and all servers. */
  async cutOff({ index }) {
    const slot = this.stack.slots[index];
    const restart = this.records.add('restart', { gateway: index });
    slot.relays.forEach((relay) => relay.hang());
    await pause(LAPSE_AFTER_MS);
    const lapse = this.records.add('lapse', { gateway: index });
    await pause(LONG_PAUSE_MS - LAPSE_AFTER_MS);
    slot.relays.forEach((relay) => relay.resume());
    await this.#heal([restart, lapse]);
  }

  /** The gateway does not know whether its transactions have taken effect. */
  async cutCommits({ index }) {
    const { relays } = this.stack.slots[index];
    relays.forEach((relay) => relay.cutCommits(CUTS));
    const areCut = () => relays.some(({ cutsLeft }) => cutsLeft === 0) || this.records.idleMs > STALL_MS;
    await until(areCut, 'transactions were cut');
    relays.forEach((relay) => relay.cutCommits(0));
    await this.#heal([]);
  }

  /** The primary is lost, and a standby becomes the primary. */
  async killPrimary() {
    const { cluster } = this.stack;
    const restart = this.records.add('restart', {});
    await cluster.primary.kill();
    const old = await cluster.failOver();
    await cluster.rejoin(old);
    await this.#heal([restart]);
  }

  /**
   * The old primary wakes after a failover. No standby follows it, but gateways that do not know better renew their
   * holds there, while others take their partitions.
   */
  async wakeOldPrimary({ aloneMs }) {
    const { cluster } = this.stack;
    const restart = this.records.add('restart', {});
    cluster.primary.pause();
    const old = await cluster.failOver();
    old.continue();
    const shortMs = Math.min(aloneMs, LAPSE_AFTER_MS);
    await pause(shortMs);
    const lapse = this.records.add('lapse', {});
    await pause(aloneMs - shortMs);
    await old.kill();
    await cluster.rewind(old);
    await this.#heal([restart, lapse]);
  }

  /** The clock of the servers steps, and no other one. */
  async serverClock({ ms }) {
    await this.stack.stepServers(ms);
  }

  /**
   * A reload of one gateway removes the subscription there, or it takes the subscription from its callers, at all
   * gateways: the settings with the highest version apply. Another reload restores it.
   */
  async reload({ index, removes }) {
    const { up } = this.stack.slots[index];
    if (removes === 'caller') {
      await this.#declare(up, { callers: ['nobody'] });
      await this.#declare(up, {});
      return this.#heal([]);
    }
    const { subscriptions } = up.config;
    const restart = this.records.add('restart', { gateway: index });
    const removals = logged(up, 'subscription_removed').length;
    await reconfigure(up, { subscriptions: [] });
    await logLines(up, removals + 1, 'subscription_removed');
    await reconfigure(up, { subscriptions });
    return this.#heal([restart]);
  }

  /** Changes the subscription in the config of a gateway. Resolves when the store has the settings. */
  async #declare(gateway, changes) {
    this.#version += 1;
    const subscriptions = [{ ...this.subscription, ...changes, version: this.#version }];
    await reconfigure(gateway, { subscriptions });
    const { primary } = this.stack.cluster;
    const isDeclared = async () => {
      await pause(STALL_MS);
      return Number(await primary.sql('SELECT version FROM stampgate.subscriptions')) === this.#version;
    };
    await until(isDeclared, `version ${this.#version} is declared`);
  }

  /** Starts a new gateway after `end` has ended the running one. @param {(slot: Slot) => Promise<void>} end */
  async #restart(index, downMs, end) {
    const slot = this.stack.slots[index];
    const restart = this.records.add('restart', { gateway: index });
    await end(slot);
    this.layer.onRestart();
    await pause(downMs);
    await this.stack.startSlot(slot);
    await this.#heal([restart]);
  }

  /** Waits until every gateway serves again, and ends the records of what has happened. */
  async #heal(records) {
    this.stack.silent = undefined;
    await until(() => isOk(this.states()), 'each gateway answers');
    await this.stack.healed();
    await pause(RENEWED_MS);
    for (const record of records) this.records.end(record);
  }
}
