// A server between a client and a gateway that passes each connection on, so that a test can break connections.
import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/**
 * Starts a relay to `target`. `sockets` are those to the gateway, and `target` can be changed for later connections.
 * @param {object} t
 * @param {string} [target]
 */
export async function startRelay(t, target) {
  /** @type {import('node:net').Socket[]} */
  const sockets = [];
  const relay = { target, sockets, address: '' };
  const open = new Set();
  const server = createServer((client) => {
    const [host, port] = relay.target.split(':');
    const gateway = connect(Number(port), host);
    sockets.push(gateway);
    for (const socket of [client, gateway]) {
      open.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => open.delete(socket));
    }
    gateway.on('close', () => client.destroy());
    client.pipe(gateway).pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  relay.address = `127.0.0.1:${port}`;
  return relay;
}
