// Limits how many requests each source address may send, in all or to one path: several windows hold at once.
import { Refusal } from './errors.mjs';

/** Whether `value` is a list of limits: each `{requests, perMs, path}`, in any interval of `perMs`; `path` is optional. */
export function isLimits(value) {
  const isCount = (number) => Number.isSafeInteger(number) && number > 0;
  const isPath = (path) => path === undefined || typeof path === 'string';
  return (
    Array.isArray(value) &&
    value.every(({ requests, perMs, path }) => isCount(requests) && isCount(perMs) && isPath(path))
  );
}

export class RateLimits {
  #now;
  #times = new Map(); // by source address: when its admitted requests came, and their paths

  /** @param {() => number} now a clock in milliseconds that never goes back */
  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Counts a request, unless a limit refuses it. A refused request does not count.
   * @param {string} source
   * @param {{requests: number, perMs: number, path?: string}[]} all
   * @param {string} [path]
   * @returns {{headers: object, refusal: Refusal | undefined}} the headers of the response
   */
  take(source, all, path) {
    const limits = all.filter((limit) => limit.path === undefined || limit.path === path);
    if (limits.length === 0) return { headers: {}, refusal: undefined };
    const now = this.#now();
    const longest = Math.max(...all.map(({ perMs }) => perMs));
    const times = (this.#times.get(source) ?? []).filter(({ time }) => time > now - longest);
    this.#times.set(source, times);
    const countedBy = (limit) =>
      times.filter((each) => each.time > now - limit.perMs && (limit.path === undefined || limit.path === each.path));
    let retryMs = 0;
    for (const limit of limits) {
      const recent = countedBy(limit);
      if (recent.length < limit.requests) continue;
      retryMs = Math.max(retryMs, recent[recent.length - limit.requests].time + limit.perMs - now);
    }
    if (retryMs === 0) times.push({ time: now, path });
    const [{ requests }] = limits;
    const used = countedBy(limits[0]).length;
    const headers = {
      'ratelimit-limit': String(requests),
      'ratelimit-remaining': String(Math.max(requests - used, 0)),
    };
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
