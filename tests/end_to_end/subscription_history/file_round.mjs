// A round with one gateway, whose events are in a file.
import { setTimeout as pause } from 'node:timers/promises';
import { Stack } from '../history/stack.mjs';
import { logLines, logged } from '../log_lines.mjs';
import { callerOf, reconfigure } from '../policy_callers.mjs';
import { until } from '../processes.mjs';
import { Random } from '../random.mjs';
import { Records } from './records.mjs';
import { RETENTION_MS, Round, SLOW_WORK_MS, STALL_MS } from './round.mjs';

export class FileRound extends Round {
  /** @type {Stack} */
  stack = undefined;
  #cuts = 0;

  /**
   * @param {object} t
   * @param {Random} random
   * @param {import('./round.mjs').RoundOptions} [options]
   */
  static async make(t, random, options) {
    const round = new FileRound(t, random, options);
    const stack = await Stack.make(t, { withStore: true });
    round.stack = stack;
    stack.config.subscriptions = [round.subscription];
    stack.config.callers.push(callerOf('nobody', stack.config.callers[0].grants));
    stack.config.events = { retention_age: `${RETENTION_MS / 1000}s` };
    stack.simulator.webhooks.change({ maxAttempts: 10_000 });
    stack.machine.seed(random.below(1 << 30));
    stack.machine.setWriteBack(random.below(3) / 20);
    stack.machine.setSyncMs(random.below(4));
    round.records = new Records(() => stack.machine.nowMs());
    return round;
  }

  async start() {
    await this.stack.start();
  }

  async stop() {
    await this.stack.stop('SIGTERM');
    return this.stack.faults;
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
    this.departedMs = -Infinity;
    await this.stack.start();
    this.records.end(restart);
  }
}
