// What callers with valid certificates can make the gateway hold with calls: answers and events that they do not read,
// requests that grow when the gateway parses them, and calls that wait.
import { setTimeout as pause } from 'node:timers/promises';
import { encode } from '../../clients/gateway.mjs';
import {
  END_HEADERS, HEADERS, INITIAL_WINDOW_SIZE, RST_STREAM, headersOf, messageHead, windowUpdate,
} from '../http2_attacker.mjs'; // prettier-ignore
import { frame } from '../raw_http2.mjs';
import { EARLIEST, LATEST } from '../subscriber.mjs';
import { organizationWith } from './organizations.mjs';

const MEBIBYTE = 1 << 20;
/** The largest request that the gateway reads. */
const MAX_REQUEST_BYTES = MEBIBYTE;
/** The most calls on one connection. */
const MAX_STREAMS = 1000;
/** The most streams of events of one caller. */
const MAX_SUBSCRIBERS = 250;
const REFLECTION = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
const WATCH = '/grpc.health.v1.Health/Watch';

const CANCEL = Buffer.of(0, 0, 0, 8);

const pathOf = (method) => `/stampgate.v1.${method}`;

/** Settings of a client that reads no message. */
const READS_NOTHING = { [INITIAL_WINDOW_SIZE]: 0 };
/** Settings of a client that lets the gateway send as much as it has. */
const READS_ALL = { [INITIAL_WINDOW_SIZE]: 2 ** 31 - 1 };

/** Opens a connection that reads no message of the gateway. */
const openUnread = (scene, index) => scene.open(index, READS_NOTHING);

/** Opens a connection that reads the first message of a subscription, which has no events, and none of the next. */
const openBarelyRead = (scene, index) => scene.open(index, { [INITIAL_WINDOW_SIZE]: 1000 });

/** Opens a connection with large windows, whose socket nobody reads. */
async function openFull(scene, index) {
  const connection = await scene.open(index, READS_ALL);
  await connection.send(windowUpdate(0, 2 ** 31 - 1 - 65_535));
  connection.socket.pause();
  return connection;
}

/** Calls `begin` with the numbers from 0 to `count` - 1, concurrently. */
const each = (count, begin) => Promise.all(Array.from({ length: count }, (_, index) => begin(index)));

/** The arguments of Http2Attacker.call(): `count` calls of a method. */
const callOf = ({ method, request }, count) => [
  pathOf(method),
  count,
  Buffer.isBuffer(request) ? request : encode(method, request),
];

/**
 * Calls a method on several connections, whose identities take turns.
 * @param {import('./scene.mjs').Scene} scene
 * @param {{method: string, request: object | Buffer, connections?: number, open?: typeof openUnread, calls?: number}} how
 */
const callOn = (scene, { connections = 1, open = openUnread, calls, method, request }) =>
  each(connections, async (index) => (await open(scene, index)).call(...callOf({ method, request }, calls)));

const list = (answers) => ({
  method: 'PolicyService/ListPolicies',
  request: { organization_id: organizationWith(answers) },
});
const get = (answers) => ({
  method: 'PolicyService/GetPolicy',
  request: { organization_id: organizationWith(answers), policy_id: 'policy' },
});
const rename = (answers, more, organization_name = 'name') => ({
  method: 'OrganizationService/UpdateOrganizationName',
  request: { organization_id: organizationWith(answers), parameters: { organization_name }, ...more },
});
const prepare = ({ method, request }) => ({
  method: 'StampService/Prepare',
  request: { method, request: encode(method, request) },
});

/** A field of Protocol Buffers with a length. */
function field(number, bytes) {
  return Buffer.concat([varint(8 * number + 2), varint(bytes.length), bytes]);
}

function varint(value) {
  const bytes = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.of(...bytes, rest);
    bytes.push((rest % 128) | 128);
  }
}

const organization = (number, answers) => field(number, Buffer.from(organizationWith(answers)));

/** A ClientRequest whose parameters, field 3, are these bytes. Upstream answers late. */
const submitOf = (parameters) => Buffer.concat([organization(2, { delayMs: 10_000 }), field(3, parameters)]);

