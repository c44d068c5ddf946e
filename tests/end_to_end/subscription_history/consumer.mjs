// A consumer in a round of subscription_history_test. It consumes with one stream after the other, and settles what it
// holds in random ways: late, twice, with each outcome, or never.
import { setTimeout as pause } from 'node:timers/promises';
import { call, code, connect, stream as streamOf } from '../../clients/gateway.mjs';
import { startRelay } from '../relay.mjs';

export const SUBSCRIPTION = 'payouts';
const nameOf = (number) => Object.keys(code).find((name) => code[name] === number);

/** How often each way of settling is chosen, in percent. The rest settles twice at the same time. */
const WAYS = { done: 60, retry: 10, park: 5, extend: 6, forget: 4, late: 8 };

/** The most milliseconds between two settles, unless the round has another number. */
export const SETTLE_INTERVAL_MS = 6;

export class RandomConsumer {
  /** @type {import('./round.mjs').Round} */
  round;
  /** @type {string} */
  name;
  /** @type {import('../random.mjs').Random} */
  random;
  /** Resolves when its streams and settles have ended. @type {Promise<unknown>} */
  done;
  /** The tokens of the deliveries that it holds. */
  #held = new Set();
  /** Tokens that it does not hold any more. */
  #spent = [];
  #isHonest = false;
  #isOver = false;
  #streams = 0;
  #parks = 0;
  #relay;
  /** The record of its stream, the stream's call, and the client of the stream while it is open. */
  #current;
  #call;
  #client;

