// Attacks with HTTP/2 frames: calls that are reset, requests that are sent in part, headers without end, frames without a
// call, and random bytes.
import { until } from '../processes.mjs';
import { frame, literal } from '../raw_http2.mjs';
import {
  CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, MAX_FRAME, PING, PRIORITY, SETTINGS, WINDOW_UPDATE, headersOf,
  messageHead,
} from '../http2_attacker.mjs'; // prettier-ignore

const PATH = '/stampgate.v1.PolicyService/GetPolicy';
const REFLECTION = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
const MEBIBYTE = 1 << 20;

/** Calls `begin` for each connection concurrently: `open(n)` opens connection n. */
const onEach = (count, begin) => (open) =>
  Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const attacker = await open(index);
      await begin(attacker);
      return attacker;
    }),
  );

/** Sends `first`, and then `frames` a thousand times in one piece, until the gateway closes the connection. */
const floodOf = (frames, first = Buffer.alloc(0)) =>
  onEach(1, async (attacker) => {
    await attacker.send(first);
    await attacker.flood(Buffer.concat(Array.from({ length: 1000 }, () => frames)), 100);
  });

const opened = frame(HEADERS, END_HEADERS, 1, headersOf(PATH));

/** Headers of 4 KB that are stored in the table of the connection, and references to them. */
const bomb = Buffer.concat([headersOf(PATH), Buffer.of(0x40), literal('bomb'), literal('x'.repeat(4000))]);
const references = Buffer.alloc(MAX_FRAME - bomb.length, 0x80 | 62);

/**
 * An attack.
 * @typedef {import('../http2_attacker.mjs').Http2Attacker} Attacker
 *
 * @typedef {object} Flood
 * @property {string} name
 * @property {string} title
 * @property {(open: (index: number) => Promise<Attacker>) => Promise<Attacker[]>} run resolves to the
 *     connections, which may still be open
 * @property {string[]} [limits] the limits that the attack exceeds, if a caller makes it: the reasons in the metric. The
 *     gateway then ends the connections with ENHANCE_YOUR_CALM
 * @property {number} [requests] the number of requests on each connection: the gateway must end them if it does not end
 *     the connection
 * @property {number} [identities] of how many identities the connections are, in turn; default: 1
 * @property {boolean} [isEndedByGrpc] whether gRPC itself can end the connections
 */

