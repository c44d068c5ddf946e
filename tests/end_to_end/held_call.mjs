// Streaming calls whose messages nobody takes: what is larger than a window stays with the gateway.
import { once } from 'node:events';
import http2 from 'node:http2';
import { encode } from '../clients/gateway.mjs';

const WINDOW_BYTES = 65_535;

/** A call on a connection of its own. */
export class HeldCall {
  /**
   * Resolves when the gateway has begun to answer, or has refused it.
   * @param {object} gateway
   * @param {string} method "Service/Method"
   * @param {object} request
   * @param {Record<string, string>} [metadata]
   */
  static async start(gateway, method, request, metadata) {
    const held = new HeldCall();
    const settings = { initialWindowSize: WINDOW_BYTES };
    held.session = http2.connect(`http://${gateway.address}`, { settings });
    held.session.on('error', () => {});
    held.call = held.session.request({
      ':method': 'POST',
      ':path': `/stampgate.v1.${method}`,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...metadata,
    });
    held.call.on('error', () => {});
    held.call.on('trailers', (trailers) => (held.trailers = trailers));
    const message = encode(method, request);
    const head = Buffer.alloc(5);
    head.writeUInt32BE(message.length, 1);
    held.call.end(Buffer.concat([head, message]));
    const [headers] = await once(held.call, 'response');
    // A call that is refused at once has no headers but its trailers.
    if (headers['grpc-status'] !== undefined) held.trailers = headers;
    return held;
  }

  /** The status that it has ended with, a number as text; nothing while it is held. */
  get status() {
    return this.trailers?.['grpc-status'];
  }

  /** Takes all that comes. Resolves when the call has ended to how many bytes there were, frames of messages included. */
  async finish() {
    let bytes = 0;
    this.call.on('data', (data) => (bytes += data.length));
    if (!this.call.closed) await once(this.call, 'close');
    this.session.close();
    return bytes;
  }

  leave() {
    this.session.destroy();
  }
}
