// Makes one attempt at a delivery and reports the result. Does not follow redirects.
import http from 'node:http';
import https from 'node:https';
import { setTimeout as pause } from 'node:timers/promises';
import { FaultError, part } from './fault_list.mjs';
import { faultilySigned, repetitionOf } from './webhook_faults.mjs';
import { draftOf } from './webhook_signature.mjs';

/**
 * @typedef {object} Event
 * @property {string} eventId
 * @property {string} organizationId the header's value
 * @property {string} type the header's value
 * @property {Buffer} body
 */

/**
 * @typedef {object} Attempt
 * @property {string} url
 * @property {[string, string][]} headers upstream's own headers and Content-Type, as they were sent
 * @property {string} [fault] the kinds of the applied faults
 * @property {number} [status] the status of the receiver's response
 * @property {string} [error] why there is no response; "LOST" if a fault discarded it
 * @property {boolean} [isFinal] true if the fault cannot be applied to the delivery
 * @property {{count: number, body?: Buffer}} repetition how often a fault repeats the delivery, and with which body
 */

export class Courier {
  #underWay = new Set();

  /**
   * @param {object} parts
   * @param {import('./webhook_keys.mjs').WebhookKeys} parts.keys
   * @param {import('./webhook_faults.mjs').WebhookFaults} parts.faults for all attempts
   * @param {import('./holds.mjs').Holds} parts.holds
   * @param {string} parts.operator
   * @param {{timeoutMs: number}} parts.settings
   * @param {() => bigint} parts.nowMs
   * @param {string | Buffer} [parts.ca] authorities to trust instead of the system's
   */
  constructor({ keys, faults, holds, operator, settings, nowMs, ca }) {
    this.keys = keys;
    this.faults = faults;
    this.holds = holds;
    this.operator = operator;
    this.settings = settings;
    this.nowMs = nowMs;
    this.agents = {
      'http:': new http.Agent({ keepAlive: true, noDelay: true }),
      'https:': new https.Agent({ keepAlive: true, noDelay: true, ca }),
    };
  }

  /** Ends pending attempts with an error. */
  stop() {
    for (const request of [...this.#underWay]) request.destroy();
    for (const agent of Object.values(this.agents)) agent.destroy();
  }

  /**
   * @param {Event} event
   * @param {string} url
   * @param {number} number the number of the attempt at this delivery
   * @param {import('./webhook_faults.mjs').WebhookFaults} [ownFaults] for this delivery's attempts; if one matches, the
   *     faults in `parts.faults` do not apply
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
        // Node throws this error if it refuses to send a header. Only a fault can cause such a header.
        return resolve(Promise.reject(new FaultError(error.message)));
      }
      this.#underWay.add(request);
      request.once('close', () => this.#underWay.delete(request));
      request.on('error', (/** @type {NodeJS.ErrnoException} */ error) =>
        resolve({ error: error.code ?? error.message }),
      );
      request.on('timeout', () => request.destroy(Object.assign(new Error('timeout'), { code: 'TIMEOUT' })));
      request.on('response', (response) => {
        const { statusCode: status } = response;
        resolve(part(parts, 'answerLost') ? { status, error: 'LOST' } : { status });
        // The sender ignores the response's body, and whether it is complete.
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

  /** Sends one byte at each interval; sends the rest when a test releases the body. */
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
