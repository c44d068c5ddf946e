// A gateway on a simulated machine that fails, with the simulator as its upstream. One gateway process after another
// uses the same disk.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Machine } from '../../machine/machine.mjs';
import { startSimulator } from '../../simulator/server.mjs';
import { Gateway, HANG_MS, auditConfig, eventsConfig, plainConfig, scratch } from '../harness.mjs';

/** The gateway uses timestamps up to this far ahead of its clock. */
const AHEAD_MS = 1000;
/**
 * The gateway reserves the timestamps of this period before it uses them. After a crash, the remaining reserved
 * timestamps stay unused.
 */
const RESERVE_MS = 10_000;
/**
 * The longest period for which the gateway may continue to use a time that it has read before a step of its clock.
 */
const CLOCK_LAG_MS = 2_500;

export class Stack {
  /** @type {string} */
  folder;
  /** The section of the config. @type {{file: string, key_file: string}} */
  audit;
  /** @type {import('../../simulator/server.mjs').Simulator} */
  simulator;
  /** @type {Machine} */
  machine;
  /** @type {import('../harness.mjs').Config} */
  config;
  /** Whether no further gateway starts. */
  isOver = false;
  /** @type {Gateway | undefined} */
  #up;
  #waiting = [];
  /** An upper bound of the timestamps that gateways have used. */
  #givenMs = 0;
  /** After each step and each start: how far the clock was behind that bound, and since when. */
  #behind = [{ behindMs: 0, fromMs: -Infinity }];

  /** Unexpected ends of processes. @type {string[]} */
  faults = [];

  /**
   * Makes a stack without a running gateway. It ends with the test `t`.
   * @param {object} t
   * @param {{withStore: boolean}} options whether the gateway has a call store, and so accepts idempotency keys
   */
  static async make(t, { withStore }) {
    let stack = new Stack();
    const folder = scratch(t);
    const data = join(folder, 'data');
    mkdirSync(data);
    stack.folder = folder;
    stack.audit = await auditConfig(folder, join(data, 'audit.log'));
    stack.simulator = await startSimulator();
    stack.simulator.webhooks.change({ retryMs: 5, maxRetryMs: 40 });
    stack.machine = new Machine(join(folder, 'machine'), data);
    stack.config = {
      ...plainConfig(stack.simulator, folder),
      upstream: { base_url: stack.simulator.url, exchange_timeout: '1s' },
      calls: { drain_grace: '10s' },
      audit: stack.audit,
      ...eventsConfig(data),
    };
    if (withStore) {
      stack.config.store = { sqlite: { folder: data } };
      delete stack.config.events.file;
    }
    t.after(async () => {
      if (stack.#up) await stack.#up.stop('SIGKILL');
      await stack.simulator.close();
      stack.machine.close();
      // Node keeps the closures of all tests until the last round has ended. This frees the memory of the stack.
      stack = undefined;
    });
    return stack;
  }

  /** Resolves to the gateway as soon as one is running; to undefined after end(). */
  gateway() {
    if (this.isOver) return Promise.resolve(undefined);
    if (this.#up) return Promise.resolve(this.#up);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** The running gateway. */
  get up() {
    return this.#up;
  }

  async start() {
    const { folder, config, machine } = this;
    this.#up = await Gateway.start(config, { folder, env: machine.env });
    this.simulator.webhooks.setEndpoints(null, [this.#up.webhookUrl]);
    this.#noteClock();
    for (const resolve of this.#waiting.splice(0)) resolve(this.#up);
  }

  /** Ends the process with a signal, and checks that it ends as expected for the signal. */
  async stop(signal) {
    const up = this.#down(signal === 'SIGKILL' ? RESERVE_MS : AHEAD_MS);
    up.isKilled = signal === 'SIGKILL';
    const ending = await up.stop(signal);
    const expected = signal === 'SIGKILL' ? 'SIGKILL' : 0;
    this.#expect(up, ending, expected);
  }

  /** Waits until the process ends by itself, with status 1. */
  async ended() {
    const up = this.#up;
    up.isKilled = true;
    const hang = setTimeout(() => {
      this.faults.push(`the process did not end by itself: ${lastLines(up)}`);
      up.child.kill('SIGKILL');
    }, HANG_MS);
    const ending = await up.exited;
    clearTimeout(hang);
    this.#down(RESERVE_MS);
    up.client.close();
    this.#expect(up, ending, 1);
  }

  /** Starts no further gateway. */
  end() {
    this.isOver = true;
    for (const resolve of this.#waiting.splice(0)) resolve(undefined);
  }

  /** Steps the machine's wall clock, but not upstream's. */
  stepClock(ms) {
    this.machine.clockOffsetMs += ms;
    this.#noteClock();
  }

  /** Advances the clocks of the machine and of upstream. */
  passTime(ms) {
    const { settings } = this.simulator;
    this.simulator.change({ clockOffsetMs: settings.clockOffsetMs + Math.ceil(ms) });
    this.stepClock(Math.ceil(ms));
  }

  /** By how much the machine's clock is ahead of upstream's. */
  get offsetMs() {
    return this.machine.clockOffsetMs - this.simulator.settings.clockOffsetMs;
  }

  /** How far the clock is behind the latest timestamp that a gateway may have used. */
  get behindMs() {
    return this.#behind.at(-1).behindMs;
  }

  /**
   * The maximum of behindMs over all times that the gateway may have read from its clock since `ms`, a time of
   * performance.now().
   */
  maxBehindMsSince(ms) {
    const seen = this.#behind.filter((_, index) => (this.#behind[index + 1]?.fromMs ?? Infinity) > ms - CLOCK_LAG_MS);
    return Math.max(...seen.map(({ behindMs }) => behindMs));
  }

  #noteClock() {
    const nowMs = this.machine.nowMs();
    if (this.#up) this.#givenMs = Math.max(this.#givenMs, nowMs);
    this.#behind.push({ behindMs: Math.max(0, this.#givenMs - nowMs), fromMs: performance.now() });
  }

  #down(reserveMs) {
    this.#givenMs = Math.max(this.#givenMs, this.machine.nowMs()) + reserveMs;
    const up = this.#up;
    this.#up = undefined;
    return up;
  }

  #expect(up, { status, signal }, expected) {
    if ((signal ?? status) === expected) return;
    this.faults.push(`the process ended with ${signal ?? status}, not ${expected}: ${lastLines(up)}`);
  }
}

function lastLines({ output }) {
  const lines = output.trim().split('\n');
  const explains = (line) => line.includes('"ERROR"') || line.includes('_failed"');
  return [...lines.slice(0, -3).filter(explains), ...lines.slice(-3)].join(' | ');
}
