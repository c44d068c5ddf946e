// Reads events in tests. A test reads a subscription one message or one event at a time, or the whole log page by page.
import { described } from './failures.mjs';

/**
 * Where and what to read: a request of EventService.
 * @typedef {{end?: string, cursor?: string, time?: object, filter?: object, page_size?: number}} Start
 */

/** @type {Start} */
export const EARLIEST = { end: 'LOG_END_EARLIEST' };
/** @type {Start} */
export const LATEST = { end: 'LOG_END_LATEST' };

export const idsOf = (events) => events.map(({ event_id }) => event_id);

/** A subscription. */
export class Subscriber {
  /** The first message. @type {{events: any[], cursor?: string}} */
  first;
  #messages;
  #events = [];

  /** Subscribes. Resolves when the first message, `first`, has arrived: the subscription misses no event after that. */
  static async start(gateway, request = LATEST) {
    const subscriber = new Subscriber(gateway, request);
    subscriber.first = await subscriber.message();
    return subscriber;
  }

  constructor(gateway, request) {
    this.#messages = gateway.stream('EventService/Subscribe', request, { onCall: (call) => (this.call = call) });
  }

  /** The next message. Rejects with the error that ends the call. */
  async message() {
    const { value, done } = await this.#messages.next();
    if (done) throw new Error('the subscription ended without an error');
    return { events: [], ...value };
  }

  /** The next `count` events. Further events of the same messages are kept for the next call. */
  async events(count) {
    while (this.#events.length < count) this.#events.push(...(await this.message()).events);
    return this.#events.splice(0, count);
  }

  /** Reads until an error ends the call. Resolves to the error, as described() returns it. */
  async failure() {
    try {
      for (;;) this.#events.push(...(await this.message()).events);
    } catch (error) {
      return described(error);
    }
  }

  /** The received events that events() has not returned yet. */
  left() {
    return this.#events.splice(0);
  }

  async leave() {
    this.call.cancel();
    await this.#messages.return();
  }
}

/** Every page of ListEvents up to the last one. */
export async function pagesOf(gateway, request = EARLIEST) {
  const { filter, page_size } = request;
  const pages = [];
  for (let start = request; ; start = { cursor: pages.at(-1).cursor, filter, page_size }) {
    pages.push({ events: [], ...(await gateway.call('EventService/ListEvents', start)) });
    if (pages.at(-1).at_end) return pages;
  }
}

/** Every event of the log, or those that `request` selects. */
export const listAll = async (gateway, request) => (await pagesOf(gateway, request)).flatMap(({ events }) => events);
