// Records all requests that upstream receives, because the simulator keeps only the last ones.
import { createHash } from 'node:crypto';

const READ_MS = 20;
/** The faults with which upstream nevertheless carries out the request; undefined: no fault. */
const CARRIED_OUT = [undefined, 'slow', 'readAndClose'];

export class UpstreamRecord {
  #simulator;
  #timer;
  #last = 0;
  /** The requests, in the form that judge.mjs describes. */
  requests = [];

  constructor(simulator) {
    this.#simulator = simulator;
    this.#timer = setInterval(() => this.#read(), READ_MS);
  }

  /** The number of requests that upstream has received. */
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

/** The name of the request, which callers.mjs writes into the submit. */
const requestIn = (body) => JSON.parse(body).parameters.organizationName;
