// Somebody who reads the log from its beginning, as it grows, over any number of gateways, and remembers what came and
// the last cursor.
import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { code } from '../../clients/gateway.mjs';
import { EARLIEST } from '../subscriber.mjs';

const RETRY_MS = 10;
const nameOf = (number) => Object.keys(code).find((name) => code[name] === number);

/** An event as the judge takes it. Its cursor is not part of the content: a later version may write it differently. */
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
  events = [];
  /** Ends of calls that no subscriber should see. */
  faults = [];

  /**
   * @param {import('./stack.mjs').Stack} stack
   * @param {string} name
   * @param {() => boolean} leaves asked at each message: whether to end the call and start again at the cursor
   */
  constructor(stack, name, leaves = () => false) {
    Object.assign(this, { stack, name, leaves });
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
        // It asks for the next gateway, or for this one again.
        if (!this.#goesOn(gateway, error)) {
          this.isOver = true;
          return;
        }
      }
      await pause(RETRY_MS);
    }
  }

  async #read(gateway) {
    const onCall = (call) => (this.call = call);
    for await (const { events = [], cursor } of gateway.stream('EventService/Subscribe', this.#start, { onCall })) {
      this.events.push(...events.map(seen));
      this.#start = { cursor };
      if (this.leaves()) return;
    }
  }

  /** Whether the call ended in a way that subscribers are promised to get over. */
  #goesOn(gateway, { code: number, info, details }) {
    // Without a code it never began: the channel was closed.
    if (number === undefined || number === code.UNAVAILABLE) return true;
    // A process that was killed says nothing, and the library makes what it likes of that.
    if (info === undefined && gateway.isKilled) return true;
    this.faults.push(`its call ended with ${nameOf(number)} ${info?.reason ?? `without a reason: ${details}`}`);
    return number === code.CANCELLED;
  }
}