/** The parameters of ImportPrivateKey, with as many formats of addresses as fit. */
const manyFormats = submitOf(
  Buffer.concat([
    ...['user', 'name', 'bundle'].map((text, index) => field(1 + index, Buffer.from(text))),
    Buffer.of(4 << 3, 1),
    field(5, Buffer.alloc(MAX_REQUEST_BYTES - 200, 1)),
  ]),
);

/** The parameters of CreatePolicies, with as many empty policies as fit. */
const emptyPolicies = submitOf(Buffer.alloc((MAX_REQUEST_BYTES - 200) & ~1, Buffer.of(0x0a, 0)));

/** A request to GetPolicy with as many unknown fields as fit. */
const unknownFields = (() => {
  const unknown = Buffer.of(0xf8, 0x07, 0); // field 127
  return Buffer.concat([organization(1), Buffer.alloc(3 * Math.floor((MAX_REQUEST_BYTES - 200) / 3), unknown)]);
})();

/** A general query whose body is a JSON array with as many elements as fit. */
const manyNumbers = {
  organization_id: organizationWith({ delayMs: 10_000 }),
  path: 'whoami',
  parameters: `{"a":[${'0,'.repeat(MAX_REQUEST_BYTES / 2 - 200)}0]}`,
};

const SUBSCRIBE = { method: 'EventService/Subscribe', request: EARLIEST };

/** The largest filter of events. */
const largestFilter = (() => {
  const values = (letter) => Array.from({ length: 1000 }, (_, index) => String(index).padStart(128, letter));
  return { ...LATEST, filter: { organization_ids: values('o'), types: values('t') } };
})();

/** A message of server reflection that asks for all files of a symbol, in gRPC's form. */
const ask = (() => {
  const message = field(4, Buffer.from('stampgate.v1.ActivityService'));
  return Buffer.concat([messageHead(message.length), message]);
})();

/** Streams of reflection, each with several questions. */
async function reflect(connection, streams, questions) {
  const asked = Buffer.concat(Array.from({ length: questions }, () => ask));
  // The stream stays open: the last byte of one more message is missing.
  await connection.call(REFLECTION, streams, Buffer.alloc(10), {
    head: Buffer.concat([asked, messageHead(10)]),
    missing: 1,
  });
}

