// A server that answers with arbitrary bytes, and a canary, a server to which the gateway must never connect.
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Starts a server on a loopback port that closes with the test `t`.
 * @param {{after: (end: () => unknown) => void}} t
 * @param {(socket: import('node:net').Socket) => void} onRequest called when a complete HTTP request has arrived
 * @param {(socket: import('node:net').Socket) => void} [onConnection] called for each connection
 * @returns {Promise<{url: string, connections: number, requests: number}>} the counts are updated as connections and
 *     requests arrive
 */
export async function startRawServer(t, onRequest, onConnection = () => {}) {
  const seen = { url: '', connections: 0, requests: 0 };
  const sockets = new Set();
  const server = createServer((socket) => {
    seen.connections += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {}); // The client may disconnect at any time.
    onConnection(socket);
    let received = Buffer.alloc(0);
    socket.on('data', (data) => {
      received = Buffer.concat([received, data]);
      if (!isWhole(received)) return;
      received = Buffer.alloc(0);
      seen.requests += 1;
      onRequest(socket);
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  seen.url = `http://127.0.0.1:${port}`;
  return seen;
}

/** A server to which the gateway must never connect. Tests check that its `connections` is 0. */
export const startCanary = (t) =>
  startRawServer(
    t,
    () => {},
    (socket) => socket.destroy(),
  );

function isWhole(bytes) {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return false;
  const [, length = '0'] = /\r\ncontent-length: *(\d+)/i.exec(bytes.subarray(0, end).toString('latin1')) ?? [];
  return bytes.length >= end + 4 + Number(length);
}
