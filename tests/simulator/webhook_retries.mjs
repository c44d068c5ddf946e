// Repeats a delivery after a network error or a 5xx, and after no other result.
import { setMaxListeners } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';

/**
 * The result of an attempt.
 * @typedef {object} Result
 * @property {number} [status] the status of the receiver's response
 * @property {string} [error] why there is no response, or why the response does not count
 * @property {boolean} [isFinal] true if another attempt would fail too
 */

/**
 * Attempts a delivery until it gets a final response.
 * @param {(number: number) => Promise<Result | undefined>} attempt resolves to undefined if the target has no URL
 *     anymore
 * @param {object} limits
 * @param {{retryMs: number, maxRetryMs: number}} limits.settings the first delay, which doubles until it is
 *     `maxRetryMs`
 * @param {number} limits.maxAttempts
 * @param {AbortSignal} limits.stop
 * @param {(delayMs: number) => Promise<void> | void} [limits.wait] for tests
 * @returns {Promise<'acknowledged' | 'refused' | 'abandoned' | 'stopped'>}
 */
export async function attemptUntilAnswered(attempt, { settings, maxAttempts, stop, wait = waitUnless(stop) }) {
  for (let number = 1; ; number += 1) {
    const result = stop.aborted ? undefined : await attempt(number);
    if (result === undefined) return 'stopped';
    const { status, error, isFinal = false } = result;
    if (error === undefined && status < 500) return status >= 200 && status < 300 ? 'acknowledged' : 'refused';
    if (isFinal || number >= maxAttempts) return 'abandoned';
    await wait(Math.min(settings.retryMs * 2 ** Math.min(number - 1, 30), settings.maxRetryMs));
  }
}

const waitUnless = (signal) => (delayMs) => pause(delayMs, undefined, { signal }).catch(() => undefined);

/** Creates a controller whose signal can end any number of deliveries. */
export function newStop() {
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  return stop;
}

/** Counts attempts by their results. */
export class Tally {
  attempts = 0;
  /** The number of attempts by status; attempts without a response count under "error". */
  answers = {};

  /** @param {Result} result */
  add({ status, error }) {
    const answer = error === undefined ? status : 'error';
    this.attempts += 1;
    this.answers[answer] = (this.answers[answer] ?? 0) + 1;
  }
}
