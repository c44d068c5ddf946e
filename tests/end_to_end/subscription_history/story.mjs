// Made-up histories of a shared subscription, for tests of the judge.
import { judge } from './judge.mjs';
import { Records } from './records.mjs';

export const event = (id, type = 'ACTIVITY_UPDATES') => ({ id, type, organization: id[0], activity: id });
export const SETTLE_WITHIN_MS = 30_000;

/** A made-up history of the events a1 and a2 of one key, and b1 of another one. */
export class Story {
  ms = 0;
  records = new Records(() => this.ms);
  log = ['a1', 'a2', 'b1'].map((id) => event(id));
  /** @type {import('./judge.mjs').Settings} */
  settings = { orderBy: 'organization', types: [], maxDeliveries: 3, settleWithinMs: SETTLE_WITHIN_MS };
  faults = [];
  isDrained = true;
  #streams = 0;
  #tokens = 0;

  /**
   * A consumer consumes with a new stream. Returns the stream.
   * @returns {import('./records.mjs').Step}
   */
  consume(consumer, { held = [], superseded = [], gateway = 0 } = {}) {
    this.#streams += 1;
    const stream = this.records.add('stream', { consumer, stream: `${consumer}${this.#streams}`, gateway, held });
    return Object.assign(stream, { joined: this.records.moment(), superseded });
  }

  /**
   * A stream delivers an event. Returns the token.
   * @param {import('./records.mjs').Step} stream
   * @param {string} event
   */
  deliver({ consumer, stream }, event, count = 1, reason = 'FIRST', retried = false) {
    this.#tokens += 1;
    const token = `token ${this.#tokens}`;
    this.records.add('delivery', { consumer, stream, event, token, count, reason, retried });
    return token;
  }

  /**
   * A consumer settles deliveries. By default, the gateway settles them all.
   * @param {string | string[]} tokens
   * @param {string} [outcome]
   * @param {object} [result]
   */
  settle(tokens, outcome = 'DONE', result = { superseded: [] }) {
    const settle = this.records.add('settle', { tokens: [tokens].flat(), outcome });
    return this.records.end(settle, result);
  }

  /** A call or a period that begins and ends. */
  add(type, fields = {}) {
    return this.records.end(this.records.add(type, fields));
  }

  /** A stream ends, because its client cancels it or for another reason. */
  end(stream, { left = false, ending = 'UNAVAILABLE' } = {}) {
    if (left) stream.left = this.records.moment();
    this.records.end(stream, { ending: left ? 'CANCELLED' : ending });
  }

  /** Delivers these events for the first time, and settles them. */
  handle(stream, ...events) {
    return this.settle(events.map((id) => this.deliver(stream, id)));
  }

  /** The history, at whose end these events are parked. */
  history(parked = {}) {
    const { isDrained, log, settings, faults } = this;
    this.add('drained', { isDrained });
    this.add('listParked', { parked });
    return { steps: this.records.steps, log, settings, faults };
  }
}

/** What the judge finds in the history that `tell` makes. `tell` can return the events that are parked at the end. */
export function findings(tell) {
  const story = new Story();
  return judge(story.history(tell(story) ?? {}));
}

export const PARKED = { count: 1, reason: 'no account' };
export const park = (story, stream, id) =>
  story.settle(story.deliver(stream, id), 'PARK', { superseded: [], parkReason: PARKED.reason });

/**
 * Makes a history. Can return the events that are parked at its end.
 * @typedef {(story: Story, stream?: any) => object | void} Tell
 */
