// Sends many events concurrently, and records which of them the receiver acknowledged. The sender repeats each delivery
// until it is acknowledged or refused, also if the receiver fails and restarts, or until a test stops the sender.
import { Waiters } from './waiters.mjs';
import { ACTIVITY_UPDATES, simpleActivity } from './webhook_events.mjs';
import { Tally, attemptUntilAnswered, newStop } from './webhook_retries.mjs';

export class WebhookLoad {
  #waiters = new Waiters();
  #stop = newStop();

  /**
   * The number of acknowledgements of each event id, in the order of their first ones. @type {Map<string, number>}
   */
  acknowledged = new Map();
  /** For each event id whose delivery was refused, the status of the response. @type {Map<string, number>} */
  refused = new Map();
  tally = new Tally();

  /**
   * Starts to send.
   * @param {object} parts
   * @param {import('./webhook_courier.mjs').Courier} parts.courier
   * @param {{retryMs: number, maxRetryMs: number}} parts.settings
   * @param {import('./webhook_queue.mjs').Target} parts.target
   * @param {string[]} parts.ids the id of each event; an id may occur more than once
   * @param {number} parts.concurrency the number of concurrent deliveries, including those that wait for a repetition
   * @param {number} parts.bodyBytes
   * @param {string} parts.organizationId
   */
  constructor({ courier, settings, target, ids, concurrency, bodyBytes, organizationId }) {
    this.courier = courier;
    this.settings = settings;
    this.target = target;
    this.ids = ids;
    this.concurrency = concurrency;
    this.bodyBytes = bodyBytes;
    this.organizationId = organizationId;
    this.next = 0;
    const workers = Array.from({ length: Math.min(this.concurrency, this.ids.length) }, () => this.#work());
    /** Resolves to the summary when all deliveries are over. */
    this.done = Promise.all(workers).then(() => {
      this.isDone = true;
      this.#waiters.wake();
      return this.summary();
    });
  }

  /** Begins no further delivery. Deliveries in progress end normally and count. */
  stop() {
    this.#stop.abort();
    return this.done;
  }

  summary() {
    const { ids, isDone = false } = this;
    return {
      events: ids.length,
      isDone,
      ...this.tally,
      acknowledged: [...this.acknowledged.keys()],
      refused: Object.fromEntries(this.refused),
    };
  }

  /**
   * Resolves to the summary when this many ids are acknowledged, or all deliveries are over; undefined after the
   * timeout.
   */
  waitFor({ acknowledged = Infinity, timeoutMs }) {
    const look = () => (this.isDone || this.acknowledged.size >= acknowledged ? this.summary() : undefined);
    return this.#waiters.until(look, timeoutMs);
  }

  async #work() {
    while (this.next < this.ids.length && !this.#stop.signal.aborted) {
      const eventId = this.ids[this.next];
      this.next += 1;
      await this.#deliver(eventId);
    }
  }

  async #deliver(eventId) {
    const { organizationId, bodyBytes: bytes, courier, settings, target } = this;
    const body = Buffer.from(simpleActivity({ eventId, organizationId, bytes }));
    const event = { eventId, organizationId, type: ACTIVITY_UPDATES, body };
    /** @type {import('./webhook_courier.mjs').Attempt | undefined} */
    let result;
    const attempt = async (number) => {
      const url = target.url();
      if (url === undefined) return undefined;
      result = await courier.attempt(event, url, number);
      this.tally.add(result);
      return result;
    };
    const limits = { settings, maxAttempts: Infinity, stop: this.#stop.signal };
    const state = await attemptUntilAnswered(attempt, limits);
    if (state === 'acknowledged') this.acknowledged.set(eventId, (this.acknowledged.get(eventId) ?? 0) + 1);
    if (state === 'refused') this.refused.set(eventId, result.status);
    this.#waiters.wake();
  }
}
