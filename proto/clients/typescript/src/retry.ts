// When to repeat a call, and after which time.
import { status } from '@grpc/grpc-js';
import type { StampgateError } from './errors.js';

const FIRST_BACKOFF_MS = 100;
const LONGEST_BACKOFF_MS = 5_000;

/** TLS files are read again when a call starts, at most once in this time. */
export const REREAD_MS = 1_000;

/** The time before repetition number `repetition`, which is 0 for the first one. `error` is the error of the call. */
export function backoffMs(repetition: number, error?: StampgateError): number {
  const jitter = Math.random();
  if (error?.retryDelayMs !== undefined) return error.retryDelayMs * (1 + 0.2 * jitter);
  // After a failed handshake, the repetition uses the files that have replaced the earlier ones.
  const shortest = error !== undefined && isTlsFailure(error) ? REREAD_MS : 0;
  return Math.max(shortest, Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** repetition) * (0.5 + 0.5 * jitter));
}

/** Waits. Returns early if the signal aborts. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end);
    if (signal?.aborted) end();
  });
}

/** Codes with which the client's own library ends a call whose connection breaks. */
const BROKEN = [status.UNAVAILABLE, status.UNKNOWN, status.DEADLINE_EXCEEDED, status.INTERNAL, status.CANCELLED];

/** Whether the client's own library made the error because a connection broke or a deadline passed. */
export const isBroken = ({ domain, code }: StampgateError): boolean => domain === '' && BROKEN.includes(code);

/** What Node.js reports if the connection ends before the handshake, as when the gateway starts again. */
const DISCONNECTED = /socket disconnected before/i;

/** What Node.js and OpenSSL report if a handshake fails. */
const TLS_FAILURE = /certificate|altname|self.signed|\bCERT_|\bERR_(TLS|SSL)|\bTLS\b|\bSSL\b|:SSL |ssl3?_/i;

/** Whether the connection was not established because its handshake failed. */
export const isTlsFailure = (error: StampgateError): boolean =>
  isBroken(error) && TLS_FAILURE.test(error.message) && !DISCONNECTED.test(error.message);

/** After so many TLS failures in succession, a call is not repeated, because repetitions seldom help. */
export const MOST_TLS_FAILURES = 3;
