// What clients of the webhook port and of the admin port can make the gateway hold. The senders know the right path, and
// have no key.
import { ORGANIZATION } from '../../simulator/testing.mjs';
import { readFixture } from '../../simulator/server.mjs';
import { WebhookKeys } from '../../simulator/webhook_keys.mjs';
import { connectTo, delivery, requestOf } from '../raw_deliveries.mjs';

const MEBIBYTE = 1 << 20;
/** The largest body of a delivery. */
const MAX_BODY_BYTES = 4 * MEBIBYTE;

/** An address of loopback, other than that of the honest senders. */
const sourceOf = (number) => `127.0.0.${2 + (number % 200)}`;

/** Connects and sends bytes. Resolves to the socket when they are sent, or the connection has ended. */
function send(url, bytes, { source = 0, reads = true } = {}) {
  return new Promise((resolve) => {
    const socket = connectTo(url, { localAddress: sourceOf(source) });
    if (reads) socket.resume();
    socket.on('close', () => resolve(socket));
    socket.write(bytes, () => resolve(socket));
  });
}

/** Calls `begin` with the numbers from 0 to `count` - 1, concurrently. */
const each = (count, begin) => Promise.all(Array.from({ length: count }, (_, index) => begin(index)));

const bodyOf = (bytes, letter = 'x') => Buffer.from(`{"id":"${letter.repeat(bytes - 9)}"}`);

/** The request that delivers a body, signed with a key of the service. */
function requestWith(url, body, eventId = 'attack') {
  const { webhookKeys } = readFixture();
  const webhooks = { organizationId: ORGANIZATION, keys: new WebhookKeys(webhookKeys, 'service'), operator: 'service' };
  return requestOf(url, delivery({ webhooks }, { eventId, body }));
}

/** The same request with a body that the signature does not cover. */
function forged(url, bytes) {
  const request = requestWith(url, bodyOf(bytes));
  request[request.length - 3] = 0x79;
  return request;
}

const withPath = (url, path) => new URL(path, url).href;

/** The head of a request for this path. */
const headOf = (url, path, ...fields) =>
  Buffer.from([`POST ${path} HTTP/1.1`, `Host: ${new URL(url).host}`, ...fields, '', ''].join('\r\n'));
const right = (url, ...fields) => headOf(url, new URL(url).pathname, ...fields);

