// The records of a history of a shared subscription: what its consumers and the round did and observed, in order.

/**
 * What one party did or observed. A call has one record, for its begin and its end. Each type has members of its own:
 *
 * - `stream`: a call of Consume, with `consumer`, `stream`, `gateway`, `held` (tokens) and, after the first message,
 *   `joined` and `superseded`. `until` is its end, with `ending`. `left` is set if the client itself cancelled it
 * - `delivery`: `consumer`, `stream`, `event`, `token`, `count`, `reason`, `retried`
 * - `settle`: `tokens`, `outcome`, `parkReason`, and `superseded` or, if the outcome is unknown, `error`
 * - `seek`: `passes`, the ids of the events before the new place
 * - `retryParked`, `skipParked`: `events`, which maps ids to numbers of deliveries, and `notParked`
 * - `listParked`: `parked`, which maps ids to `{count, reason}`
 * - `restart`: the gateway or the subscription ends, and is there again at `until`. With several gateways: others can
 *   have taken the partitions of a gateway meanwhile
 * - `lapse`: a gateway, or any of them if there is no `gateway`, may not know that others have its partitions
 * - `retention`: `events`, the ids of the events that the log does not have any more
 * - `passTime`: `ms`, by which the clock has stepped
 * - `drained`: `isDrained`, whether honest consumers have settled everything at the end
 *
 * All have `type`; `at`, the number of the moment when it began, where later moments have larger numbers; `atMs`, the time
 * by the gateway's clock; and `until`, the moment when it ended, which is Infinity if it did not end.
 * @typedef {any} Step
 */

export class Records {
  #moments = 0;
  #lastMs = performance.now();
  /** @type {Step[]} */
  steps = [];

  /** @param {() => number} nowMs the gateway's clock */
  constructor(nowMs) {
    this.nowMs = nowMs;
  }

  /**
   * Records something that has no duration, or that begins. Returns the record, for end().
   * @returns {Step}
   */
  add(type, fields = {}) {
    const step = { type, at: this.moment(), atMs: this.nowMs(), until: Infinity, ...fields };
    this.steps.push(step);
    return step;
  }

  /** @param {Step} step @param {object} [fields] */
  end(step, fields = {}) {
    return Object.assign(step, { until: this.moment() }, fields);
  }

  /** How long nothing has been recorded. */
  get idleMs() {
    return performance.now() - this.#lastMs;
  }

  /** The number of this moment. */
  moment() {
    this.#moments += 1;
    this.#lastMs = performance.now();
    return this.#moments;
  }
}
