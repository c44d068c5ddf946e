// Limits how many requests each source address may send: several windows hold at once.
import { Refusal } from './errors.mjs';

/** Whether `value` is a list of limits: each `{requests, perMs}`, in any interval of `perMs`. */
export function isLimits(value) {
  const isCount = (number) => Number.isSafeInteger(number) && number > 0;
  return Array.isArray(value) && value.every(({ requests, perMs }) => isCount(requests) && isCount(perMs));
}

export class RateLimits {
  #now;
  #times = new Map(); // by source address: when its admitted requests came

  /** @param {() => number} now a clock in milliseconds that never goes back */
  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Counts a request, unless a limit refuses it. A refused request does not count.
   * @param {string} source
   * @param {{requests: number, perMs: number}[]} limits
   * @returns {{headers: object, refusal: Refusal | undefined}} the headers of the response
   */
  take(source, limits) {
    if (limits.length === 0) return { headers: {}, refusal: undefined };
    const now = this.#now();
    const longest = Math.max(...limits.map(({ perMs }) => perMs));
    const times = (this.#times.get(source) ?? []).filter((time) => time > now - longest);
    this.#times.set(source, times);
    let retryMs = 0;
    for (const { requests, perMs } of limits) {
      const recent = times.filter((time) => time > now - perMs);
      if (recent.length >= requests) retryMs = Math.max(retryMs, recent[recent.length - requests] + perMs - now);
    }
    if (retryMs === 0) times.push(now);
    const [{ requests, perMs }] = limits;
    const used = times.filter((time) => time > now - perMs).length;
    const headers = { 'ratelimit-limit': String(requests), 'ratelimit-remaining': String(Math.max(requests - used, 0)) };
    if (retryMs === 0) return { headers, refusal: undefined };
    headers['retry-after'] = String(Math.ceil(retryMs / 1000));
    return {
      headers,
      refusal: new Refusal('RESOURCE_EXHAUSTED', 'RATE_LIMIT_EXCEEDED', 'Too many requests. Please wait a moment.'),
    };
  }

  clear() {
    this.#times.clear();
  }
}
