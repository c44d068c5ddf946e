// A TCP proxy between a driver and the gateway, which breaks connections where a case wants it.
import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/**
 * Where a connection breaks. Exactly one member is set.
 * @typedef {object} Break
 * @property {number} [connections] closes this number of new connections before a byte has passed
 * @property {number} [toGateway] passes this number of further bytes to the gateway, and then closes the connection
 * @property {number} [fromGateway] the same for bytes from the gateway
 * @property {true} [now] closes all connections now
 */

const destroy = (sockets) => sockets.forEach((socket) => socket.destroy());

export class Proxy {
  /** @type {string} */
  address;
  /** The number of connections that the proxy has broken. */
  resets = 0;
  #server;
  #pairs = new Set();
  #target;
  /** @type {Break} */
  #next = {};

  /**
   * Starts a proxy. `target` returns the gateway's current address for each connection.
   * @param {() => string} target
   */
  static async start(target) {
    const proxy = new Proxy();
    proxy.#target = target;
    proxy.#server = createServer({ pauseOnConnect: true }, (client) => proxy.#add(client));
    await once(proxy.#server.listen(0, '127.0.0.1'), 'listening');
    proxy.address = `127.0.0.1:${proxy.#server.address().port}`;
    return proxy;
  }

  close() {
    this.#server.close();
    this.#pairs.forEach(destroy);
  }

  /**
   * Breaks connections once, at this place.
   * @param {Break} place
   */
  breakAt(place) {
    if (place.now) this.#pairs.forEach((pair) => this.#break(pair));
    else this.#next = { ...place };
  }

  #break(pair) {
    this.resets += 1;
    destroy(pair);
  }

  #add(client) {
    client.on('error', () => {});
    if (this.#next.connections > 0) {
      this.#next.connections -= 1;
      this.#break([client]);
      return;
    }
    const [host, port] = this.#target().split(':');
    const gateway = connect({ host, port: Number(port) });
    const pair = [client, gateway];
    this.#pairs.add(pair);
    for (const [from, to, direction] of [
      [client, gateway, 'toGateway'],
      [gateway, client, 'fromGateway'],
    ]) {
      from.on('error', () => {});
      from.on('close', () => {
        this.#pairs.delete(pair);
        to.destroy();
      });
      from.on('data', (bytes) => this.#pass(bytes, to, pair, direction));
    }
    client.resume();
  }

  #pass(bytes, to, pair, direction) {
    const left = this.#next[direction];
    if (left === undefined || bytes.length < left) {
      if (left !== undefined) this.#next[direction] -= bytes.length;
      to.write(bytes);
      return;
    }
    this.#next = {};
    // The bytes must arrive before the connection breaks.
    to.write(bytes.subarray(0, left), () => this.#break(pair));
  }
}
