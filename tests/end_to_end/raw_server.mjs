// An upstream that answers with any bytes at all, and a canary that nobody may connect to.
import { createServer } from 'node:net';

/**
 * Starts a server on a loopback port that closes with the test `t`.
 * @param {{after: (end: () => unknown) => void}} t
 * @param {(socket: import('node:net').Socket) => void} onRequest called when a whole HTTP request has come
 * @param {(socket: import('node:net').Socket) => void} [onConnection] called when a connection has come
 * @returns {Promise<{url: string, connections: number, requests: number}>} with counts that go on
 */
export async function startRawServer(t, onRequest, onConnection = () => {}) {
  const seen = { connections: 0, requests: 0 };
  const sockets = new Set();
  const server = createServer((socket) => {
    seen.connections += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {}); // The other side may leave at any time.
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
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  seen.url = `http://127.0.0.1:${server.address().port}`;
  return seen;
}

/** A server that stands where nobody may go: what counts is its `connections`. */
export const startCanary = (t) => startRawServer(t, () => {}, (socket) => socket.destroy());

function isWhole(bytes) {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return false;
  const [, length = '0'] = /\r\ncontent-length: *(\d+)/i.exec(bytes.subarray(0, end).toString('latin1')) ?? [];
  return bytes.length >= end + 4 + Number(length);
}
