// Consumers of shared subscriptions in tests.
import { described } from './failures.mjs';

/** The section `subscriptions` of a config with one subscription, "payouts". `settings` are merged over the usual ones. */
export const subscriptionConfig = (settings = {}) => ({
  subscriptions: [
    { name: 'payouts', callers: ['loopback'], all_organizations: true, order_by: 'organization', ...settings },
  ],
});

/** A stream of Consume. */
export class Consumer {
  /** The first message. @type {{deliveries: any[], superseded_tokens: string[], settle_within_ms?: number}} */
  first;
  #messages;
  #deliveries = [];

  /** Consumes. Resolves when the first message, `first`, has arrived. */
  static async start(gateway, request = {}) {
    const consumer = new Consumer(gateway, { subscription: 'payouts', ...request });
    consumer.first = await consumer.message();
    return consumer;
  }

  constructor(gateway, request) {
    this.gateway = gateway;
    this.#messages = gateway.stream('SubscriptionService/Consume', request, { onCall: (call) => (this.call = call) });
  }

  /** The next message. Rejects with the error that ends the call. */
  async message() {
    const { value, done } = await this.#messages.next();
    if (done) throw new Error('the stream ended without an error');
    return { deliveries: [], superseded_tokens: [], ...value };
  }

  /** The next `count` deliveries. Further ones of the same messages are kept for the next call. */
  async deliveries(count) {
    while (this.#deliveries.length < count) this.#deliveries.push(...(await this.message()).deliveries);
    return this.#deliveries.splice(0, count);
  }

  /** Reads until an error ends the call. Resolves to the error, as described() returns it. */
  async failure() {
    try {
      for (;;) this.#deliveries.push(...(await this.message()).deliveries);
    } catch (error) {
      return described(error);
    }
  }

  /** Settles deliveries. Resolves to the tokens that were superseded. */
  async settle(deliveries, outcome = 'DONE', more = {}, gateway = this.gateway) {
    const { superseded_tokens = [] } = await gateway.call('SubscriptionService/Settle', {
      subscription: 'payouts',
      tokens: deliveries.map(({ token }) => token),
      outcome: `SETTLE_OUTCOME_${outcome}`,
      ...more,
    });
    return superseded_tokens;
  }

  /** Cancels the stream. */
  async leave() {
    this.call.cancel();
    await this.#messages.return();
  }
}

/** The state of the subscription. */
export const stateOf = async (gateway) =>
  (await gateway.call('SubscriptionService/GetSubscription', { subscription: 'payouts' })).subscription;
