// Random numbers that are the same in every run, so that a failure can be repeated. STAMPGATE_SEED chooses other
// numbers.
import { createHash } from 'node:crypto';

/** The seed of this run, which the test context prints. */
export function seedOf(t) {
  const seed = process.env.STAMPGATE_SEED ?? '1';
  t.diagnostic(`STAMPGATE_SEED=${seed}`);
  return seed;
}

export class Random {
  #count = 0;

  /** @param {object | string} t the test context that prints the seed, or a seed */
  constructor(t) {
    this.seed = typeof t === 'string' ? t : seedOf(t);
  }

  /** Random bytes, at most 32. */
  bytes(count) {
    this.#count += 1;
    return createHash('sha256').update(`${this.seed} ${this.#count}`).digest().subarray(0, count);
  }

  /** A random number from 0 to `end` - 1. */
  below(end) {
    return this.bytes(4).readUInt32BE() % end;
  }

  pick(list) {
    return list[this.below(list.length)];
  }
}
