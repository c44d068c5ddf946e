// The queue of deliveries: attempts each delivery until it gets a final response, and records the result.
import { shown } from './capture.mjs';
import { FaultError } from './fault_list.mjs';
import { Waiters } from './waiters.mjs';
import { Tally, attemptUntilAnswered, newStop } from './webhook_retries.mjs';

const MAX_RECORDS = 1000;
const MAX_BODY_BYTES = 64 * 1024 * 1024;

/** Counts that must equal the number for which a test waits. Other counts may be larger. */
const EXACT = ['waiting', 'held'];

/**
 * The destination of deliveries.
 * @typedef {object} Target
 * @property {string | null} endpointId
 * @property {() => string | undefined} url called before each attempt; undefined if the target accepts no more
 *     deliveries
 */

export class WebhookQueue {
  #records = [];
  #bodyBytes = 0;
  #waiters = new Waiters();
  #stop = newStop();
  #running = 0;
  #inLine = [];
  #made = 0;
  #underWay = 0;
  /** The same count as #underWay, but a delivery also counts between the repetitions that a fault causes. */
  #waiting = 0;

  /**
   * @param {object} parts
   * @param {import('./webhook_courier.mjs').Courier} parts.courier
   * @param {import('./holds.mjs').Holds} parts.holds
   * @param {{maxAttempts: number, concurrency: number, retryMs: number, maxRetryMs: number}} parts.settings
   */
  constructor({ courier, holds, settings }) {
    this.courier = courier;
    this.holds = holds;
    this.settings = settings;
    this.clear();
  }

  /** Removes the records of finished deliveries. Deliveries in progress continue, and count when they end. */
  clear() {
    const waiting = this.#records.filter(({ state }) => state === 'waiting');
    this.#records = waiting;
    this.#bodyBytes = waiting.reduce((sum, { bodyBytes }) => sum + bodyBytes, 0);
    this.ended = { acknowledged: 0, refused: 0, abandoned: 0, stopped: 0 };
    this.tally = new Tally();
  }

  /** Makes no further attempts. The courier ends the attempts in progress. */
  stop() {
    this.#stop.abort();
  }

  /**
   * Delivers an event. If a fault `repeated` applies, delivers it again.
   * @param {import('./webhook_courier.mjs').Event} event
   * @param {Target} target
   * @param {import('./webhook_faults.mjs').WebhookFaults} [ownFaults]
   * @returns {Promise<object[]>} the deliveries' records when all are over.
   */
  async deliver(event, target, ownFaults) {
    this.#waiting += 1;
    const { record, repetition } = await this.#deliverOnce(event, target, ownFaults);
    const records = [record];
    for (let i = 0; i < repetition.count; i += 1) {
      this.#waiters.wake();
      records.push((await this.#deliverOnce({ ...event, body: repetition.body }, target, ownFaults)).record);
    }
    this.#waiting -= 1;
    this.#waiters.wake();
    return records;
  }

  list() {
    return structuredClone(this.#records);
  }

  stats() {
    const done = Object.values(this.ended).reduce((sum, count) => sum + count, 0);
    return {
      deliveries: done + this.#underWay,
      waiting: this.#waiting,
      done,
      ...this.ended,
      held: this.holds.count,
      ...this.tally,
    };
  }

  /**
   * Resolves to the statistics as soon as each number is at least the wanted one, and `waiting` and `held` are equal to
   * the wanted ones.
   * @returns {Promise<object | undefined>} undefined after the timeout.
   */
  waitFor({ timeoutMs, ...wanted }) {
    const unknown = Object.keys(wanted).filter((name) => typeof this.stats()[name] !== 'number');
    if (unknown.length > 0) throw new FaultError(`the statistics have no number ${unknown.join(', ')}`);
    const look = () => {
      const stats = this.stats();
      const isSo = ([name, number]) => (EXACT.includes(name) ? stats[name] === number : stats[name] >= number);
      return Object.entries(wanted).every(isSo) ? stats : undefined;
    };
    return this.#waiters.until(look, timeoutMs);
  }

  wake() {
    this.#waiters.wake();
  }

  async #deliverOnce(event, target, ownFaults) {
    const record = this.#newRecord(event, target);
    const stop = this.#stop.signal;
    let repetition = { count: 0 };
    const attempt = async (number) => {
      const result = await this.#inTurn(() => {
        const url = stop.aborted ? undefined : target.url();
        return url === undefined ? undefined : this.courier.attempt(event, url, number, ownFaults);
      });
      if (result === undefined) return undefined;
      if (result.repetition.count > 0) repetition = result.repetition;
      const { url, fault, status, error, headers } = result;
      record.attempts.push({ url, fault, status, error, headers });
      this.tally.add(result);
      this.#waiters.wake();
      return result;
    };
    record.state = await attemptUntilAnswered(attempt, {
      settings: this.settings,
      maxAttempts: this.settings.maxAttempts,
      stop,
    });
    this.#underWay -= 1;
    this.ended[record.state] += 1;
    return { record, repetition };
  }

  #newRecord({ eventId, type, organizationId, body }, { endpointId }) {
    this.#underWay += 1;
    this.#made += 1;
    const about = { number: this.#made, eventId, type, organizationId, endpointId };
    const record = { ...about, state: 'waiting', attempts: [], ...shown(body) };
    this.#records.push(record);
    this.#bodyBytes += record.bodyBytes;
    while (this.#records.length > MAX_RECORDS || this.#bodyBytes > MAX_BODY_BYTES) {
      this.#bodyBytes -= this.#records.shift().bodyBytes;
    }
    return record;
  }

  /** Limits the number of concurrent attempts. When an attempt ends, the first waiting one begins. */
  async #inTurn(attempt) {
    if (this.#running < this.settings.concurrency) this.#running += 1;
    else await new Promise((enter) => this.#inLine.push(enter));
    try {
      return await attempt();
    } finally {
      const enter = this.#inLine.shift();
      if (enter === undefined) this.#running -= 1;
      else enter();
    }
  }
}