/** @type {Flood[]} */
export const FLOODS = [
  {
    name: 'resets',
    title: '100,000 calls that are reset at once, on 20 connections',
    run: onEach(20, (attacker) => attacker.reset(PATH, 20_000)),
    limits: ['resets', 'bytes', 'bytes_of_identity'],
  },
  {
    name: 'resetsOfOneIdentity',
    title: '300,000 calls that are reset at once, on 60 connections',
    run: onEach(60, (attacker) => attacker.reset(PATH, 20_000)),
    limits: ['resets', 'bytes', 'bytes_of_identity'],
  },
  {
    name: 'resetWholeRequests',
    title: '25,000 whole requests that are reset at once, on 5 connections',
    run: onEach(5, (attacker) => attacker.reset(PATH, 20_000, Buffer.alloc(0))),
    limits: ['resets', 'bytes', 'bytes_of_identity'],
  },
  {
    name: 'halfLargeRequests',
    title: '64 half-sent requests of 8 MiB on one connection',
    run: onEach(1, (attacker) => attacker.sendHalf(PATH, 64, 8 * MEBIBYTE)),
    limits: ['bytes'],
    requests: 64,
  },
  {
    name: 'halfLargeRequestsOfOneIdentity',
    title: '64 half-sent requests of 8 MiB on 16 connections',
    run: onEach(16, (attacker) => attacker.sendHalf(PATH, 4, 8 * MEBIBYTE)),
    limits: ['bytes', 'bytes_of_identity'],
    requests: 4,
  },
  {
    name: 'halfRequests',
    title: '512 half-sent requests of 1 MiB on one connection',
    run: onEach(1, (attacker) => attacker.sendHalf(PATH, 512, MEBIBYTE)),
    limits: ['bytes'],
  },
  {
    name: 'halfRequestsOfOneIdentity',
    title: '1,024 half-sent requests of 1 MiB on 8 connections',
    run: onEach(8, (attacker) => attacker.sendHalf(PATH, 128, MEBIBYTE)),
    limits: ['bytes', 'bytes_of_identity'],
  },
  {
    name: 'halfRequestsOfFourIdentities',
    title: '1,024 half-sent requests of 1 MiB on 8 connections of four identities',
    run: onEach(8, (attacker) => attacker.sendHalf(PATH, 128, MEBIBYTE)),
    limits: ['bytes', 'bytes_of_identity', 'bytes_of_all'],
    identities: 4,
  },
  {
    name: 'endlessHeaders',
    title: 'headers of 16 MB that do not end',
    run: floodOf(
      Buffer.concat([frame(CONTINUATION, 0, 1, Buffer.alloc(MAX_FRAME, 0x82))]),
      frame(HEADERS, 0, 1, Buffer.alloc(MAX_FRAME, 0x82)),
    ),
    limits: ['header_bytes'],
  },
  {
    name: 'reflectionStreams',
    title: '1,000 streams of server reflection',
    run: onEach(1, async (attacker) => {
      const streams = attacker.streams(1000);
      const ask = Buffer.concat([messageHead(2), Buffer.of(0x3a, 0)]); // list_services
      for (const each of streams) {
        await attacker.send(
          Buffer.concat([frame(HEADERS, END_HEADERS, each, headersOf(REFLECTION)), frame(DATA, 0, each, ask)]),
        );
      }
      await until(
        () => attacker.closed || streams.every((each) => attacker.heard.has(each)),
        'each stream has a response',
      );
    }),
  },
  {
    name: 'continuations',
    title: 'a flood of CONTINUATION with one byte each',
    run: floodOf(frame(CONTINUATION, 0, 1, Buffer.of(0x82)), frame(HEADERS, 0, 1, headersOf(PATH))),
    limits: ['control_frames', 'header_bytes'],
  },
  {
    // gRPC ends the connection, without GOAWAY, before the gateway counts enough of them.
    name: 'emptyContinuations',
    title: 'a flood of empty CONTINUATION',
    run: floodOf(frame(CONTINUATION, 0, 1), frame(HEADERS, 0, 1, headersOf(PATH))),
    limits: ['control_frames'],
    isEndedByGrpc: true,
  },
  {
    name: 'headerBombs',
    title: '1,000 requests with a header of 4 KB 12,000 times, which HPACK compresses to 12 KB',
    run: onEach(1, async (attacker) => {
      for (const [index, each] of attacker.streams(1000).entries()) {
        const block = index === 0 ? Buffer.concat([bomb, references]) : Buffer.concat([headersOf(PATH), references]);
        await attacker.send(frame(HEADERS, END_HEADERS | END_STREAM, each, block));
      }
    }),
    limits: ['header_bytes', 'bytes'],
    requests: 1000,
  },
  {
    // Often gRPC ends the connection before the gateway counts enough of them. gRPC then closes the socket at once, so
    // the client does not always receive the GOAWAY.
    name: 'pings',
    title: 'a flood of PING',
    run: floodOf(frame(PING, 0, 0, Buffer.alloc(8))),
    limits: ['control_frames'],
    isEndedByGrpc: true,
  },
  { name: 'settings', title: 'a flood of SETTINGS', run: floodOf(frame(SETTINGS, 0, 0)), limits: ['control_frames'] },
  {
    name: 'emptyData',
    title: 'a flood of empty DATA',
    run: floodOf(frame(DATA, 0, 1), opened),
    limits: ['control_frames'],
  },
  {
    name: 'priorities',
    title: 'a flood of PRIORITY',
    run: floodOf(frame(PRIORITY, 0, 1, Buffer.of(0, 0, 0, 3, 0))),
    limits: ['control_frames'],
  },
  {
    name: 'windowUpdates',
    title: 'a flood of WINDOW_UPDATE',
    run: floodOf(frame(WINDOW_UPDATE, 0, 0, Buffer.of(0, 0, 0, 1))),
    limits: ['control_frames'],
  },
  {
    name: 'pathsWithoutSlash',
    title: '200 calls whose path has no slash at its beginning',
    run: onEach(1, async (attacker) => {
      for (const each of attacker.streams(200)) {
        await attacker.send(frame(HEADERS, END_HEADERS | END_STREAM, each, headersOf(PATH.slice(1))));
      }
    }),
    requests: 200,
  },
];

/** A frame of any type and length, for any stream. Half of the frames with headers have valid ones. */
export function randomFrame(random) {
  const type = random.below(12);
  const stream = random.below(3) === 0 ? random.below(2 ** 31) : random.below(20);
  if (type === HEADERS && random.below(2) === 0) {
    return frame(
      HEADERS,
      END_HEADERS | random.below(2),
      stream,
      headersOf(random.pick([PATH, REFLECTION, '', '/', '//', '*'])),
    );
  }
  const lengths = [0, 4, 5, 6, 8, random.below(32), 32 * random.below(20)];
  const length = random.pick(lengths);
  const payload = Buffer.concat(Array.from({ length: Math.ceil(length / 32) }, () => random.bytes(32))).subarray(
    0,
    length,
  );
  return frame(type, random.below(256), stream, payload);
}
