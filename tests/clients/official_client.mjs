// Calls upstream's own client library for JavaScript, and returns the request that it sends. The tests compare this
// request with those of other programs.
import http from 'node:http';
import { once } from 'node:events';
import { load } from './packages.mjs';

const { TurnkeyClient: Client } = load('@turnkey/http');
const { ApiKeyStamper } = load('@turnkey/api-key-stamper');

/** The text of a method that posts its input to a path. Other methods only stamp the input. */
const POSTS = /this\.request\("(\/public\/v1\/\w+\/\w+)", input\)/;

const idle = new Client({ baseUrl: 'http://service.invalid' }, { stamp: () => undefined });

/** The names of the library's methods by the paths to which they post. @type {Map<string, string>} */
export const methods = new Map(
  Object.keys(idle)
    .map((name) => /** @type {const} */ ([POSTS.exec(String(idle[name]))?.[1], name]))
    .filter(([path]) => path !== undefined),
);

/** The client library, in front of a service, with an API key of the simulator's fixture. */
export function clientAt(baseUrl, { privateKey, publicKey }) {
  return new Client({ baseUrl }, new ApiKeyStamper({ apiPrivateKey: privateKey, apiPublicKey: publicKey }));
}

/** A request as it arrived: the exact bytes of its body, as text. @typedef {{path: string, body: string}} Sent */

/** The client library, in front of a server that records the requests and accepts all of them. */
export class OfficialClient {
  #arrived = [];

  async open() {
    this.server = http.createServer((request, response) => this.#take(request, response));
    await once(this.server.listen(0, '127.0.0.1'), 'listening');
    const { port } = /** @type {import('node:net').AddressInfo} */ (this.server.address());
    const stamper = { stamp: async () => ({ stampHeaderName: 'X-Stamp', stampHeaderValue: 'unused' }) };
    this.client = new Client({ baseUrl: `http://127.0.0.1:${port}` }, stamper);
  }

  async close() {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /**
   * Calls the method of the operation. Calls must not overlap.
   * @param {string} path of the operation
   * @param {object} input of the method
   * @returns {Promise<Sent>}
   */
  async send(path, input) {
    const method = methods.get(path);
    if (method === undefined) throw new Error(`the client library has no method for ${path}`);
    await this.client[method](input);
    return this.#arrived.pop();
  }

  async #take(request, response) {
    const chunks = await request.toArray();
    this.#arrived.push({ path: request.url, body: Buffer.concat(chunks).toString('utf8') });
    response.setHeader('Content-Type', 'application/json').end('{}');
  }
}
