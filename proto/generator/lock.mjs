// The lock: the number of each field and enum value, and the area whose file has each message and enum. An element that
// is in the lock never changes its number, also if no operation uses it any more.

/**
 * @typedef {object} LockContent
 * @property {Object<string, Object<string, number>>} messages field numbers by message
 * @property {Object<string, Object<string, number>>} enums value numbers by enum
 * @property {Object<string, string>} areas the area whose file defines a message or enum
 */

/** A lock without elements. */
export const emptyLock = () => ({ messages: {}, enums: {}, areas: {} });

/** Returns the smallest number over all numbers of `taken` that is not in `reserved`. */
function nextNumber(taken, reserved) {
  let number = Math.max(0, ...taken) + 1;
  while (reserved.includes(number)) ++number;
  return number;
}

/** Returns the numbers that `names` have in `numbers`, and adds those that are missing. */
function assign(numbers, names, fixed, reserved) {
  const taken = () => Object.values(numbers).filter((number) => !reserved.includes(number));
  for (const name of names) numbers[name] ??= fixed[name] ?? nextNumber(taken(), reserved);
  return numbers;
}

/** Assigns numbers, and adds them to `content`. */
export class Lock {
  /** @type {Map<string, number> | undefined} */
  #places;

  /** @param {LockContent} content */
  constructor(content) {
    this.content = content;
  }

  /**
   * Returns the numbers of a message's fields. New fields have the next free numbers, in the order of `names`.
   * @param {Object<string, number>} [fixed] numbers that fields of these names have in every message
   */
  fields(message, names, fixed = {}) {
    const numbers = (this.content.messages[message] ??= {});
    return assign(numbers, names, fixed, Object.values(fixed));
  }

  /** Returns the numbers of an enum's values, which begin with 1. */
  values(name, names) {
    return assign((this.content.enums[name] ??= {}), names, {}, []);
  }

  /** Names and numbers of fields of `message` that are not among `names`. */
  retired(message, names) {
    return Object.entries(this.content.messages[message] ?? {}).filter(([name]) => !names.includes(name));
  }

  /** The place of an element among all elements in the order in which they were added. */
  order(name) {
    this.#places ??= new Map(
      [...Object.keys(this.content.enums), ...Object.keys(this.content.messages)].map((key, index) => [key, index]),
    );
    return this.#places.get(name) ?? Infinity;
  }
}
