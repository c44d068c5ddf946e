// A round: carries out a schedule of faults while callers, senders and subscribers use the gateway, and returns the
// history.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { HANG_MS, run } from '../harness.mjs';
import { recordsOf } from '../log_lines.mjs';
import { until } from '../processes.mjs';
import { Random } from '../random.mjs';
import { listAll } from '../subscriber.mjs';
import { Caller } from './callers.mjs';
import { Follower, seen } from './follower.mjs';
import { Stack } from './stack.mjs';
import { UpstreamRecord } from './upstream_record.mjs';

const EVENTS = 100_000; // more than a round can send
const SENDERS = 6;
/** The largest difference between the clocks of gateway and upstream. With more, upstream would refuse timestamps. */
const MAX_OFFSET_MS = 120_000;
const MAX_BEHIND_MS = 40_000;

export class Round {
  /** @type {import('../random.mjs').Random} */
  random;
  /** @type {Stack} */
  stack;
  /** @type {boolean} */
  withStore;
  #answered = 0;
  #cuts = 0;

  /**
   * @param {object} t
   * @param {import('../random.mjs').Random} random
   * @param {{withStore: boolean}} options
   */
  static async make(t, random, { withStore }) {
    const round = new Round();
    round.random = random;
    round.stack = await Stack.make(t, { withStore });
    round.stack.machine.seed(random.below(1 << 30));
    round.stack.machine.setWriteBack(random.below(3) / 20);
    round.stack.machine.setSyncMs(random.below(5));
    round.withStore = withStore;
    return round;
  }

  /** Carries out the schedule. Resolves to the history. */
  async run(schedule) {
    const { stack } = this;
    await stack.start();
    this.upstream = new UpstreamRecord(stack.simulator);
    this.load = stack.simulator.webhooks.sendMany({ count: EVENTS, concurrency: SENDERS, ids: 'event-' });
    const kinds = ['plain', 'timestamped', 'equal', 'query', ...(this.withStore ? ['keyed', 'keyed'] : [])];
    const answered = () => (this.#answered += 1);
    this.callers = kinds.map((kind, index) => new Caller(stack, this.upstream, kind, index, answered));
    this.followers = ['A', 'B'].map((name) => new Follower(stack, name));
    const coins = derived(this.random, 'follower');
    this.followers.push(new Follower(stack, 'C', () => coins.below(8) === 0));
    try {
      for (const step of schedule) await this.#do(step);
      return await this.#finish();
    } finally {
      stack.end();
      this.upstream.end();
      this.load.stop();
    }
  }

  /** The number of acknowledged events plus the number of answered submits. */
  get progress() {
    return this.load.acknowledged.size + this.#answered;
  }

  async #do({ kind, progress, ...options }) {
    // After many crashes within seconds, the gateway's timestamps are a minute ahead of the clock. A round takes less
    // than a minute, so this code advances the clock.
    if (this.stack.behindMs > MAX_BEHIND_MS) this.stack.passTime(this.stack.behindMs);
    const wanted = this.progress + progress;
    await until(() => this.progress >= wanted, `progress before ${kind}`);
    await this[kind](options);
  }

  async kill({ clockMs = 0 }) {
    await this.stack.stop('SIGKILL');
    this.#step(clockMs);
    await this.stack.start();
  }

  async terminate({ clockMs }) {
    await this.stack.stop('SIGTERM');
    this.#step(clockMs);
    await this.stack.start();
  }

  async pause({ ms }) {
    const { child } = this.stack.up;
    child.kill('SIGSTOP');
    await pause(ms); // the exact time does not matter
    child.kill('SIGCONT');
  }

  clock({ ms }) {
    this.#step(ms);
  }

  logSync(options) {
    return this.#endBySync('events.db', options);
  }

  callSync(options) {
    return this.#endBySync('calls.db', options);
  }

