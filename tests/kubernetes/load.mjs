// A pod that makes calls at a constant rate.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { until } from '../end_to_end/processes.mjs';
import { TARGET } from './installation.mjs';
import { apply, kubectl } from './kubectl.mjs';
import { CALLS, callerPod } from './pods.mjs';
import { reportOf } from './report.mjs';

/** Half of them are queries, half are submits. */
export const CALLS_PER_SECOND = 50;

/** After a disruption, so many calls in a row must succeed before it counts as over. */
const CALLS_AFTER = 2 * CALLS_PER_SECOND;

/** A call ends by its deadline, 30 s. */
const LIMIT_MS = 90_000;

export class Load {
  /** The calls that have ended, by their numbers. */
  #calls = [];
  #state;

  /**
   * Starts the pod, and waits until its calls succeed. It ends with `t`.
   * @param {{after: (task: () => any) => void}} t
   * @param {() => any} state the simulator's state
   * @param {{target?: string, perSecond?: number, sidecar?: any}} [options]
   */
  static async start(t, state, { target = TARGET, perSecond = CALLS_PER_SECOND, sidecar } = {}) {
    const load = new Load();
    load.#state = state;
    const args = ['load', target, String(perSecond)];
    await apply(callerPod('payments', 'load', args, { labels: CALLS, hasCertificate: true, sidecar }));
    t.after(() => kubectl('delete', 'pod/load', '--namespace=payments'));
    await kubectl('wait', '--for=condition=Ready', 'pod/load', '--namespace=payments', '--timeout=60s');
    const log = spawn('kubectl', ['logs', '--follow', 'load', '--container=caller', '--namespace=payments'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    t.after(() => log.kill());
    createInterface({ input: log.stdout }).on('line', (line) => {
      const call = JSON.parse(line);
      load.#calls[call.number] = call;
    });
    await load.#succeeding();
    return load;
  }

  /** Waits until so many calls in a row have succeeded, all of which begin from now on. */
  async #succeeding() {
    const first = this.#calls.length;
    const isOver = () => {
      const failed = this.#calls.findLastIndex((call) => call?.error);
      return this.#calls.length - Math.max(first, failed) > CALLS_AFTER;
    };
    await until(isOver, 'calls succeed', LIMIT_MS);
  }

  /** Resolves when so many further calls have begun. */
  async calls(count) {
    const last = this.#calls.length + count;
    await until(() => this.#calls.length >= last, `${count} calls begin`, LIMIT_MS);
  }

  /**
   * Carries out a disruption, which resolves when the gateway is ready again.
   * @param {() => Promise<any>} disrupt
   * @returns {Promise<import('./report.mjs').Report & {seconds: number}>} `seconds` until the gateway was ready
   */
  async during(disrupt) {
    // The first call that is still in flight.
    const first = [...this.#calls, undefined].findIndex((call) => call === undefined);
    const begun = Date.now();
    await disrupt();
    const seconds = (Date.now() - begun) / 1000;
    await this.#succeeding();
    const last = this.#calls.length;
    const calls = () => this.#calls.slice(first, last);
    await until(() => calls().filter(Boolean).length === last - first, 'every call ends', LIMIT_MS);
    return { seconds, ...reportOf(calls(), this.#state().activitiesById.values()) };
  }
}
