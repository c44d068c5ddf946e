// Makes webhook deliveries as bytes, which tests can change, and sends them faster than the simulator can.
import { connect } from 'node:net';
import { draftOf, signed } from '../simulator/webhook_signature.mjs';
import { simpleActivity } from '../simulator/webhook_events.mjs';
import { HANG_MS } from './harness.mjs';

/**
 * A delivery as the service would sign it now.
 * @param {object} simulator
 * @param {{eventId: string, body?: Buffer}} event
 * @param {object} [changes] changes to the Draft before it is signed
 * @returns {{headers: [string, string][], body: Buffer}}
 */
export function delivery({ webhooks }, { eventId, body }, changes = {}) {
  const { organizationId, keys, operator } = webhooks;
  const content = body ?? Buffer.from(simpleActivity({ eventId, organizationId, bytes: 300 }));
  const event = { eventId, organizationId, type: 'ACTIVITY_UPDATES', body: content };
  return signed({ ...draftOf(event, { key: keys.signing, timestampMs: Date.now(), operator }), ...changes });
}

/** The bytes of a request that delivers `message` to `url`. */
export function requestOf(url, { headers, body }) {
  const { host, pathname } = new URL(url);
  const fields = [['Host', host], ...headers, ['Content-Length', String(body.length)]];
  const head = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return Buffer.concat([Buffer.from(`POST ${pathname} HTTP/1.1\r\n${head}\r\n`, 'latin1'), body]);
}

/**
 * Connects to the host of `url`, from `localAddress` if given. An error of the connection counts as its end.
 * @param {string} url
 * @param {{localAddress?: string}} [options]
 */
export function connectTo(url, { localAddress } = {}) {
  const { hostname, port } = new URL(url);
  const socket = connect({ port: Number(port), host: hostname, localAddress });
  socket.on('error', () => {});
  return socket;
}

/**
 * Sends bytes. Resolves after `answers` responses, or earlier if the gateway closes the connection: to the statuses of
 * the responses, and whether the gateway closed the connection.
 */
export function exchangeBytes(url, bytes, { answers = Infinity } = {}) {
  return new Promise((resolve, reject) => {
    const socket = connectTo(url);
    const hang = setTimeout(() => reject(new Error('the gateway neither answered nor closed the connection')), HANG_MS);
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
 * Sends requests over several connections. Does not wait for a response before it sends the next request.
 * @param {string} url
 * @param {Buffer[]} requests
 * @returns {Promise<(number | undefined)[]>} the status of each response; undefined if there is none
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

/** Calls `onStatus` for each received response. The gateway's responses have no body. */
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

/** The number of occurrences of each value. */
export function tallyOf(values) {
  const tally = {};
  for (const value of values) tally[value] = (tally[value] ?? 0) + 1;
  return tally;
}
