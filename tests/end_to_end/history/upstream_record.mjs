// What upstream saw, over any number of requests: the simulator itself remembers the last ones only.
import { createHash } from 'node:crypto';

const READ_MS = 20;
/** Faults of an answer: the request was carried out all the same. */
const CARRIED_OUT = [undefined, 'slow', 'readAndClose'];

export class UpstreamRecord {
  #simulator;
  #timer;
  #last = 0;
  /** As the judge takes them. */
  requests = [];

  constructor(simulator) {
    this.#simulator = simulator;
    this.#timer = setInterval(() => this.#read(), READ_MS);
  }

  /** How many requests upstream has seen. */
  get count() {
    return this.#simulator.stats().requests;
  }

  end() {
    clearInterval(this.#timer);
    this.#read();
  }

  #read() {
    for (const { number, method, path, body, fault, verdict } of this.#simulator.requests()) {
      if (number <= this.#last) continue;
      if (number !== this.#last + 1) throw new Error('the simulator has forgotten a request before it was read');
      this.#last = number;
      if (method !== 'POST' || !['accepted', 'refused'].includes(verdict.outcome)) continue;
      this.requests.push({
        number,
        request: path.includes('/submit/') ? requestIn(body) : undefined,
        bodySha256: createHash('sha256').update(body).digest('hex'),
        accepted: verdict.outcome === 'accepted' && CARRIED_OUT.includes(fault),
      });
    }
  }
}

/** What callers.mjs writes into a submit to tell requests apart. */
const requestIn = (body) => JSON.parse(body).parameters.organizationName;