/** @type {Record<string, import('./kinds.mjs').Kind>} */
export const SENDER_KINDS = {
  unfinishedBodies: {
    holds: '200 bodies of 4 MiB without their last byte, from one address',
    begin: ({ webhookUrl: url }) => {
      const request = forged(url, MAX_BODY_BYTES).subarray(0, -1);
      return each(200, () => send(url, request));
    },
  },
  unfinishedBodiesOfManySources: {
    holds: '200 bodies of 4 MiB without their last byte, from 200 addresses',
    begin: ({ webhookUrl: url }) => {
      const request = forged(url, MAX_BODY_BYTES).subarray(0, -1);
      return each(200, (source) => send(url, request, { source }));
    },
  },
  announcedBodies: {
    holds: '200 bodies of 4 MiB that are announced, and do not come',
    begin: ({ webhookUrl: url }) =>
      each(200, (source) => send(url, right(url, `Content-Length: ${MAX_BODY_BYTES}`), { source })),
  },
  slowBodies: {
    holds: '100 bodies of which 1 kB arrives every 100 ms, from 10 addresses',
    async begin(scene) {
      const { webhookUrl: url } = scene;
      const request = forged(url, MAX_BODY_BYTES);
      const begin = MAX_BODY_BYTES / 2;
      const sockets = await each(100, (index) => send(url, request.subarray(0, begin), { source: index % 10 }));
      let sent = begin;
      scene.every(100, async () => {
        for (const socket of sockets) if (socket.writable) socket.write(request.subarray(sent, sent + 1000));
        sent += 1000;
      });
    },
  },
  forgedBodies: {
    holds: 'bodies of 4 MiB with a wrong signature, 32 at a time',
    async begin(scene) {
      const { webhookUrl: url } = scene;
      const request = forged(url, MAX_BODY_BYTES);
      const again = () => each(32, (source) => send(url, request, { source }));
      await again();
      scene.every(1000, again);
    },
  },
  bodiesOnAnotherPath: {
    holds: '100 bodies of 4 MiB on a path that does not exist',
    begin: ({ webhookUrl: url }) => {
      const request = forged(withPath(url, '/another'), MAX_BODY_BYTES).subarray(0, -1);
      return each(100, (source) => send(url, request, { source }));
    },
  },
  bodiesInChunks: {
    holds: '50 bodies in chunks of one byte',
    begin: ({ webhookUrl: url }) => {
      const request = Buffer.concat([
        right(url, 'Transfer-Encoding: chunked'),
        Buffer.alloc(6 * 100_000, '1\r\nx\r\n'),
      ]);
      return each(50, (source) => send(url, request, { source }));
    },
  },
  pipelinedDeliveries: {
    holds: '64 connections with 1,000 deliveries in one piece, whose answers nobody reads',
    begin: ({ webhookUrl: url }) => {
      const request = Buffer.concat(Array.from({ length: 1000 }, () => forged(url, 200)));
      return each(64, (source) => send(url, request, { source, reads: false }));
    },
  },
  pipelinedBodies: {
    holds: '16 connections with 4 bodies of 4 MiB in one piece, whose answers nobody reads',
    begin: ({ webhookUrl: url }) => {
      const request = Buffer.concat(Array.from({ length: 4 }, () => forged(url, MAX_BODY_BYTES)));
      return each(16, (source) => send(url, request, { source, reads: false }));
    },
  },
  idleSenders: {
    holds: '250 idle connections after a refused delivery',
    begin: ({ webhookUrl: url }) => each(250, (source) => send(url, forged(url, 200), { source: source % 4 })),
  },
  silentSenders: {
    holds: '400 connections that send nothing',
    begin: ({ webhookUrl: url }) => each(400, () => send(url, Buffer.alloc(0))),
  },
  unfinishedHeads: {
    holds: '250 heads of 8 kB without an end',
    begin: ({ webhookUrl: url }) => {
      const head = right(url, `X-A: ${'a'.repeat(8000)}`).subarray(0, -2);
      return each(250, (source) => send(url, head, { source }));
    },
  },
  endlessHeads: {
    holds: '50 heads of 10 MB',
    begin: ({ webhookUrl: url }) => {
      const head = right(url, ...Array.from({ length: 10_000 }, (_, index) => `X-${index}: ${'a'.repeat(1000)}`));
      return each(50, (source) => send(url, head, { source }));
    },
  },
  briefSenders: {
    holds: 'connections that make one delivery and leave, 250 a second',
    async begin(scene) {
      const { webhookUrl: url } = scene;
      const request = forged(url, 200);
      scene.every(200, () => each(50, async (source) => (await send(url, request, { source })).end()));
    },
  },
  unknownKeys: {
    holds: 'deliveries with unknown keys, 500 a second',
    async begin(scene) {
      const { webhookUrl: url } = scene;
      const request = requestWith(url, bodyOf(200)).toString('latin1');
      scene.every(200, () =>
        each(4, (source) => {
          const kid = () => scene.random.bytes(8).toString('hex');
          const requests = Array.from({ length: 25 }, () => request.replace('webhook-key-1', kid()));
          return send(url, Buffer.from(requests.join(''), 'latin1'), { source });
        }),
      );
    },
  },
  repeatedDeliveries: {
    holds: 'an overheard delivery of 3.9 MB, which is repeated on 64 connections',
    async begin(scene) {
      const { webhookUrl: url } = scene;
      const request = requestWith(url, bodyOf(3_900_000));
      const again = () => each(64, (source) => send(url, request, { source }));
      await again();
      scene.every(2000, again);
    },
  },
  silentClientsOfAdminPort: {
    holds: '300 connections to the admin port that send nothing',
    begin: ({ adminUrl }) => each(300, (source) => send(adminUrl, Buffer.alloc(0), { source })),
  },
  unreadMetrics: {
    holds: '64 connections to the admin port with 500 requests for metrics each, which nobody reads',
    begin: ({ adminUrl }) => {
      const request = Buffer.from('GET /metrics HTTP/1.1\r\nHost: gateway\r\n\r\n'.repeat(500));
      return each(64, (source) => send(adminUrl, request, { source, reads: false }));
    },
  },
  unfinishedHeadsOfAdminPort: {
    holds: '200 requests to the admin port without an end',
    begin: ({ adminUrl }) => {
      const head = Buffer.from(`GET /metrics HTTP/1.1\r\nHost: gateway\r\nX-A: ${'a'.repeat(100_000)}`);
      return each(200, (source) => send(adminUrl, head, { source }));
    },
  },
};
