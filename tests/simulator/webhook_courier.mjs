// Carries one attempt at a delivery to its receiver, and says what came of it. Redirects are not followed.
import http from 'node:http';
import https from 'node:https';
import { setTimeout as pause } from 'node:timers/promises';
import { FaultError, part } from './fault_list.mjs';
import { faultilySigned, repetitionOf } from './webhook_faults.mjs';
import { draftOf } from './webhook_signature.mjs';

/**
 * @typedef {object} Event
 * @property {string} eventId
 * @property {string} organizationId what the header says
 * @property {string} type what the header says
 * @property {Buffer} body
 */

/**
 * @typedef {object} Attempt
 * @property {string} url
 * @property {[string, string][]} headers the operator's and Content-Type, as they were sent
 * @property {string} [fault] the kinds
 * @property {number} [status] what the receiver answered
 * @property {string} [error] why there is no answer; "LOST" if there is one and a fault lost it
 * @property {boolean} [isFinal] the delivery cannot have the fault that it should have
 * @property {{count: number, body?: Buffer}} repetition how often a fault wants it again, and with what body
 */

export class Courier {
  #underWay = new Set();

  /**
   * @param {object} parts
   * @param {import('./webhook_keys.mjs').WebhookKeys} parts.keys
   * @param {import('./webhook_faults.mjs').WebhookFaults} parts.faults for anyone's attempts
   * @param {import('./holds.mjs').Holds} parts.holds
   * @param {string} parts.operator
   * @param {{timeoutMs: number}} parts.settings
   * @param {() => bigint} parts.nowMs
   * @param {string | Buffer} [parts.ca] whom to trust, in place of the system's authorities
   */
  constructor({ ca, ...parts }) {
    Object.assign(this, parts);
    this.agents = {
      'http:': new http.Agent({ keepAlive: true, noDelay: true }),
      'https:': new https.Agent({ keepAlive: true, noDelay: true, ca }),
    };
  }

  /** Ends what is under way, with an error. */
  stop() {
    for (const request of [...this.#underWay]) request.destroy();
    for (const agent of Object.values(this.agents)) agent.destroy();
  }

  /**
   * @param {Event} event
   * @param {string} url
   * @param {number} number which attempt at this delivery it is
   * @param {import('./webhook_faults.mjs').WebhookFaults} [ownFaults] for this delivery's attempts; they go first
   * @returns {Promise<Attempt>}
   */
  async attempt(event, url, number, ownFaults) {
    const { eventId, organizationId, type } = event;
    const fitting = { eventId, organizationId, type, attempt: number };
    const own = ownFaults?.take(fitting) ?? [];
    const parts = own.length > 0 ? own : this.faults.take(fitting);

    const fault = parts.length > 0 ? parts.map(({ kind }) => kind).join('+') : undefined;
    try {
      const message = this.#messageOf(event, parts);
      const result = await this.#post(url, message, parts);
      return { url, headers: message.headers, fault, ...result, repetition: repetitionOf(parts, event.body) };
    } catch (error) {
      if (!(error instanceof FaultError)) throw error;
      return { url, headers: [], fault, error: error.message, isFinal: true, repetition: { count: 0 } };
    }
  }

  #messageOf(event, parts) {
    const { operator, keys } = this;
    return faultilySigned(draftOf(event, { key: keys.signing, timestampMs: this.nowMs(), operator }), parts);
  }

  /** @returns {Promise<{status?: number, error?: string}>} */
  #post(url, { headers, body }, parts) {
    const { protocol, host } = new URL(url);
    const chunked = part(parts, 'chunked');
    const framing = chunked ? ['Transfer-Encoding', 'chunked'] : ['Content-Length', String(body.length)];
    return new Promise((resolve) => {
      let request;
      try {
        request = (protocol === 'https:' ? https : http).request(url, {
          method: 'POST',
          agent: this.agents[protocol],
          headers: [['Host', host], ...headers, framing].flat(),
          timeout: this.settings.timeoutMs,
        });
      } catch (error) {
        // Only a fault can ask for a header that Node does not send.
        return resolve(Promise.reject(new FaultError(error.message)));
      }
      this.#underWay.add(request);
      request.once('close', () => this.#underWay.delete(request));
      request.on('error', (error) => resolve({ error: error.code ?? error.message }));
      request.on('timeout', () => request.destroy(Object.assign(new Error('timeout'), { code: 'TIMEOUT' })));
      request.on('response', (response) => {
        const { statusCode: status } = response;
        resolve(part(parts, 'answerLost') ? { status, error: 'LOST' } : { status });
        // What the body says, and whether all of it comes, is the same to the sender.
        response.on('error', () => undefined).resume();
      });
      this.#sendBody(request, body, parts);
    });
  }

  #sendBody(request, body, parts) {
    const [truncated, slow, chunked] = ['truncatedBody', 'slowBody', 'chunked'].map((kind) => part(parts, kind));
    if (truncated) {
      const bytes = Math.max(1, truncated.bytes ?? body.length >> 1);
      return void request.write(body.subarray(0, bytes), () => request.destroy());
    }
    if (slow) return void this.#sendSlowly(request, body, slow);
    if (!chunked) return void request.end(body);
    for (let at = 0; at < body.length; at += chunked.bytes) request.write(body.subarray(at, at + chunked.bytes));
    request.end();
  }

  /** One byte after the other; the last one, or what is left, when it is released. */
  async #sendSlowly(request, body, { ms }) {
    const { released, abandoned } = this.holds.hold();
    let isReleased = false;
    const release = released.then(() => (isReleased = true));
    request.once('close', abandoned);
    let at = 0;
    for (; at < body.length - 1 && !isReleased; at += 1) {
      request.write(body.subarray(at, at + 1));
      await Promise.race([release, pause(ms, undefined, { ref: false })]);
    }
    await release;
    if (!request.destroyed) request.end(body.subarray(at));
  }
}
