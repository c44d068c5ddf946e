// Records the received requests, and lets tests wait for requests without polling.
import { Holds } from './holds.mjs';
import { Waiters } from './waiters.mjs';

const MAX_REQUESTS = 1000;
const MAX_BODY_BYTES = 64 * 1024 * 1024;

export class Capture {
  #requests = [];
  #bodyBytes = 0;
  #waiters = new Waiters();
  #held = new Holds(() => this.#waiters.wake());

  constructor() {
    this.connections = 0;
    this.clear();
  }

  /** Removes the records and the counts. Held requests stay held until `release`. */
  clear() {
    this.#requests = [];
    this.#bodyBytes = 0;
    this.total = 0;
    this.paths = new Map();
  }

  /** Stores one request. Removes the oldest ones if there are more than the limit. */
  add({ rawBody, ...request }) {
    this.total += 1;
    this.#requests.push({ number: this.total, ...request, ...shown(rawBody) });
    this.#bodyBytes += rawBody.length;
    while (this.#requests.length > MAX_REQUESTS || this.#bodyBytes > MAX_BODY_BYTES) {
      this.#bodyBytes -= this.#requests.shift().bodyBytes;
    }
    const counts = this.paths.get(request.path) ?? { requests: 0, accepted: 0, refused: 0, reset: 0, incomplete: 0 };
    counts.requests += 1;
    counts[request.verdict.outcome] += 1;
    this.paths.set(request.path, counts);
    this.#waiters.wake();
  }

  list() {
    return [...this.#requests];
  }

  stats() {
    const { total, connections } = this;
    return { requests: total, held: this.#held.count, connections, paths: Object.fromEntries(this.paths) };
  }

  /**
   * Holds a request. The returned `released` resolves when a test calls release(), or when the caller calls the
   * returned `abandoned` because the client has disconnected.
   */
  hold() {
    return this.#held.hold();
  }

  /** Releases all held requests. @returns {number} the number of released requests. */
  release() {
    return this.#held.release();
  }

  /**
   * Resolves to the statistics as soon as at least `requests` requests have arrived and exactly `held` are held.
   * @returns {Promise<object | undefined>} undefined after the timeout.
   */
  waitFor({ requests = 0, held, timeoutMs }) {
    const look = () => {
      const isSo = this.total >= requests && (held === undefined || this.#held.count === held);
      return isSo ? this.stats() : undefined;
    };
    return this.#waiters.until(look, timeoutMs);
  }
}

/** The body in a form that JSON can contain: the exact text, or base64 if the bytes are not UTF-8. */
export function shown(rawBody) {
  const text = rawBody.toString('utf8');
  const isText = Buffer.from(text, 'utf8').equals(rawBody);
  return {
    body: isText ? text : null,
    bodyBase64: isText ? undefined : rawBody.toString('base64'),
    bodyBytes: rawBody.length,
  };
}
