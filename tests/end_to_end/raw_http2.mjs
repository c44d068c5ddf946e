// Makes gRPC calls with raw HTTP/2 frames, to send header fields that client libraries refuse.
import { connect } from 'node:net';
import { HANG_MS } from './harness.mjs';

export const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const DATA = 0;
const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const GOAWAY = 7;
const CONTINUATION = 9;
const END_STREAM = 1;
const ACK = 1;
const END_HEADERS = 4;
const CANCEL = 8;
const MAX_FRAME = 16384;

/** An HTTP/2 frame. */
export function frame(type, flags, stream, payload = Buffer.alloc(0)) {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** A text in HPACK's form, without Huffman coding. */
export function literal(text) {
  const bytes = Buffer.from(text, 'latin1');
  if (bytes.length < 127) return Buffer.concat([Buffer.of(bytes.length), bytes]);
  const length = [127];
  for (let rest = bytes.length - 127; ; rest >>= 7) {
    length.push(rest < 128 ? rest : (rest & 127) | 128);
    if (rest < 128) return Buffer.concat([Buffer.from(length), bytes]);
  }
}

/** A HEADERS frame, and the CONTINUATION frames after it. */
function headerFrames(fields) {
  // Literal fields that are never indexed.
  const block = Buffer.concat(fields.flatMap(([name, value]) => [Buffer.of(0x10), literal(name), literal(value)]));
  const frames = [];
  for (let at = 0; at < block.length; at += MAX_FRAME) {
    const last = at + MAX_FRAME >= block.length;
    frames.push(
      frame(at === 0 ? HEADERS : CONTINUATION, last ? END_HEADERS : 0, 1, block.subarray(at, at + MAX_FRAME)),
    );
  }
  return Buffer.concat(frames);
}

/**
 * Calls a method on a connection of its own. Sends the header fields `fields` after those that every call needs.
 * @param {string} address "host:port"
 * @param {Buffer} message the request
 * @param {[string, string][]} fields names and values, in Latin-1
 * @param {object} [options]
 * @param {boolean} [options.compressed] whether the frame of gRPC says that the message is compressed
 * @param {'message' | 'nothing' | 'reset'} [options.sends] what the caller sends after the header fields: its message,
 *   only the end of its side, or RST_STREAM
 * @returns {Promise<'answered' | 'reset' | 'refused'>} 'refused': the connection was closed
 */
export function rawCall(address, method, message, fields, { compressed = false, sends = 'message' } = {}) {
  const [host, port] = address.split(':');
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8(compressed ? 1 : 0, 0);
  prefix.writeUInt32BE(message.length, 1);
  const all = [
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', `/stampgate.v1.${method}`],
    [':authority', address],
    ['te', 'trailers'],
    ['content-type', 'application/grpc'],
    ...fields,
  ];
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), host);
    const end = (how) => {
      socket.destroy();
      resolve(how);
    };
    let received = Buffer.alloc(0);
    socket.setTimeout(HANG_MS, () => reject(new Error('no answer')));
    socket.on('error', () => end('refused'));
    socket.on('close', () => end('refused'));
    socket.on('data', (data) => {
      received = Buffer.concat([received, data]);
      while (received.length >= 9 && received.length >= 9 + received.readUIntBE(0, 3)) {
        const [type, flags, stream] = [received[3], received[4], received.readUInt32BE(5)];
        received = received.subarray(9 + received.readUIntBE(0, 3));
        if (type === SETTINGS && (flags & ACK) === 0) socket.write(frame(SETTINGS, ACK, 0));
        if (type === GOAWAY) return end('refused');
        if (stream !== 1) continue;
        if (type === RST_STREAM) return end('reset');
        if ((type === HEADERS || type === DATA) && (flags & END_STREAM) !== 0) return end('answered');
      }
    });
    socket.write(PREFACE);
    socket.write(frame(SETTINGS, 0, 0));
    socket.write(headerFrames(all));
    if (sends === 'reset') {
      socket.end(frame(RST_STREAM, 0, 1, Buffer.of(0, 0, 0, CANCEL)));
      return resolve('reset');
    }
    socket.write(frame(DATA, END_STREAM, 1, sends === 'message' ? Buffer.concat([prefix, message]) : undefined));
  });
}
