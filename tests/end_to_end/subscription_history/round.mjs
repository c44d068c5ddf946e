// A round: carries out a schedule of faults while consumers of a shared subscription receive and settle events, and
// returns the history. Classes for one gateway and for several have the faults.
import { setTimeout as pause } from 'node:timers/promises';
import { subOrganization } from '../../simulator/testing.mjs';
import { until } from '../processes.mjs';
import { Random } from '../random.mjs';
import { listAll } from '../subscriber.mjs';
import { RandomConsumer, SETTLE_INTERVAL_MS, SUBSCRIPTION } from './consumer.mjs';
import { Gate } from './gate.mjs';
import { Records } from './records.mjs';
import { CONSUMERS } from './schedule.mjs';

const EVENTS = 70;
const SENDERS = 3;
const ORGANIZATIONS = 3;
const ACTIVITIES = 5;
export const RETENTION_MS = 600_000;
const SETTLE_WITHIN_MS = 30_000;
/** The gateway does its slow work this often, and repeats a failed write sooner. */
export const SLOW_WORK_MS = 2_100;
/** A message that the gateway has sent arrives within this time. */
const ARRIVAL_MS = 200;
const PROBES = 10;
/** The gateway gives the events of a consumer that has left to other consumers within this time. */
const DEPARTURE_MS = 900;
/** At the end of a round, time passes until nothing happens any more, at most so often. */
const DRAIN_TURNS = 20;
const DRAIN_IDLE_MS = 300;
/** A step waits for progress no longer than this. */
export const STALL_MS = 80;

/**
 * What is between the consumers and the gateway. The faulty layers of faulty_layers.mjs replace members.
 * @typedef {object} Layer
 * @property {(delivery: any) => any} deliver
 * @property {(request: any, send: (request: any) => Promise<any>) => Promise<any>} settle
 * @property {(round: Round) => Promise<void> | void} beforeList called before the round lists parked events
 * @property {() => void} onRestart
 */

/** @type {Layer} */
const NO_FAULT = {
  deliver: (delivery) => delivery,
  settle: (request, send) => send(request),
  beforeList: () => {},
  onRestart: () => {},
};

/**
 * The gateway, or the gateways, of a round.
 * @typedef {object} Gateways
 * @property {() => Promise<import('../harness.mjs').Gateway | undefined>} gateway resolves to a running gateway as soon
 *     as there is one; to undefined after end()
 * @property {import('../harness.mjs').Gateway | undefined} up a running gateway
 * @property {boolean} isOver
 * @property {import('../../simulator/server.mjs').Simulator} simulator
 * @property {(ms: number) => Promise<void> | void} passTime
 * @property {() => void} end
 */

/**
 * @typedef {object} RoundOptions
 * @property {string} [orderBy] of the subscription, by default a random one
 * @property {string} [judgedOrderBy] what the judge expects, by default the same
 * @property {Partial<Layer>} [layer]
 */

export class Round {
  /** @type {object} the test context */
  t;
  /** @type {Random} */
  random;
  /** @type {import('./judge.mjs').Settings} */
  settings;
  /** The subscription in the config. @type {object} */
  subscription;
  /** @type {Gateways} */
  stack;
  gate = new Gate();
  /** @type {Records} */
  records;
  /** @type {Layer} */
  layer;
  /** @type {RandomConsumer[]} */
  consumers = [];
  /** When a consumer last left a gateway that still runs: a time of performance.now(). */
  departedMs = -Infinity;
  /** The events of the log, in its order, also those that retention has deleted. */
  #log = new Map();
  #sent = 0;

  /**
   * @param {object} t
   * @param {Random} random
   * @param {RoundOptions} [options]
   */
  constructor(t, random, { orderBy, judgedOrderBy, layer } = {}) {
    this.t = t;
    this.random = random;
    this.layer = { ...NO_FAULT, ...layer };
    const order_by = orderBy ?? random.pick(['organization', 'organization', 'activity', 'none']);
    const types = random.below(2) === 0 ? ['ACTIVITY_UPDATES'] : [];
    const max_deliveries = random.pick([2, 3, 5]);
    const max_unsettled_per_key = random.pick([1, 3, 64]);
    this.settings = {
      orderBy: judgedOrderBy ?? order_by,
      types,
      maxDeliveries: max_deliveries,
      settleWithinMs: SETTLE_WITHIN_MS,
    };
    const limits = { settle_within: `${SETTLE_WITHIN_MS / 1000}s`, max_deliveries, max_unsettled_per_key };
    const subscription = { name: SUBSCRIPTION, callers: ['loopback'], all_organizations: true, order_by };
    this.subscription = { ...subscription, ...limits, ...(types.length > 0 && { types }) };
  }

