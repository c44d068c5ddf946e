// A subscriber in a round of history_test: reads the event log from its beginning, and follows it as it grows. When a
// gateway process ends, continues with the next one. Keeps the received events and the last cursor.
import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { code } from '../../clients/gateway.mjs';
import { EARLIEST } from '../subscriber.mjs';

const RETRY_MS = 10;
const nameOf = (number) => Object.keys(code).find((name) => code[name] === number);

/** An event in the judge's form. Omits the cursor, which a later version of the gateway may write differently. */
export function seen({ event_id: eventId, body, signature, commit_time: time }) {
  const content = createHash('sha256')
    .update(body)
    .update(JSON.stringify([signature.key_id, signature.timestamp_ms, time.seconds, time.nanos]))
    .digest('hex');
  return { eventId, content };
}

export class Follower {
  #start = EARLIEST;
  #stop = false;
  #endedMs;
  events = [];
  /** Errors that must not end a subscriber's call. */
  faults = [];
  /** The times from the end of each call to the first message of the next one that had a message. */
  resumedAfterMs = [];

  /**
   * @param {import('./callers.mjs').Gateways} stack asked for the gateway before each call
   * @param {string} name
   * @param {() => boolean} leaves called for each message; if true, the subscriber ends the call and resumes at the
   *     cursor
   */
  constructor(stack, name, leaves = () => false) {
    this.stack = stack;
    this.name = name;
    this.leaves = leaves;
    this.done = this.#work();
  }

  stop() {
    this.#stop = true;
    this.call?.cancel();
    return this.done;
  }

  async #work() {
    for (;;) {
      const gateway = await this.stack.gateway();
      if (gateway === undefined || this.#stop) return;
      try {
        await this.#read(gateway);
      } catch (error) {
        if (this.#stop) return;
        // Continues with the next gateway, or with this one again.
        if (!this.#goesOn(gateway, error)) {
          this.isOver = true;
          return;
        }
      }
      this.#endedMs ??= performance.now();
      await pause(RETRY_MS);
    }
  }

  async #read(gateway) {
    const onCall = (call) => (this.call = call);
    for await (const { events = [], cursor } of gateway.stream('EventService/Subscribe', this.#start, { onCall })) {
      if (this.#endedMs !== undefined) this.resumedAfterMs.push(Math.round(performance.now() - this.#endedMs));
      this.#endedMs = undefined;
      this.events.push(...events.map(seen));
      this.#start = { cursor };
      if (this.leaves()) return;
    }
  }

  /** Whether a subscriber can resume after this error, as the gateway promises. Records a fault if not. */
  #goesOn(gateway, { code: number, info, details }) {
    // An error without a code means that the channel was closed before the call began.
    if (number === undefined || number === code.UNAVAILABLE) return true;
    // A killed process sends no error, so the client's library chooses one.
    if (info === undefined && gateway.isKilled) return true;
    this.faults.push(`its call ended with ${nameOf(number)} ${info?.reason ?? `without a reason: ${details}`}`);
    return number === code.CANCELLED;
  }
}
