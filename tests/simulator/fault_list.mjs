// The list of faults that tests have added. The first fault in the list that matches a request or a delivery applies to
// it.

export class FaultError extends Error {}

/**
 * @typedef {object} Kinds
 * @property {Record<string, object>} options each kind's options with their defaults; `undefined`: no default
 * @property {Record<string, string[]>} [choices] options with a fixed set of values
 * @property {Record<string, string[]>} [needed] required options of a kind
 * @property {string[]} match the names that a fault's `match` may contain, besides `nth`
 * @property {(fault: object) => void} [check] throws a FaultError if a fault breaks a rule that the tables cannot
 *     express
 */

export class FaultList {
  #entries = [];
  #kinds;

  /** @param {Kinds} kinds */
  constructor(kinds) {
    this.#kinds = kinds;
  }

  clear() {
    this.#entries = [];
  }

  /**
   * @param {object[]} faults see README.md in this folder
   * @throws {FaultError} if a fault is malformed; in this case none is added.
   */
  add(faults) {
    this.#entries.push(...asList(faults).map((fault) => entryOf(fault, this.#kinds)));
  }

  /** The number of faults that can still apply. */
  get pending() {
    return this.#entries.length;
  }

  /**
   * Finds the first fault that matches and applies now, counts its use, and returns its parts; an empty list if there
   * is none.
   * @param {(parts: object[], match: object) => boolean} fits
   */
  takeFirst(fits) {
    let taken = [];
    for (const entry of [...this.#entries]) {
      if (!fits(entry.parts, entry.match)) continue;
      entry.seen += 1;
      const isDue = entry.seen >= entry.nth;
      if (!isDue || taken.length > 0) continue;
      taken = entry.parts;
      entry.left -= 1;
      if (entry.left === 0) this.#entries.splice(this.#entries.indexOf(entry), 1);
    }
    return taken;
  }
}

export function part(parts, kind) {
  return parts.find((each) => each.kind === kind);
}

function asList(faults) {
  if (!Array.isArray(faults)) throw new FaultError('faults must be a list');
  return faults;
}

/**
 * @param {{match?: {nth?: number}, times?: number | 'always', kind: string}} fault
 * @param {object} kinds
 */
function entryOf({ match: { nth = 1, ...match } = {}, times = 1, ...fault }, kinds) {
  refuseUnknown(
    Object.keys(match).filter((name) => !kinds.match.includes(name)),
    'match',
  );
  if (times !== 'always' && !(Number.isInteger(times) && times > 0)) {
    throw new FaultError('times must be a positive number or "always"');
  }
  return { parts: partsOf(fault, kinds), match, nth, seen: 0, left: times === 'always' ? Infinity : times };
}

function partsOf({ kind, ...given }, kinds) {
  const { options, choices = {}, needed = {}, check = () => undefined } = kinds;
  const known = options[kind];
  if (known === undefined) throw new FaultError(`kind must be one of ${Object.keys(options).join(', ')}`);
  refuseUnknown(
    Object.keys(given).filter((name) => !(name in known)),
    kind,
  );
  for (const [name, words] of Object.entries(choices)) {
    if (name in known && name in given && !words.includes(given[name])) {
      throw new FaultError(`${kind}.${name} must be one of ${words.join(', ')}`);
    }
  }
  for (const name of needed[kind] ?? []) {
    if (given[name] === undefined) throw new FaultError(`${kind}.${name} is required`);
  }
  check({ kind, ...given });
  if (kind === 'together') return asList(given.faults).flatMap((fault) => partsOf(fault, kinds));
  return [{ kind, ...known, ...given }];
}

function refuseUnknown(names, where) {
  if (names.length > 0) throw new FaultError(`${where} has no option ${names.join(', ')}`);
}
