// Streaming calls whose client does not read: messages beyond the flow-control window stay in the gateway.
import { once } from 'node:events';
import http2 from 'node:http2';
import { encode } from '../clients/gateway.mjs';

const WINDOW_BYTES = 65_535;

/** A call on a connection of its own. */
export class HeldCall {
  /** @type {import('node:http2').ClientHttp2Session} */
  session;
  /** @type {import('node:http2').ClientHttp2Stream} */
  call;
  /** @type {import('node:http2').IncomingHttpHeaders | undefined} */
  trailers;

  /**
   * Starts a call. Resolves when the gateway has begun to respond, or has refused the call.
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
    // The gateway answers a refused call with trailers only.
    if (headers['grpc-status'] !== undefined) held.trailers = headers;
    return held;
  }

  /** The gRPC status of the ended call, a number as text; undefined while the call is held. */
  get status() {
    return this.trailers?.['grpc-status'];
  }

  /** Reads to the end of the call. Resolves to the number of received bytes, including the frames of messages. */
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
