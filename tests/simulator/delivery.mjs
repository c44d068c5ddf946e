// Sends a response, unchanged or damaged by a fault.
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { part } from './fault_list.mjs';

const CHUNK = Buffer.alloc(64 * 1024, 'x');

/**
 * @param {import('node:http').ServerResponse} response
 * @param {import('./answers.mjs').Answer} answer
 * @param {object[]} parts of the request's fault
 * @param {import('./capture.mjs').Capture} capture
 */
export async function deliver(response, answer, parts, capture) {
  const slow = part(parts, 'slow');
  if (slow?.part === 'all') await linger(slow, response, capture);
  if (response.destroyed) return;
  if (part(parts, 'readAndClose')) return void response.socket?.destroy();

  const truncated = part(parts, 'truncated');
  const oversized = part(parts, 'oversized');
  const isChunked = truncated?.chunked || oversized?.chunked;
  const length = oversized?.bytes ?? answer.body.length;
  response.writeHead(answer.status, isChunked ? answer.headers : { ...answer.headers, 'Content-Length': length });

  if (oversized) return sendPadding(response, oversized.bytes);
  if (truncated) return sendSome(response, answer.body, truncated.bytes ?? Math.floor(answer.body.length / 2));
  if (slow?.part !== 'body') return void response.end(answer.body);
  const half = Math.floor(answer.body.length / 2);
  response.write(answer.body.subarray(0, half));
  await linger(slow, response, capture);
  response.end(answer.body.subarray(half));
}

async function linger({ ms, untilReleased }, response, capture) {
  const { released, abandoned } = capture.hold();
  response.once('close', abandoned);
  if (untilReleased) return released;
  const waiting = new AbortController();
  await Promise.race([released, pause(ms, undefined, { signal: waiting.signal }).catch(() => undefined)]);
  waiting.abort();
  abandoned();
}

/** Sends only the first `bytes` bytes of the announced body, and ends the connection. */
function sendSome(response, body, bytes) {
  response.write(body.subarray(0, bytes), () => response.socket?.destroy());
}

/** Sends a JSON document of exactly this size without holding it in memory. */
async function sendPadding(response, bytes) {
  const [head, tail] = ['{"padding":"', '"}'];
  const closed = once(response, 'close').catch(() => undefined);
  response.write(head);
  for (let left = Math.max(0, bytes - head.length - tail.length); left > 0 && !response.destroyed;) {
    const size = Math.min(left, CHUNK.length);
    left -= size;
    if (!response.write(CHUNK.subarray(0, size))) {
      await Promise.race([once(response, 'drain').catch(() => undefined), closed]);
    }
  }
  response.end(tail);
}