  /** Carries out the schedule. Resolves to the history. */
  async run(schedule) {
    const { t, random } = this;
    await this.start();
    for (let index = 0; index < CONSUMERS; ++index) {
      const name = 'ABC'[index];
      this.consumers.push(await RandomConsumer.start(t, this, name, new Random(`${random.seed} consumer ${name}`)));
    }
    const sending = this.#sendAll(new Random(`${random.seed} events`));
    try {
      for (const step of schedule) await this.#do(step);
      this.isScheduleOver = true;
      await sending;
      return await this.#finish();
    } finally {
      this.stack.end();
      await Promise.all(this.consumers.map((consumer) => consumer.stop()));
    }
  }

  /** A consumer has left the running gateway, which can find out later how it has left. */
  noteDeparture() {
    this.departedMs = performance.now();
  }

  call(method, request = {}) {
    return this.stack.up.call(`SubscriptionService/${method}`, { subscription: SUBSCRIPTION, ...request });
  }

  /** Does something that a gateway can do repeatedly. @template T @param {() => Promise<T>} work */
  repeatedly(work) {
    return work();
  }

  async #do({ kind, progress, ...options }) {
    await this.progress(progress, kind);
    await this[kind](options);
  }

  /** Waits for so many records, unless nothing happens. */
  async progress(count, kind) {
    const wanted = this.records.steps.length + count;
    await until(() => this.records.steps.length >= wanted || this.records.idleMs > STALL_MS, `progress before ${kind}`);
  }

  // --- What a class for certain gateways replaces.

  /** Starts the gateways. */
  async start() {}

  /** Ends the gateways. Resolves to unexpected ends of processes. @returns {Promise<string[]>} */
  async stop() {
    return [];
  }

  /** The number of a gateway, for records. @param {import('../harness.mjs').Gateway} _gateway */
  numberOf(_gateway) {
    return 0;
  }

  /** The states of the subscription that the gateways have. */
  async states() {
    return [(await this.call('GetSubscription')).subscription];
  }

  /** Whether another event must be sent. @param {number} sent how many have been */
  sendsMore(sent) {
    return sent < EVENTS;
  }

  /** The most milliseconds between two events of a sender. */
  get sendIntervalMs() {
    return 60;
  }

  /** The most milliseconds between two settles of a consumer. */
  get settleIntervalMs() {
    return SETTLE_INTERVAL_MS;
  }

  /** Sends an event, and resolves when it is stored. */
  async deliver(event) {
    await this.stack.simulator.webhooks.send(event).done;
  }

  /** Waits until a Seek has its effect at each gateway. */
  async sought() {}

  /** Resolves when the gateways serve the whole subscription again. */
  async allServed() {}

  /** Makes the gateway apply retention, which it does when it stores an event. */
  async trim() {
    await this.#send({ type: 'other', organizationId: subOrganization(0) });
  }

  // --- The steps.

  passTime({ ms }) {
    return this.quietly(async () => {
      await this.stack.passTime(ms);
      this.records.add('passTime', { ms });
    });
  }

  cancel({ index }) {
    this.consumers[index].cancel();
  }

  lose({ index, isReset }) {
    this.consumers[index].lose({ isReset });
  }

  crash({ index }) {
    this.consumers[index].crash();
  }

  retryParked({ most }) {
    return this.#changeParked('retryParked', most);
  }

  skipParked({ most }) {
    return this.#changeParked('skipParked', most);
  }

  seek({ place, share }) {
    return this.quietly(async () => {
      const left = await this.#list();
      const index = Math.floor((share / 100) * left.length);
      if (place === 'event' && left.length === 0) return;
      const at = { earliest: { end: 'LOG_END_EARLIEST' }, latest: { end: 'LOG_END_LATEST' } };
      const [firstLeft] = place === 'latest' ? [] : place === 'earliest' ? left : left.slice(index + 1);
      const ids = [...this.#log.keys()];
      const passes = firstLeft === undefined ? ids : ids.slice(0, ids.indexOf(firstLeft.event_id));
      const seek = this.records.add('seek', { passes });
      await this.call('Seek', at[place] ?? { cursor: left[index].cursor });
      this.records.end(seek);
      await this.sought();
    });
  }

  async retention() {
    await this.quietly(async () => {
      const old = await this.#list();
      const retention = this.records.add('retention', { events: old.map(({ event_id }) => event_id) });
      await this.stack.passTime(RETENTION_MS + SETTLE_WITHIN_MS);
      const isLeft = async () => {
        await this.trim();
        const left = new Set((await this.#list()).map(({ event_id }) => event_id));
        return old.some(({ event_id }) => left.has(event_id));
      };
      await until(async () => !(await isLeft()), 'retention deletes the old events');
      await this.stack.passTime(SLOW_WORK_MS);
      this.records.end(retention);
    });
  }

  /**
   * Does `work` while no call begins, no message is on its way, and no consumer is about to lose its events. Then waits
   * until the gateway has done what follows from it.
   */
  quietly(work) {
    return this.gate.closedFor(
      () => this.#isQuiet(),
      async () => {
        await work();
        await this.settlesDown();
      },
    );
  }

  /** Waits until the gateway has done what follows from a step. */
  settlesDown() {
    return until(() => this.records.idleMs > ARRIVAL_MS, 'the step has had its effects');
  }

  async #isQuiet() {
    if (this.records.idleMs < ARRIVAL_MS || performance.now() - this.departedMs < DEPARTURE_MS) return false;
    // On a busy machine, messages need longer, and so do these calls.
    const { length } = this.records.steps;
    for (let call = 0; call < PROBES; ++call) await this.states();
    return this.records.steps.length === length;
  }

  async #changeParked(type, most) {
    const parked = await this.listParked();
    const chosen = [...parked].slice(0, most);
    if (chosen.length === 0) return;
    const events = Object.fromEntries(chosen.map(([id, { count }]) => [id, count]));
    const idOf = new Map(chosen.map(([id, { cursor }]) => [cursor, id]));
    const method = type === 'retryParked' ? 'RetryParked' : 'SkipParked';
    await this.repeatedly(async () => {
      // A call that fails has a record without an end: its effect can come later.
      const step = this.records.add(type, { events });
      const { not_parked_cursors: cursors = [] } = await this.call(method, { cursors: [...idOf.keys()] });
      this.records.end(step, { notParked: cursors.map((cursor) => idOf.get(cursor)) });
    });
  }

  /** Resolves to the parked events that the log still has: their counts, reasons and cursors by their ids. */
  async listParked() {
    await this.layer.beforeList(this);
    const step = this.records.add('listParked', {});
    const { parked_events: events = [] } = await this.repeatedly(() => this.call('ListParked', { page_size: 1000 }));
    const parked = events
      .filter(({ event }) => event.event_id !== undefined)
      .map(({ event, delivery_count: count, reason }) => [event.event_id, { count, reason, cursor: event.cursor }]);
    this.records.end(step, { parked: Object.fromEntries(parked) });
    return new Map(parked);
  }

  /** Resolves to the events that the log has. */
  async #list() {
    const events = await this.repeatedly(() => listAll(this.stack.up));
    for (const { event_id: id, type, organization_id: organization, activity } of events) {
      if (!this.#log.has(id)) this.#log.set(id, { id, type, organization, activity: activity?.id });
    }
    return events;
  }

  async #sendAll(random) {
    const send = async () => {
      while (this.sendsMore(this.#sent) && !this.stack.isOver) {
        const organizationId = subOrganization(random.below(ORGANIZATIONS));
        const id = `activity-${random.below(ACTIVITIES)}`;
        const type = random.below(5) === 0 ? 'other' : 'ACTIVITY_TYPE_SIMULATED';
        const leave = await this.gate.enter();
        await this.#send({ id, organizationId, type, status: 'ACTIVITY_STATUS_COMPLETED' });
        leave();
        await pause(random.below(this.sendIntervalMs));
      }
    };
    await Promise.all(Array.from({ length: SENDERS }, send));
  }

  async #send(json) {
    this.#sent += 1;
    const { organizationId } = json;
    await this.deliver({ eventId: `event-${this.#sent}`, organizationId, json });
  }

  /** Lets honest consumers settle everything. */
  async #finish() {
    await this.allServed();
    for (const consumer of this.consumers) consumer.beHonest();
    const isDrained = await this.#drain();

    this.records.add('drained', { isDrained });
    await this.listParked();
    await this.#list();
    await Promise.all(this.consumers.map((consumer) => consumer.stop()));
    const faults = await this.stop();
    const { settings, records } = this;
    return { steps: records.steps, log: [...this.#log.values()], settings, faults };
  }

  /** Resolves to whether the consumers have settled everything. */
  async #drain() {
    const isSettled = ({ events_behind = '0', unsettled = '0' }) => events_behind === '0' && unsettled === '0';
    for (let turn = 0; turn < DRAIN_TURNS; ++turn) {
      await this.passTime({ ms: SETTLE_WITHIN_MS + SLOW_WORK_MS });
      const { length } = this.records.steps;
      await until(() => this.records.idleMs > DRAIN_IDLE_MS, 'nothing more happens');
      if ((await this.states()).every(isSettled) && this.records.steps.length === length) return true;
    }
    return false;
  }
}
