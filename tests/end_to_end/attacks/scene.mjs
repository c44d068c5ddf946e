// What a kind of attack uses: connections to the gateway as one of the parties, and work that it repeats.
import { Http2Attacker } from '../http2_attacker.mjs';

/**
 * The ports of a gateway, and the TLS options of each party.
 * @typedef {{address: string, webhookUrl: string, adminUrl: string, tlsOf: Record<string, object>}} Place
 */

export class Scene {
  /**
   * @param {Place} place
   * @param {string[]} names the parties, as which the attack takes turns
   * @param {import('../random.mjs').Random} random
   */
  constructor({ address, webhookUrl, adminUrl, tlsOf }, names, random) {
    this.address = address;
    this.webhookUrl = webhookUrl;
    this.adminUrl = adminUrl;
    this.tlsOf = tlsOf;
    this.names = names;
    this.random = random;
  }

  /** The TLS options of the party whose turn is `index`. */
  tls(index = 0) {
    return this.tlsOf[this.names[index % this.names.length]];
  }

  /** Opens a connection of the party whose turn is `index`; see Http2Attacker.open(). */
  open(index, settings) {
    return Http2Attacker.open(this.address, this.tls(index), settings);
  }

  /** Repeats `work` at this interval. Omits a repetition while the one before it is still at work. */
  every(ms, work) {
    let isBusy = false;
    setInterval(async () => {
      if (isBusy) return;
      isBusy = true;
      await work();
      isBusy = false;
    }, ms);
  }
}