  /**
   * @param {object} t
   * @param {import('./round.mjs').Round} round
   * @param {string} name
   * @param {import('../random.mjs').Random} random
   */
  static async start(t, round, name, random) {
    const consumer = new RandomConsumer();
    consumer.round = round;
    consumer.name = name;
    consumer.random = random;
    consumer.#relay = await startRelay(t);
    consumer.done = Promise.all([consumer.#consumeAgain(), consumer.#settleAgain()]);
    return consumer;
  }

  /** From now on, settles each event as DONE, and ends no stream. */
  beHonest() {
    this.#isHonest = true;
  }

  stop() {
    this.#isOver = true;
    this.cancel();
    return this.done;
  }

  /** Cancels its stream. The consumer does not hold its events any more, and may try to keep them nevertheless. */
  cancel() {
    if (this.#current?.until !== Infinity || this.#current.left !== undefined) return;
    this.#current.left = this.round.records.moment();
    this.#call.cancel();
    if (this.random.below(3) !== 0) this.#forget([...this.#held]);
  }

  /** Breaks its connections. */
  lose({ isReset }) {
    for (const socket of this.#relay.sockets.splice(0)) isReset ? socket.resetAndDestroy() : socket.end();
  }

  /** Breaks its connections, and forgets what it holds. */
  crash() {
    this.lose({ isReset: true });
    this.#forget([...this.#held]);
  }

  async #consumeAgain() {
    const { round } = this;
    while (!this.#isOver) {
      const gateway = await round.stack.gateway();
      if (gateway === undefined) return;
      const leave = await round.gate.enter();
      if (!this.#isOver) await this.#consume(gateway, leave);
      leave();
      await pause(2);
    }
  }

  async #consume(gateway, leave) {
    const { random, round, name } = this;
    const { records, layer } = round;
    this.#relay.target = gateway.address;
    const client = connect(this.#relay.address);
    const held = [...this.#held];
    const max_unsettled = random.pick([1, 3, 10, 100]);
    const options = {
      onCall: (started) => (this.#call = started),
      ...(!this.#isHonest && random.below(6) === 0 && { deadlineMs: 100 + random.below(400) }),
    };
    this.#streams += 1;
    const about = { consumer: name, stream: `${name}${this.#streams}`, gateway: round.numberOf(gateway) };
    const stream = records.add('stream', { ...about, held, max_unsettled });
    this.#current = stream;
    const request = { subscription: SUBSCRIPTION, max_unsettled, held_tokens: held };
    try {
      for await (const message of streamOf(client, 'SubscriptionService/Consume', request, options)) {
        if (stream.left !== undefined) break;
        if (stream.joined === undefined) {
          Object.assign(stream, { joined: records.moment(), superseded: message.superseded_tokens ?? [] });
          this.#forget(stream.superseded);
          this.#client = client;
          leave();
        }
        for (const delivery of message.deliveries ?? []) this.#receive(stream, layer.deliver(delivery));
      }
      stream.ending = 'CANCELLED';
    } catch (error) {
      stream.ending = [nameOf(error.code), error.info?.reason].filter(Boolean).join(' ');
      if (error.code === code.DEADLINE_EXCEEDED) stream.left = records.moment();
    }
    records.end(stream);
    round.noteDeparture();
    this.#client = undefined;
    client.close();
  }

  #receive({ stream }, { event, token, delivery_count: count, reason, retried_after_parking: retried = false }) {
    const fields = { consumer: this.name, stream, event: event.event_id, token, count, retried };
    this.round.records.add('delivery', { ...fields, reason: reason.replace('DELIVERY_REASON_', '') });
    this.#held.add(token);
  }

  async #settleAgain() {
    const { round, random } = this;
    while (!this.#isOver && !round.stack.isOver) {
      const settled = this.#settleSome();
      settled.catch(() => {});
      // One settle in three overlaps with the next one.
      if (random.below(3) !== 0) await settled;
      await pause(random.below(this.#isHonest ? SETTLE_INTERVAL_MS : round.settleIntervalMs));
    }
  }

  async #settleSome() {
    const { random } = this;
    const held = [...this.#held];
    if (this.#isHonest) return held.length > 0 && this.#settle(held, 'DONE');
    const way = this.#way();
    if (way === 'late') {
      const spent = this.#spent.slice(-30);
      if (spent.length === 0) return;
      return this.#settle([random.pick(spent)], random.pick(['DONE', 'DONE', 'RETRY', 'PARK', 'EXTEND']));
    }
    if (held.length === 0) return;
    const one = [random.pick(held)];
    if (way === 'forget') return this.#forget(one);
    if (way === 'retry') return this.#settle(one, 'RETRY', random.pick([{}, {}, { retry_delay_ms: 20_000 }]));
    if (way === 'park') return this.#park(one);
    if (way === 'extend') return this.#settle(held, 'EXTEND');
    const some = held.slice(0, 1 + random.below(3));
    const settled = [this.#settle(some, 'DONE')];
    if (way === 'twice') settled.push(this.#settle(some, random.pick(['DONE', 'DONE', 'RETRY'])));
    return Promise.all(settled);
  }

  #way() {
    let dice = this.random.below(100);
    for (const [way, percent] of Object.entries(WAYS)) {
      if (dice < percent) return way;
      dice -= percent;
    }
    return 'twice';
  }

  #park(tokens) {
    this.#parks += 1;
    return this.#settle(tokens, 'PARK', { park_reason: `${this.name} cannot handle it (${this.#parks})` });
  }

  async #settle(tokens, outcome, more = {}) {
    const { round, random } = this;
    const leave = await round.gate.enter();
    const gateway = round.stack.up;
    if (gateway === undefined) return leave();
    const client = random.below(2) === 0 ? (this.#client ?? gateway.client) : gateway.client;
    const send = (request) => call(client, 'SubscriptionService/Settle', request);
    const request = { subscription: SUBSCRIPTION, tokens, outcome: `SETTLE_OUTCOME_${outcome}`, ...more };
    const settle = round.records.add('settle', { tokens, outcome, parkReason: more.park_reason });
    try {
      const { superseded_tokens: superseded = [] } = await round.layer.settle(request, send);
      round.records.end(settle, { superseded });
      this.#forget(outcome === 'EXTEND' ? superseded : tokens);
    } catch (error) {
      round.records.end(settle, { error: [nameOf(error.code), error.info?.reason].filter(Boolean).join(' ') });
    } finally {
      leave();
    }
  }

  #forget(tokens) {
    for (const token of tokens) if (this.#held.delete(token)) this.#spent.push(token);
  }
}
