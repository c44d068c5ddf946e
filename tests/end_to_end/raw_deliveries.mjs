// Webhook deliveries as bytes: genuine ones, what tests make of them, and a sender that is faster than the simulator's.
import { connect } from 'node:net';
import { draftOf, signed } from '../simulator/webhook_signature.mjs';
import { simpleActivity } from '../simulator/webhook_events.mjs';
import { HANG_MS } from './harness.mjs';

/**
 * A delivery as the service would sign it now.
 * @param {object} simulator
 * @param {{eventId: string, body?: Buffer}} event
 * @param {object} [changes] to what is signed; see Draft
 * @returns {{headers: [string, string][], body: Buffer}}
 */
export function delivery({ webhooks }, { eventId, body }, changes = {}) {
  const { organizationId, keys, operator } = webhooks;
  const event = { eventId, organizationId, type: 'ACTIVITY_UPDATES' };
  event.body = body ?? Buffer.from(simpleActivity({ eventId, organizationId, bytes: 300 }));
  return signed({ ...draftOf(event, { key: keys.signing, timestampMs: Date.now(), operator }), ...changes });
}

/** The bytes of a request that delivers `message` to `url`. */
export function requestOf(url, { headers, body }) {
  const { host, pathname } = new URL(url);
  const fields = [['Host', host], ...headers, ['Content-Length', String(body.length)]];
  const head = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return Buffer.concat([Buffer.from(`POST ${pathname} HTTP/1.1\r\n${head}\r\n`, 'latin1'), body]);
}

/** Connects to where `url` is, from `localAddress` if there is one; an error is no more than the end. */
export function connectTo(url, { localAddress } = {}) {
  const { hostname, port } = new URL(url);
  const socket = connect({ port: Number(port), host: hostname, localAddress });
  socket.on('error', () => {});
  return socket;
}

/**
 * Sends bytes and resolves to the statuses that are answered, and whether the gateway closed. That is waited for unless
 * `answers` have come, so many.
 */
export function exchangeBytes(url, bytes, { answers = Infinity } = {}) {
  return new Promise((resolve, reject) => {
    const socket = connectTo(url);
    const hang = setTimeout(() => reject(new Error('neither answered nor closed')), HANG_MS);
    const statuses = [];
    const end = (closed) => {
      clearTimeout(hang);
      socket.destroy();
      resolve({ statuses, closed });
    };
    readAnswers(socket, (status) => {
      statuses.push(status);
      if (statuses.length === answers) end(false);
    });
    socket.on('close', () => end(true));
    socket.write(bytes);
  });
}

/**
 * Sends requests over some connections, each its share, and none waits for the answer to the one before.
 * @param {string} url
 * @param {Buffer[]} requests
 * @returns {Promise<(number | undefined)[]>} the status of each; undefined if it got none
 */
export async function sendAll(url, requests, { connections = 16 } = {}) {
  const statuses = Array.from(requests, () => undefined);
  const share = (first) => {
    const numbers = requests.flatMap((_, index) => (index % connections === first ? [index] : []));
    if (numbers.length === 0) return undefined;
    return new Promise((resolve) => {
      const socket = connectTo(url);
      let answered = 0;
      readAnswers(socket, (status) => {
        statuses[numbers[answered]] = status;
        answered += 1;
        if (answered === numbers.length) socket.destroy();
      });
      socket.on('close', resolve);
      socket.write(Buffer.concat(numbers.map((number) => requests[number])));
    });
  };
  await Promise.all(Array.from({ length: connections }, (_, first) => share(first)));
  return statuses;
}

/** Calls `onStatus` for each answer that comes; the gateway's have no body. */
function readAnswers(socket, onStatus) {
  let text = '';
  socket.setEncoding('latin1');
  socket.on('data', (data) => {
    text += data;
    for (let end; (end = text.indexOf('\r\n\r\n')) >= 0; text = text.slice(end + 4)) {
      onStatus(Number(/^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1]));
    }
  });
}

/** How often each value occurs. */
export function tallyOf(values) {
  const tally = {};
  for (const value of values) tally[value] = (tally[value] ?? 0) + 1;
  return tally;
}
