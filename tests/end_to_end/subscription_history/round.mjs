// A round: carries out a schedule of faults while consumers of a shared subscription receive and settle events, and
// returns the history.
import { setTimeout as pause } from 'node:timers/promises';
import { subOrganization } from '../../simulator/testing.mjs';
import { Stack } from '../history/stack.mjs';
import { logLines, logged } from '../log_lines.mjs';
import { callerOf, reconfigure } from '../policy_callers.mjs';
import { until } from '../processes.mjs';
import { Random } from '../random.mjs';
import { listAll } from '../subscriber.mjs';
import { RandomConsumer, SUBSCRIPTION } from './consumer.mjs';
import { Gate } from './gate.mjs';
import { Records } from './records.mjs';
import { CONSUMERS } from './schedule.mjs';

const EVENTS = 70;
const SENDERS = 3;
const ORGANIZATIONS = 3;
const ACTIVITIES = 5;
const RETENTION_MS = 600_000;
const SETTLE_WITHIN_MS = 30_000;
/** The gateway does its slow work this often, and repeats a failed write sooner. */
const SLOW_WORK_MS = 2_100;
/** A message that the gateway has sent arrives within this time. */
const ARRIVAL_MS = 200;
const PROBES = 10;
/** The gateway gives the events of a consumer that has left to other consumers within this time. */
const DEPARTURE_MS = 900;
/** At the end of a round, time passes until nothing happens any more, at most so often. */
const DRAIN_TURNS = 20;
const DRAIN_IDLE_MS = 300;
/** A step waits for progress no longer than this. */
const STALL_MS = 80;

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

export class Round {
  /** @type {object} the test context */
  t;
  /** @type {Random} */
  random;
  /** @type {import('./judge.mjs').Settings} */
  settings;
  /** @type {Stack} */
  stack;
  gate = new Gate();
  /** @type {Records} */
  records;
  /** @type {Layer} */
  layer;
  /** When a consumer last left a gateway that still runs: a time of performance.now(). */
  #departedMs = -Infinity;
  /** The events of the log, in its order, also those that retention has deleted. */
  #log = new Map();
  #sent = 0;
  #cuts = 0;

  /**
   * @param {object} t
   * @param {Random} random
   * @param {object} [options]
   * @param {string} [options.orderBy] of the subscription, by default a random one
   * @param {string} [options.judgedOrderBy] what the judge expects, by default the same
   * @param {Partial<Layer>} [options.layer]
   */
  static async make(t, random, { orderBy, judgedOrderBy, layer } = {}) {
    const round = new Round();
    round.t = t;
    round.random = random;
    round.layer = { ...NO_FAULT, ...layer };
    const order_by = orderBy ?? random.pick(['organization', 'organization', 'activity', 'none']);
    const types = random.below(2) === 0 ? ['ACTIVITY_UPDATES'] : [];
    const max_deliveries = random.pick([2, 3, 5]);
    const max_unsettled_per_key = random.pick([1, 3, 64]);
    round.settings = {
      orderBy: judgedOrderBy ?? order_by,
      types,
      maxDeliveries: max_deliveries,
      settleWithinMs: SETTLE_WITHIN_MS,
    };
    round.stack = await Stack.make(t, { withStore: true });
    const { stack } = round;
    const limits = { settle_within: `${SETTLE_WITHIN_MS / 1000}s`, max_deliveries, max_unsettled_per_key };
    const subscription = { name: SUBSCRIPTION, callers: ['loopback'], all_organizations: true, order_by };
    stack.config.subscriptions = [{ ...subscription, ...limits, ...(types.length > 0 && { types }) }];
    stack.config.callers.push(callerOf('nobody', stack.config.callers[0].grants));
    stack.config.events = { retention_age: `${RETENTION_MS / 1000}s` };
    stack.simulator.webhooks.change({ maxAttempts: 10_000 });
    stack.machine.seed(random.below(1 << 30));
    stack.machine.setWriteBack(random.below(3) / 20);
    stack.machine.setSyncMs(random.below(4));
    round.records = new Records(() => stack.machine.nowMs());
    return round;
  }