  async #endBySync(match, { skip, keep }) {
    const { machine } = this.stack;
    machine.failSyncs({ match, skip, count: 1, keep });
    await this.stack.ended();
    machine.release();
    await this.stack.start();
  }

  async auditSync({ skip, count, keep }) {
    const { machine } = this.stack;
    const { failed } = machine.counts;
    machine.failSyncs({ match: 'audit', skip, count, keep });
    await machine.waitFor((counts) => counts.failed >= failed + count, 'the syncs of the audit log failed');
    machine.release();
  }

  /** @param {{pieceBytes?: number, keep?: number, clockMs: number}} step */
  async powerCut({ pieceBytes, keep, clockMs }) {
    await this.stack.stop('SIGKILL');
    this.stack.machine.release();
    this.#cuts += 1;
    this.stack.machine.cutPower(derived(this.random, `cut ${this.#cuts}`), { pieceBytes, keep });
    this.#step(clockMs);
    await this.stack.start();
  }

  async upstreamHang({ count, answers, outlasts }) {
    const { simulator } = this.stack;
    simulator.addFaults([{ kind: 'slow', untilReleased: true, times: count }]);
    await until(() => simulator.stats().held > 0, 'upstream hangs');
    // Waits until the fault has hit `count` requests, or until all requests that it holds have timed out.
    await until(
      () => simulator.pendingFaults() === 0 || simulator.stats().held === 0,
      'all requests with this fault hang',
    );
    if (outlasts) await until(() => simulator.stats().held === 0, 'the gateway gives up');
    if (!answers) await this.kill({});
    simulator.release();
  }

  async upstreamReset({ count, reads }) {
    const { simulator } = this.stack;
    simulator.addFaults([{ kind: reads ? 'readAndClose' : 'resetBeforeRead', times: count }]);
    await until(() => simulator.pendingFaults() === 0, 'upstream closed connections');
  }

  async syncHang({ match, skip, then, ms, ...cut }) {
    const { machine } = this.stack;
    machine.hang({ match, skip });
    const hangs = () => machine.waitFor(({ waiting }) => waiting > 0, 'a sync hangs');
    await hangs();
    if (then === 'goesOn') {
      machine.release();
      return machine.waitFor(({ waiting }) => waiting === 0, 'no sync hangs anymore');
    }
    if (then === 'cut') return this.powerCut({ ...cut, clockMs: 0 });
    await this.stack.stop('SIGKILL');
    if (then === 'killed') {
      machine.release();
      return this.stack.start();
    }
    // The next process finds writes that were never synced. It must sync them before it acknowledges anything.
    machine.hang();
    const started = this.stack.start();
    await Promise.race([started, hangs()]);
    if (!this.stack.up) machine.release();
    await started;
    await pause(ms);
    await this.powerCut({ ...cut, clockMs: 0 });
  }

  async fullDisk({ freeBytes }) {
    const { machine } = this.stack;
    const { refused } = machine.counts;
    machine.setFreeBytes(freeBytes);
    await machine.waitFor((counts) => counts.refused > refused, 'the disk is full');
    machine.release();
  }

  /** Steps the clock, at most so far that upstream still accepts the timestamps. */
  #step(ms) {
    const { offsetMs } = this.stack;
    this.stack.stepClock(Math.max(-MAX_OFFSET_MS, Math.min(MAX_OFFSET_MS, offsetMs + ms)) - offsetMs);
  }

  /** Ends all faults, lets callers, senders and subscribers finish, and cuts the power once more. */
  async #finish() {
    const { stack, load, callers, followers } = this;
    const { machine, simulator } = stack;
    machine.release();
    simulator.clearFaults();
    simulator.release();
    // Advances the clock, so that no submit is refused because of timestamps.
    stack.passTime(stack.behindMs);
    const wanted = this.progress + 20;
    await until(() => this.progress >= wanted, 'submits and deliveries succeed after the last fault');
    await Promise.all(callers.map((caller) => caller.stop()));
    await load.stop();
    await simulator.webhooks.waitFor({ waiting: 0, timeoutMs: HANG_MS });
    await this.powerCut({ pieceBytes: 512, keep: 0.5, clockMs: 0 });
    const log = (await listAll(stack.up)).map(seen);
    const haveAll = () => followers.every(({ events, isOver }) => isOver || events.length >= log.length);
    await until(haveAll, 'subscribers have all', HANG_MS / 6).catch(() => {}); // the judge reports a subscriber that lacks events
    await Promise.all(followers.map((follower) => follower.stop()));
    await stack.stop('SIGTERM');
    return this.#history(log);
  }

  async #history(log) {
    const { stack, load, callers, followers, upstream } = this;
    upstream.end();
    const queued = stack.simulator.webhooks.deliveries();
    const { status, stdout, stderr } = await run(['audit', 'verify', '--key', stack.audit.key_file, stack.audit.file]);
    return {
      sent: [...load.ids, ...queued.map(({ eventId }) => eventId)],
      acknowledged: [
        ...load.acknowledged.keys(),
        ...queued.filter(({ state }) => state === 'acknowledged').map(({ eventId }) => eventId),
      ],
      log,
      subscribers: followers.map(({ name, events, faults }) => ({ name, events, faults })),
      attempts: callers.flatMap(({ attempts }) => attempts),
      requests: upstream.requests,
      audit: auditRecords(stack.audit.file),
      verification: { status, text: stdout + stderr },
      faults: stack.faults,
    };
  }
}

/** A separate sequence of random numbers from the same seed, for code that draws them at unpredictable moments. */
const derived = ({ seed }, name) => Object.assign(new Random({ diagnostic: () => {} }), { seed: `${seed} ${name}` });

/** The records of all files of an audit log, oldest first. */
function auditRecords(file) {
  const older = readdirSync(dirname(file)).filter((name) => new RegExp(`^${basename(file)}\\.[0-9]{20}$`).test(name));
  const files = [...older.sort().map((name) => join(dirname(file), name)), file];
  return files.flatMap(recordsOf);
}
