// The callers in a history: each makes calls of one kind, one after the other, to one gateway process after another.
import { setTimeout as pause } from 'node:timers/promises';
import { code } from '../../clients/gateway.mjs';
import { ORGANIZATION } from '../../simulator/testing.mjs';
import { QUERY } from '../failures.mjs';

export const SUBMIT = 'OrganizationService/UpdateOrganizationName';
const DEADLINE_MS = 3000;
const RETRY_MS = 10;
const QUERIES = 16;
const nameOf = (number) => Object.keys(code).find((name) => code[name] === number);

/** Reasons of errors after which it is unknown whether upstream carried out the request. */
const OPEN = [
  'OUTCOME_UNKNOWN',
  'OUTCOME_NOT_STORED',
  'IDEMPOTENCY_KEY_UNCERTAIN',
  'CANCELLED',
  'UPSTREAM_ANSWER_UNREADABLE',
];

/**
 * What starts gateways, such as a Stack.
 * @typedef {object} Gateways
 * @property {() => Gateway | Promise<Gateway | undefined> | undefined} gateway the gateway as soon as one is running;
 *     undefined if there will be none
 * @property {boolean} [isOver] whether there will be none
 * @property {(ms: number) => number} [maxBehindMsSince] for callers only: see Stack.maxBehindMsSince()
 * @typedef {import('../harness.mjs').Gateway} Gateway
 */

export class Caller {
  #stop = false;
  #number = 0;
  /** The attempts, in the form that judge.mjs describes. */
  attempts = [];

  /**
   * @param {Gateways} stack asked for the gateway before each try
   * @param {import('./upstream_record.mjs').UpstreamRecord} upstream
   * @param {string} kind see judge.mjs
   * @param {number} index distinguishes this caller's requests from those of others
   * @param {() => void} answered called after each submit that ended with OK
   * @param {number} [intervalMs] the time between two requests
   */
  constructor(stack, upstream, kind, index, answered, intervalMs = 0) {
    this.stack = stack;
    this.upstream = upstream;
    this.kind = kind;
    this.index = index;
    this.answered = answered;
    this.intervalMs = intervalMs;
    this.done = this.#work();
  }

  /** Makes no new request. Resolves when the requests in progress have ended. */
  stop() {
    this.#stop = true;
    return this.done;
  }

  async #work() {
    // Makes many concurrent queries, so that the audit log writes many records together.
    const together = this.kind === 'query' ? QUERIES : 1;
    while (!this.#stop && !this.stack.isOver) {
      await Promise.all(Array.from({ length: together }, () => this.#request(this.#name())));
      if (together > 1) await pause(RETRY_MS);
      if (this.intervalMs > 0) await pause(this.intervalMs);
    }
  }

  #name() {
    this.#number += 1;
    return this.kind === 'equal' ? this.kind : `${this.kind}-${this.index}-${this.#number}`;
  }

  /** Makes one request, with as many tries as its kind allows. */
  async #request(request) {
    const { kind } = this;
    const repeats = kind === 'timestamped' || kind === 'keyed';
    const message = messageOf(request, kind);
    for (;;) {
      const gateway = await this.stack.gateway();
      if (gateway === undefined) return;
      const attempt = await this.#try(gateway, request, message);
      if (!repeats || attempt.outcome === 'ok' || attempt.outcome === 'failed') {
        // Waits before the next try after an error.
        if (attempt.outcome !== 'ok') await pause(RETRY_MS);
        return;
      }
      await pause(RETRY_MS);
    }
  }

  async #try(gateway, request, message) {
    const { kind, stack } = this;
    const begunMs = performance.now();
    const attempt = { request, kind, from: this.upstream.count, until: Infinity };
    const last = this.attempts.at(-1);
    if (last?.request === request) last.until = attempt.from;
    this.attempts.push(attempt);
    try {
      const method = kind === 'query' ? QUERY.method : SUBMIT;
      const { activity } = await gateway.call(method, message, { deadlineMs: DEADLINE_MS });
      Object.assign(attempt, { outcome: 'ok', code: 'OK', activityId: activity?.id });
      if (kind !== 'query') this.answered();
    } catch (error) {
      Object.assign(attempt, outcomeOf(error));
    }
    attempt.behindMs = stack.maxBehindMsSince(begunMs);
    return attempt;
  }
}

/** The message of a submit whose body contains `name`. */
export const submitOf = (name) => ({ organization_id: ORGANIZATION, parameters: { organization_name: name } });

function messageOf(request, kind) {
  if (kind === 'query') return QUERY.request;
  const message = submitOf(request);
  if (kind === 'timestamped') message.timestamp_ms = String(Date.now());
  if (kind === 'keyed') message.idempotency_key = request;
  return message;
}

function outcomeOf({ code: number, info }) {
  const outcome = () => {
    if (info === undefined) return 'unknown';
    if (info.domain !== 'stampgate') return 'failed';
    return OPEN.includes(info.reason) ? 'unknown' : 'refused';
  };
  return { outcome: outcome(), code: nameOf(number), reason: info?.domain === 'stampgate' ? info.reason : undefined };
}