/** @type {Record<string, import('./kinds.mjs').Kind>} */
export const CALLER_KINDS = {
  unreadLargeAnswers: {
    holds: '256 answers of 3.9 MB that the caller does not read',
    begin: (scene) => callOn(scene, { ...list({ kilobytes: 3900 }), calls: 256 }),
  },
  unreadSmallAnswers: {
    holds: '2,000 answers of 300 kB that the caller does not read',
    begin: (scene) => callOn(scene, { ...list({ kilobytes: 300 }), connections: 2, calls: MAX_STREAMS }),
  },
  unreadAnswersOfFourCallers: {
    holds: '256 answers of 3.9 MB that four callers do not read',
    identities: 4,
    begin: (scene) => callOn(scene, { ...list({ kilobytes: 3900 }), connections: 4, calls: 64 }),
  },
  unreadTinyAnswers: {
    holds: '8,000 small answers that the caller does not read, on 8 connections',
    begin: (scene) => callOn(scene, { ...get(), connections: 8, calls: MAX_STREAMS }),
  },
  answersInSocket: {
    holds: '256 answers of 3.9 MB for a caller with large windows that does not read its sockets',
    begin: (scene) => callOn(scene, { ...list({ kilobytes: 3900 }), open: openFull, connections: 4, calls: 64 }),
  },
  errorsInSocket: {
    holds: '16,000 errors for a caller that does not read its sockets',
    begin: (scene) =>
      callOn(scene, { ...get(), request: Buffer.of(0xff), open: openFull, connections: 16, calls: MAX_STREAMS }),
  },
  slowlyReadAnswers: {
    holds: '64 answers of 3.9 MB that the caller reads slowly',
    async begin(scene) {
      const connection = await openUnread(scene, 0);
      const streams = await connection.call(...callOf(list({ kilobytes: 3900 }), 64));
      const more = Buffer.concat(streams.map((stream) => windowUpdate(stream, 100)));
      scene.every(500, () => connection.send(Buffer.concat([more, windowUpdate(0, 6400)])));
    },
  },
  tooLargeAnswers: {
    holds: '64 answers of 8.1 MB, which are refused as too large, again and again',
    async begin(scene) {
      const connection = await scene.open();
      const again = () => connection.call(...callOf(list({ kilobytes: 8100 }), 64));
      await again();
      scene.every(2000, again);
    },
  },
  splitAnswers: {
    holds: '64 answers of 3.9 MB with 1,300,000 elements each',
    begin: (scene) => callOn(scene, { ...list({ kilobytes: 3900, isSplit: true }), calls: 64 }),
  },
  slowUpstream: {
    holds: '1,000 queries, which upstream answers after 5 s, with deadlines of 6 s, again and again',
    async begin(scene) {
      const connections = await each(2, (index) => scene.open(index));
      const query = callOf(get({ delayMs: 5000 }), 500);
      const again = () =>
        Promise.all(connections.map((each) => each.call(...query, { fields: { 'grpc-timeout': '6S' } })));
      await again();
      scene.every(6000, again);
    },
  },
  cancelledQueries: {
    holds: 'queries that are cancelled while upstream works, 400 a second on 4 connections',
    async begin(scene) {
      const connections = await each(4, (index) => scene.open(index));
      scene.every(1000, () =>
        each(4, async (index) => {
          const streams = await connections[index].call(...callOf(list({ kilobytes: 3900, delayMs: 500 }), 100));
          await pause(200);
          await connections[index].send(Buffer.concat(streams.map((stream) => frame(RST_STREAM, 0, stream, CANCEL))));
        }),
      );
    },
  },
  detachedSubmits: {
    holds: '1,000 submits, whose callers leave while upstream works',
    begin: (scene) =>
      each(10, async (index) => {
        const connection = await scene.open(index);
        await connection.call(...callOf(rename({ delayMs: 5000 }), 100));
        await pause(300);
        connection.destroy();
      }),
  },
  waitingSubmits: {
    holds: '900 submits that wait for their activities',
    begin: (scene) => callOn(scene, { ...rename({ isPending: true }, { wait_until: 'WAIT_UNTIL_FINAL' }), calls: 900 }),
  },
  idempotencyKeys: {
    holds: '2,000 submits with idempotency keys',
    async begin(scene) {
      const connection = await scene.open();
      const name = scene.random.bytes(8).toString('hex');
      for (let number = 0; number < 2000; ++number) {
        await connection.call(...callOf(rename({}, { idempotency_key: `${name}-${number}` }), 1));
      }
    },
  },
  growingLists: {
    holds: '15 submits of 1 MB with 1,000,000 formats of addresses each',
    begin: (scene) => callOn(scene, { method: 'PrivateKeyService/ImportPrivateKey', request: manyFormats, calls: 15 }),
  },
  growingListsOfFourCallers: {
    holds: '60 submits of 1 MB of four callers with 1,000,000 formats of addresses each',
    identities: 4,
    begin: (scene) =>
      callOn(scene, { method: 'PrivateKeyService/ImportPrivateKey', request: manyFormats, connections: 4, calls: 15 }),
  },
  emptyElements: {
    holds: '64 submits of 1 MB with 500,000 empty elements each',
    begin: (scene) =>
      callOn(scene, { method: 'PolicyService/CreatePolicies', request: emptyPolicies, connections: 4, calls: 16 }),
  },
  unknownFields: {
    holds: '64 queries of 1 MB with 350,000 unknown fields each',
    begin: (scene) =>
      callOn(scene, { method: 'PolicyService/GetPolicy', request: unknownFields, connections: 4, calls: 16 }),
  },
  growingJson: {
    holds: '15 general queries of 1 MB with 500,000 numbers each',
    begin: (scene) => callOn(scene, { method: 'GeneralService/QueryOperation', request: manyNumbers, calls: 15 }),
  },
  compressedMessages: {
    holds: '16 messages of 1 MB that claim to be compressed',
    async begin(scene) {
      const connection = await scene.open();
      const head = messageHead(MAX_REQUEST_BYTES);
      head[0] = 1;
      const fields = { 'grpc-encoding': 'gzip' };
      await connection.call(pathOf('PolicyService/GetPolicy'), 16, Buffer.alloc(MAX_REQUEST_BYTES), { head, fields });
    },
  },
  unreadPrepares: {
    holds: '64 answers of 900 kB to Prepare that the caller does not read',
    begin: (scene) => callOn(scene, { ...prepare(rename({}, {}, 'x'.repeat(900_000))), connections: 4, calls: 16 }),
  },
  prepares: {
    holds: 'audit records of 20,000 calls of Prepare',
    async begin(scene) {
      const connection = await scene.open();
      for (let count = 0; count < 20_000; count += 500) await connection.call(...callOf(prepare(rename()), 500));
    },
  },
  unreadReflection: {
    holds: 'answers of server reflection that four callers do not read, on 1,000 streams',
    identities: 4,
    begin: (scene) => each(4, async (index) => reflect(await openUnread(scene, index), 250, 8)),
  },
  reflectionInSocket: {
    holds: 'answers of server reflection for a caller that does not read its socket',
    begin: async (scene) => reflect(await openFull(scene, 0), 250, 8),
  },
  unreadSubscriptions: {
    holds: '250 subscriptions to large events that the caller does not read',
    begin: (scene) => callOn(scene, { ...SUBSCRIBE, open: openBarelyRead, calls: MAX_SUBSCRIBERS }),
  },
  unreadSubscriptionsOfFourCallers: {
    holds: '1,000 subscriptions to large events that four callers do not read',
    identities: 4,
    begin: (scene) => callOn(scene, { ...SUBSCRIBE, open: openBarelyRead, connections: 4, calls: MAX_SUBSCRIBERS }),
  },
  unreadLists: {
    holds: '250 pages of large events that the caller does not read',
    begin: (scene) => callOn(scene, { method: 'EventService/ListEvents', request: EARLIEST, calls: MAX_SUBSCRIBERS }),
  },
  unreadBodies: {
    holds: '250 bodies of events that the caller does not read',
    begin: (scene) =>
      callOn(scene, { method: 'EventService/ReadEventBody', request: { event_id: 'large-0' }, calls: MAX_SUBSCRIBERS }),
  },
  unreadEvents: {
    holds: '250 large events that the caller does not read',
    begin: (scene) =>
      callOn(scene, { method: 'EventService/GetEvent', request: { event_id: 'large-0' }, calls: MAX_SUBSCRIBERS }),
  },
  largestFilters: {
    holds: '1,000 subscriptions of four callers with the largest filters',
    identities: 4,
    begin: (scene) =>
      callOn(scene, {
        method: 'EventService/Subscribe',
        request: largestFilter,
        connections: 4,
        calls: MAX_SUBSCRIBERS,
      }),
  },
  largeMetadata: {
    holds: '2,000 calls with 7 KB of metadata each, which send no message',
    begin: (scene) =>
      each(4, async (index) => {
        const connection = await scene.open(index);
        const headers = headersOf(pathOf('PolicyService/GetPolicy'), { x: 'x'.repeat(7000) });
        for (const stream of connection.streams(500))
          await connection.send(frame(HEADERS, END_HEADERS, stream, headers));
      }),
  },
  silentCalls: {
    holds: '8,000 calls that send no message, on 8 connections',
    begin: (scene) =>
      each(8, async (index) => {
        const connection = await scene.open(index);
        const headers = headersOf(pathOf('PolicyService/GetPolicy'));
        const frames = connection.streams(MAX_STREAMS).map((stream) => frame(HEADERS, END_HEADERS, stream, headers));
        await connection.send(Buffer.concat(frames));
      }),
  },
  healthWatchers: {
    holds: '2,000 watchers of the health, which do not read',
    begin: (scene) =>
      each(2, async (index) => (await openUnread(scene, index)).call(WATCH, MAX_STREAMS, Buffer.alloc(0))),
  },
  idleConnections: {
    holds: '500 idle connections of a caller',
    async begin(scene) {
      for (let count = 0; count < 500; count += 20) await each(20, () => scene.open());
    },
  },
  briefConnections: {
    holds: 'connections that make one call and leave, 50 a second',
    async begin(scene) {
      scene.every(200, () =>
        each(10, async () => {
          const connection = await scene.open();
          await connection.call(...callOf(get(), 1));
          await connection.leave();
        }),
      );
    },
  },
};
