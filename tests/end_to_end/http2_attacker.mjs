// An HTTP/2 client over TLS that may break every rule of HTTP/2: it sends the frames that a test gives it, and records
// the frames that it receives.
import { connect as connectTcp } from 'node:net';
import { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { PREFACE, frame, literal } from './raw_http2.mjs';

/** The types of frames. */
export const DATA = 0;
export const HEADERS = 1;
export const PRIORITY = 2;
export const RST_STREAM = 3;
export const SETTINGS = 4;
export const PING = 6;
export const GOAWAY = 7;
export const WINDOW_UPDATE = 8;
export const CONTINUATION = 9;
/** Flags of frames. */
export const ACK = 1;
export const END_STREAM = 1;
export const END_HEADERS = 4;
/** The largest payload of a frame. */
export const MAX_FRAME = 16_384;
/** The code of a GOAWAY frame for a client that exceeds a limit. */
export const ENHANCE_YOUR_CALM = 11;

const CANCEL = Buffer.of(0, 0, 0, 8);
/** A setting of HTTP/2: how many bytes of each stream the other side may send before WINDOW_UPDATE. */
export const INITIAL_WINDOW_SIZE = 4;
/** The most bytes of messages that a write has. */
const PIECE_BYTES = 65_536;

/** The compressed headers of a gRPC call of `path`, with the fields `more`. */
export const headersOf = (path, more = {}) =>
  Buffer.concat(
    Object.entries({
      ':method': 'POST',
      ':scheme': 'https',
      ':path': path,
      ':authority': 'gateway.example',
      te: 'trailers',
      'content-type': 'application/grpc',
      ...more,
    }).flatMap(([name, value]) => [Buffer.of(0x10), literal(name), literal(value)]),
  );

/** The head of a gRPC message of this many bytes. */
export function messageHead(bytes) {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(bytes, 1);
  return head;
}

/** A frame SETTINGS with these values by their identifiers. */
export function settingsFrame(settings) {
  const payload = Object.entries(settings).map(([id, value]) => {
    const setting = Buffer.alloc(6);
    setting.writeUInt16BE(Number(id));
    setting.writeUInt32BE(value, 2);
    return setting;
  });
  return frame(SETTINGS, 0, 0, Buffer.concat(payload));
}

/** A frame WINDOW_UPDATE: the other side may send this many bytes more; on stream 0, of the whole connection. */
export function windowUpdate(stream, bytes) {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(bytes);
  return frame(WINDOW_UPDATE, 0, stream, payload);
}

/** One connection. */
export class Http2Attacker {
  /** @type {import('node:tls').TLSSocket} */
  socket;
  /** The number of frames that have arrived. */
  frames = 0;
  /** The GOAWAY frames that have arrived. @type {{code: number, text: string}[]} */
  goAways = [];
  /** The streams for which headers or a reset have arrived. @type {Set<number>} */
  heard = new Set();
  /** The streams that the gateway has ended. @type {Set<number>} */
  ended = new Set();
  /** The compressed headers that have ended each of these streams. @type {Map<number, Buffer>} */
  trailers = new Map();
  closed = false;
  #received = Buffer.alloc(0);
  #window = 65_535;
  #streamWindow = 65_535;
  #streamWindows = new Map();
  #nextStream = 1;
  /** @type {(value?: unknown) => void} */
  #onChange = () => {};

  /**
   * Connects, and sends the preface and settings. Resolves when the client's part of the handshake has ended, or the
   * gateway has closed the connection. With TLS 1.3, a client without a good certificate completes its part too.
   * @param {string} address "host:port"
   * @param {object} tls `ca`, and optionally `cert`, `key` and `localAddress`
   * @param {Record<number, number>} [settings] values by their identifiers
   */
  static async open(address, tls, settings = {}) {
    const attacker = await Http2Attacker.handshake(address, tls);
    await attacker.send(Buffer.concat([Buffer.from(PREFACE), settingsFrame(settings)]));
    return attacker;
  }

  /** Connects as open() does, and sends nothing after the handshake. */
  static handshake(address, tls) {
    const [host, port] = address.split(':');
    const attacker = new Http2Attacker();
    return new Promise((resolve) => {
      attacker.socket = connectTls(
        { host, port: Number(port), servername: 'gateway.example', ALPNProtocols: ['h2'], ...tls },
        () => resolve(attacker),
      );
      attacker.socket.on('error', () => {}); // The gateway may close the connection at any time.
      attacker.socket.on('data', (data) => attacker.#receive(data));
      attacker.socket.on('close', () => {
        attacker.closed = true;
        attacker.#onChange();
        resolve(attacker);
      });
    });
  }

  /** Sends bytes. Resolves when the system has accepted them, or the connection has ended. */
  send(bytes) {
    if (this.closed || this.socket.writableEnded) return Promise.resolve();
    return new Promise((resolve) => {
      this.socket.once('close', resolve);
      this.socket.write(bytes, () => {
        this.socket.off('close', resolve);
        resolve();
      });
    });
  }

  /** Returns the numbers of `count` streams that are not used yet. */
  streams(count) {
    const first = this.#nextStream;
    this.#nextStream += 2 * count;
    return Array.from({ length: count }, (_, index) => first + 2 * index);
  }

  /** Sends `bytes` repeatedly, until the gateway closes the connection, but no more than `times` times. */
  async flood(bytes, times) {
    for (let sent = 0; sent < times && !this.closed; ++sent) await this.send(bytes);
  }

  /**
   * Begins calls and resets them immediately, until the gateway closes the connection, but no more than `most` calls.
   * If `message` is given, sends the whole request before the reset.
   */
  async reset(path, most, message) {
    const begin = frame(HEADERS, END_HEADERS, 0, headersOf(path));
    const request = message
      ? frame(DATA, END_STREAM, 0, Buffer.concat([messageHead(message.length), message]))
      : Buffer.alloc(0);
    const call = Buffer.concat([begin, request, frame(RST_STREAM, 0, 0, CANCEL)]);
    const offsets = [0, ...(message ? [begin.length] : []), begin.length + request.length];
    const COUNT = 500;
    for (let sent = 0; sent < most && !this.closed; sent += COUNT) {
      const bytes = Buffer.alloc(COUNT * call.length, call);
      this.streams(COUNT).forEach((stream, index) => {
        for (const offset of offsets) bytes.writeUInt32BE(stream, index * call.length + offset + 5);
      });
      await this.send(bytes);
    }
  }

  /** Begins `count` calls, and sends all of each request except for its last byte; otherwise as call(). */
  sendHalf(path, count, requestBytes) {
    return this.call(path, count, Buffer.alloc(requestBytes), { missing: 1 });
  }

  /**
   * Begins `count` calls with the same request, as fast as the gateway's windows permit. Resolves to their streams when
   * all is sent, or the gateway has ended these calls or the connection.
   * @param {string} path
   * @param {number} count
   * @param {Buffer} request
   * @param {object} [options]
   * @param {number} [options.missing] the number of bytes at the end of each request that are not sent
   * @param {Record<string, string>} [options.fields] more header fields
   * @param {Buffer} [options.head] instead of the usual head of the message
   */
  async call(path, count, request, { missing = 0, fields, head = messageHead(request.length) } = {}) {
    const message = Buffer.concat([head, request]).subarray(0, head.length + request.length - missing);
    const headers = headersOf(path, fields);
    const streams = this.streams(count);
    const left = new Map(streams.map((stream) => [stream, 0]));
    for (const stream of streams) this.#streamWindows.set(stream, 0);
    const isBegun = new Set();
    while (left.size > 0 && !this.closed) {
      const changed = new Promise((resolve) => (this.#onChange = resolve));
      const frames = [];
      let [bytes, sent] = [0, 0];
      const flush = async () => {
        sent += bytes;
        bytes = 0;
        await this.send(Buffer.concat(frames.splice(0)));
      };
      for (const [stream, begin] of left) {
        if (this.ended.has(stream)) left.delete(stream);
        if (!isBegun.has(stream)) {
          isBegun.add(stream);
          frames.push(frame(HEADERS, END_HEADERS, stream, headers));
          bytes += headers.length;
        }
        const window = Math.min(this.#window, this.#streamWindow + this.#streamWindows.get(stream));
        const size = Math.min(message.length - begin, window, MAX_FRAME);
        if (size > 0 && left.has(stream)) {
          this.#window -= size;
          this.#streamWindows.set(stream, this.#streamWindows.get(stream) - size);
          const isLast = begin + size === message.length;
          if (isLast) left.delete(stream);
          else left.set(stream, begin + size);
          const flags = isLast && missing === 0 ? END_STREAM : 0;
          frames.push(frame(DATA, flags, stream, message.subarray(begin, begin + size)));
          bytes += size;
        }
        if (bytes >= PIECE_BYTES) await flush();
      }
      if (bytes > 0) await flush();
      if (sent === 0 && left.size > 0 && !this.closed) await changed;
    }
    return streams;
  }

  /** Ends this side of the connection. Resolves when the connection has ended. */
  leave() {
    if (this.closed) return Promise.resolve();
    return new Promise((resolve) => {
      this.socket.once('close', resolve);
      this.socket.end();
    });
  }

  destroy() {
    this.socket.destroy();
  }

  #receive(data) {
    this.#received = Buffer.concat([this.#received, data]);
    while (this.#received.length >= 9 && this.#received.length >= 9 + this.#received.readUIntBE(0, 3)) {
      const end = 9 + this.#received.readUIntBE(0, 3);
      const [type, flags, stream] = [this.#received[3], this.#received[4], this.#received.readUInt32BE(5)];
      this.#onFrame(type, flags, stream, this.#received.subarray(9, end));
      this.#received = this.#received.subarray(end);
    }
    this.#onChange();
  }

  #onFrame(type, flags, stream, payload) {
    this.frames += 1;
    if (type === HEADERS || type === RST_STREAM) this.heard.add(stream);
    if (type === RST_STREAM || ((type === HEADERS || type === DATA) && (flags & END_STREAM) !== 0))
      this.ended.add(stream);
    if (type === HEADERS && (flags & END_STREAM) !== 0) this.trailers.set(stream, Buffer.from(payload));
    if (type === GOAWAY) this.goAways.push({ code: payload.readUInt32BE(4), text: `${payload.subarray(8)}` });
    if (type === PING && (flags & ACK) === 0) this.send(frame(PING, ACK, 0, payload));
    if (type === SETTINGS) {
      for (let at = 0; at + 6 <= payload.length; at += 6) {
        if (payload.readUInt16BE(at) === INITIAL_WINDOW_SIZE) this.#streamWindow = payload.readUInt32BE(at + 2);
      }
    }
    if (type !== WINDOW_UPDATE) return;
    const more = payload.readUInt32BE(0);
    if (stream === 0) this.#window += more;
    else this.#streamWindows.set(stream, (this.#streamWindows.get(stream) ?? 0) + more);
  }
}

/** Resolves to the first bytes that a client with these options sends in a TLS handshake. */
export function clientHello(tls) {
  return new Promise((resolve) => {
    const wire = new Duplex({
      read() {},
      write(bytes) {
        resolve(Buffer.from(bytes));
        wire.destroy();
      },
    });
    const client = connectTls({ socket: wire, servername: 'gateway.example', ALPNProtocols: ['h2'], ...tls });
    client.on('error', () => {});
  });
}

/** Connects over TCP and sends `bytes`. Resolves to the socket when they are sent, or the connection has ended. */
export function connectAndSend(address, bytes) {
  const [host, port] = address.split(':');
  return new Promise((resolve) => {
    const socket = connectTcp(Number(port), host);
    socket.on('error', () => {});
    socket.on('close', () => resolve(socket));
    socket.on('data', () => {});
    socket.on('connect', () => socket.write(bytes, () => resolve(socket)));
  });
}

/**
 * Begins a TLS handshake as a client with these options, and stops when it has answered the gateway's certificate in
 * part. Resolves to the TCP socket.
 */
export function leaveHandshake(address, tls) {
  const [host, port] = address.split(':');
  return new Promise((resolve) => {
    const socket = connectTcp(Number(port), host);
    let writes = 0;
    const wire = new Duplex({
      read() {},
      write(bytes, encoding, done) {
        writes += 1;
        if (writes === 1) return socket.write(bytes, done);
        return socket.write(bytes.subarray(0, bytes.length / 2), () => resolve(socket));
      },
    });
    socket.on('data', (data) => wire.push(data));
    socket.on('error', () => {});
    socket.on('close', () => resolve(socket));
    const client = connectTls({ socket: wire, servername: 'gateway.example', ALPNProtocols: ['h2'], ...tls });
    client.on('error', () => {});
  });
}
