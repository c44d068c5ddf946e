// When to repeat a call, and after which time.
import { setTimeout as pause } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { REREAD_MS } from './channel.js';
import type { Reason, StampgateError } from './errors.js';

const FIRST_BACKOFF_MS = 100;
const LONGEST_BACKOFF_MS = 5_000;

/** After so many TLS failures in succession, a call is not repeated, because repetitions seldom help. */
const MOST_TLS_FAILURES = 3;

/** The repetitions of one call. */
export class Backoff {
  #repetitions = 0;
  #tlsFailures = 0;

  constructor(
    readonly signal?: AbortSignal,
    readonly deadline = Infinity,
  ) {}

  /** Waits for the next try. Returns false if the error, the deadline or the signal ends the call. */
  async wait(error?: StampgateError): Promise<boolean> {
    if (error && !isRepeatable(error)) return false;
    this.#tlsFailures = error && isTlsFailure(error) ? this.#tlsFailures + 1 : 0;
    if (this.#tlsFailures === MOST_TLS_FAILURES) return false;
    // After a failed handshake, the next try uses the files that have replaced the earlier ones.
    const least = error?.retryDelayMs ?? (this.#tlsFailures > 0 ? REREAD_MS : 0);
    const delay = least + Math.random() * Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** this.#repetitions);
    this.#repetitions += 1;
    if (Date.now() + delay >= this.deadline) return false;
    await pause(delay, undefined, { signal: this.signal }).catch(() => {}); // rejects if the signal aborts
    return !this.signal?.aborted;
  }
}

const REPEATABLE = [status.UNAVAILABLE, status.UNKNOWN, status.DEADLINE_EXCEEDED];

/** Errors whose code is repeatable, but whose repetition cannot help. */
const FINAL: string[] = ['OUTCOME_NOT_STORED', 'IDEMPOTENCY_KEY_UNCERTAIN', 'DEADLINE_TOO_SHORT'] satisfies Reason[];

const isRepeatable = (error: StampgateError): boolean =>
  !FINAL.includes(error.reason) &&
  (REPEATABLE.includes(error.code) || error.retryDelayMs !== undefined || isBroken(error));

/** Codes with which the client's own library ends a call whose connection breaks. */
const BROKEN = [...REPEATABLE, status.INTERNAL, status.CANCELLED];

/** Whether the client's own library made the error because a connection broke or a deadline passed. */
const isBroken = ({ domain, code }: StampgateError): boolean => domain === '' && BROKEN.includes(code);

/** What Node.js and OpenSSL report if a handshake fails, and not if the connection ends before the handshake. */
const TLS_FAILURE = /certificate|\bSSL\b|\bERR_(SSL|TLS)/i;

/** Whether the connection was not established because its handshake failed. */
const isTlsFailure = (error: StampgateError): boolean => isBroken(error) && TLS_FAILURE.test(error.message);

/** How the messages of @grpc/grpc-js begin if a call has got no connection. */
const NO_CONNECTION =
  /^(round_robin: )?No (connection established|addresses resolved)|^Name resolution failed|^Failed to parse DNS address/;

/** How its message begins if the function of the token fails. */
const NO_TOKEN = /^Getting metadata from plugin failed/;

/** Its message if the deadline passes while a call waits for the name, for the token or for a connection. */
const STILL_WAITING = /^Deadline exceeded after .*[Ww]aiting for (name resolution|metadata filters|LB pick)$/;

/** Whether the deadline ended the call before the client's own library sent a byte. */
export const isCutOff = (error: StampgateError): boolean => isBroken(error) && STILL_WAITING.test(error.message);

/** Whether the client's own library ended the call before it sent a byte. */
const isUnsent = (error: StampgateError): boolean =>
  isCutOff(error) || NO_CONNECTION.test(error.message) || NO_TOKEN.test(error.message);

/** Errors of the gateway after which upstream may have acted. */
const OPEN: string[] = [
  'OUTCOME_UNKNOWN',
  'OUTCOME_NOT_STORED',
  'IDEMPOTENCY_KEY_UNCERTAIN',
  'ANSWER_TOO_LARGE',
] satisfies Reason[];

/** Whether a library refused a message that is too large: the request, or the response of a submit that has acted. */
const isTooLarge = ({ domain, code }: StampgateError): boolean => domain === '' && code === status.RESOURCE_EXHAUSTED;

/** Whether upstream may have carried out the submit that ended with this error. */
export const mayHaveActed = (error: StampgateError): boolean =>
  OPEN.includes(error.reason) || isTooLarge(error) || (isBroken(error) && !isUnsent(error));
