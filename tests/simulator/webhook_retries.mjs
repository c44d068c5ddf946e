// When a delivery is repeated: after a network error or a 5xx, and after nothing else.
import { setMaxListeners } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';

/**
 * What came of an attempt.
 * @typedef {object} Result
 * @property {number} [status] what the receiver answered
 * @property {string} [error] why there is no answer, or none that counts
 * @property {boolean} [isFinal] another attempt would be no better
 */

/**
 * Attempts a delivery until it is answered for good.
 * @param {(number: number) => Promise<Result | undefined>} attempt undefined: the delivery's target is gone
 * @param {object} limits
 * @param {{retryMs: number, maxRetryMs: number}} limits.settings the first delay, which doubles up to the second
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

/** What ends any number of deliveries. */
export function newStop() {
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  return stop;
}

/** Counts attempts by what came of them. */
export class Tally {
  attempts = 0;
  /** How often each status came, and "error" where none did. */
  answers = {};

  /** @param {Result} result */
  add({ status, error }) {
    const answer = error === undefined ? status : 'error';
    this.attempts += 1;
    this.answers[answer] = (this.answers[answer] ?? 0) + 1;
  }
}