  /** Carries out the schedule. Resolves to the history. */
  async run(schedule) {
    const { t, stack, random } = this;
    await stack.start();
    this.consumers = [];
    for (let index = 0; index < CONSUMERS; ++index) {
      const name = 'ABC'[index];
      this.consumers.push(await RandomConsumer.start(t, this, name, new Random(`${random.seed} consumer ${name}`)));
    }
    this.sending = this.#sendAll(new Random(`${random.seed} events`));
    try {
      for (const step of schedule) await this.#do(step);
      return await this.#finish();
    } finally {
      stack.end();
      await Promise.all(this.consumers.map((consumer) => consumer.stop()));
    }
  }

  /** A consumer has left the running gateway, which can find out later how it has left. */
  noteDeparture() {
    this.#departedMs = performance.now();
  }

  call(method, request = {}) {
    return this.stack.up.call(`SubscriptionService/${method}`, { subscription: SUBSCRIPTION, ...request });
  }

  async #do({ kind, progress, ...options }) {
    const wanted = this.records.steps.length + progress;
    await until(() => this.records.steps.length >= wanted || this.records.idleMs > STALL_MS, `progress before ${kind}`);
    await this[kind](options);
  }

  // --- The steps.

  kill() {
    return this.#restart(() => this.stack.stop('SIGKILL'));
  }

  terminate() {
    return this.#restart(() => this.stack.stop('SIGTERM'));
  }

  /** @param {{pieceBytes?: number, keep?: number}} [cut] */
  powerCut(cut) {
    return this.#restart(async () => {
      const { machine } = this.stack;
      await this.stack.stop('SIGKILL');
      this.#cuts += 1;
      machine.cutPower(new Random(`${this.random.seed} cut ${this.#cuts}`), cut);
    });
  }

  async pause({ ms }) {
    const { child } = this.stack.up;
    child.kill('SIGSTOP');
    await pause(ms); // the exact time does not matter
    child.kill('SIGCONT');
  }

  async fullDisk({ freeBytes }) {
    const { machine } = this.stack;
    const { refused } = machine.counts;
    machine.setFreeBytes(freeBytes);
    await until(() => machine.counts.refused > refused || this.records.idleMs > STALL_MS, 'the disk is full');
    machine.release();
    this.stack.passTime(SLOW_WORK_MS / 2);
  }

  passTime({ ms }) {
    return this.#quietly(() => {
      this.stack.passTime(ms);
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
    return this.#quietly(async () => {
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
    });
  }

  async retention() {
    await this.#quietly(async () => {
      const old = await this.#list();
      const retention = this.records.add('retention', { events: old.map(({ event_id }) => event_id) });
      this.stack.passTime(RETENTION_MS + SETTLE_WITHIN_MS);
      const isLeft = async () => {
        await this.#send({ type: 'other', organizationId: subOrganization(0) });
        const left = new Set((await this.#list()).map(({ event_id }) => event_id));
        return old.some(({ event_id }) => left.has(event_id));
      };
      await until(async () => !(await isLeft()), 'retention deletes the old events');
      this.stack.passTime(SLOW_WORK_MS);
      this.records.end(retention);
    });
  }

  async reload({ removes }) {
    const { up, config } = this.stack;
    const { subscriptions } = config;
    const without = subscriptions.map((subscription) => ({ ...subscription, callers: ['nobody'] }));
    const change = () => reconfigure(up, { subscriptions: removes === 'caller' ? without : [] });
    const restore = async () => {
      await reconfigure(up, { subscriptions });
      await until(
        () =>
          this.call('GetSubscription').then(
            () => true,
            () => false,
          ),
        'the subscription is restored',
      );
    };
    if (removes === 'caller') {
      await change();
      await pause(STALL_MS);
      return restore();
    }
    const restart = this.records.add('restart', {});
    const removals = logged(up, 'subscription_removed').length;
    await change();
    await logLines(up, removals + 1, 'subscription_removed');
    await restore();
    this.records.end(restart);
  }

  /** Starts a new gateway after `end` has ended the running one. */
  async #restart(end) {
    const restart = this.records.add('restart', {});
    await end();
    this.stack.machine.release();
    this.layer.onRestart();
    this.#departedMs = -Infinity;
    await this.stack.start();
    this.records.end(restart);
  }

  /**
   * Does `work` while no call begins, no message is on its way, and no consumer is about to lose its events. Then waits
   * until the gateway has done what follows from it.
   */
  #quietly(work) {
    return this.gate.closedFor(
      () => this.#isQuiet(),
      async () => {
        await work();
        await until(() => this.records.idleMs > ARRIVAL_MS, 'the step has had its effects');
      },
    );
  }

  async #isQuiet() {
    if (this.records.idleMs < ARRIVAL_MS || performance.now() - this.#departedMs < DEPARTURE_MS) return false;
    // On a busy machine, messages need longer, and so do these calls.
    const { length } = this.records.steps;
    for (let call = 0; call < PROBES; ++call) await this.call('GetSubscription');
    return this.records.steps.length === length;
  }

  async #changeParked(type, most) {
    const parked = await this.listParked();
    const chosen = [...parked].slice(0, most);
    if (chosen.length === 0) return;
    const step = this.records.add(type, { events: Object.fromEntries(chosen.map(([id, { count }]) => [id, count])) });
    const idOf = new Map(chosen.map(([id, { cursor }]) => [cursor, id]));
    const method = type === 'retryParked' ? 'RetryParked' : 'SkipParked';
    const { not_parked_cursors: cursors = [] } = await this.call(method, { cursors: [...idOf.keys()] });
    this.records.end(step, { notParked: cursors.map((cursor) => idOf.get(cursor)) });
  }

  /** Resolves to the parked events that the log still has: their counts, reasons and cursors by their ids. */
  async listParked() {
    await this.layer.beforeList(this);
    const step = this.records.add('listParked', {});
    const { parked_events: events = [] } = await this.call('ListParked', { page_size: 1000 });
    const parked = events
      .filter(({ event }) => event.event_id !== undefined)
      .map(({ event, delivery_count: count, reason }) => [event.event_id, { count, reason, cursor: event.cursor }]);
    this.records.end(step, { parked: Object.fromEntries(parked) });
    return new Map(parked);
  }

  /** Resolves to the events that the log has. */
  async #list() {
    const events = await listAll(this.stack.up);
    for (const { event_id: id, type, organization_id: organization, activity } of events) {
      if (!this.#log.has(id)) this.#log.set(id, { id, type, organization, activity: activity?.id });
    }
    return events;
  }

  async #sendAll(random) {
    const send = async () => {
      while (this.#sent < EVENTS && !this.stack.isOver) {
        const organizationId = subOrganization(random.below(ORGANIZATIONS));
        const id = `activity-${random.below(ACTIVITIES)}`;
        const type = random.below(5) === 0 ? 'other' : 'ACTIVITY_TYPE_SIMULATED';
        const leave = await this.gate.enter();
        await this.#send({ id, organizationId, type, status: 'ACTIVITY_STATUS_COMPLETED' });
        leave();
        await pause(random.below(60));
      }
    };
    await Promise.all(Array.from({ length: SENDERS }, send));
  }

  async #send(json) {
    this.#sent += 1;
    const { organizationId } = json;
    await this.stack.simulator.webhooks.send({ eventId: `event-${this.#sent}`, organizationId, json }).done;
  }

  /** Lets honest consumers settle everything. */
  async #finish() {
    await this.sending;
    for (const consumer of this.consumers) consumer.beHonest();
    const isDrained = await this.#drain();

    this.records.add('drained', { isDrained });
    await this.listParked();
    await this.#list();
    await Promise.all(this.consumers.map((consumer) => consumer.stop()));
    await this.stack.stop('SIGTERM');
    const { settings, stack, records } = this;
    return { steps: records.steps, log: [...this.#log.values()], settings, faults: stack.faults };
  }

  /** Resolves to whether the consumers have settled everything. */
  async #drain() {
    for (let turn = 0; turn < DRAIN_TURNS; ++turn) {
      await this.passTime({ ms: SETTLE_WITHIN_MS + SLOW_WORK_MS });
      const { length } = this.records.steps;
      await until(() => this.records.idleMs > DRAIN_IDLE_MS, 'nothing more happens');
      const { events_behind = '0', unsettled = '0' } = (await this.call('GetSubscription')).subscription;
      if (events_behind === '0' && unsettled === '0' && this.records.steps.length === length) return true;
    }
    return false;
  }
}
