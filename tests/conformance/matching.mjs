// Compares what a driver printed with what a case expects. Expectations are plain values and these matchers.

/** A part of an expectation that more than one value meets. */
class Matcher {
  /**
   * @param {string} description
   * @param {(actual: any) => boolean} accepts
   */
  constructor(description, accepts) {
    this.description = description;
    this.accepts = accepts;
  }
}

/** A value that an earlier step has saved. */
class Saved {
  /** @param {string} name */
  constructor(name) {
    this.name = name;
  }
}

/** Any value. The member must exist. */
export const any = new Matcher('any value', (actual) => actual !== undefined);

/** A text that the pattern matches. */
export const text = (pattern) =>
  new Matcher(`a text like ${pattern}`, (actual) => typeof actual === 'string' && pattern.test(actual));

/** A number of at least `least` and at most `most`. */
export const between = (least, most) =>
  new Matcher(`a number from ${least} to ${most}`, (actual) => actual >= least && actual <= most);

/** A value that meets one of these expectations. */
export const either = (...expectations) =>
  new Matcher(`one of ${shown(expectations)}`, (actual) =>
    expectations.some((expected) => difference(expected, actual) === undefined),
  );

/** An object with these members, and possibly others. */
export const partly = (members) => new Partly(members);

class Partly {
  constructor(members) {
    this.members = members;
  }
}

/** The value that an earlier step has saved under this name; in commands and in expectations. */
export const saved = (name) => new Saved(name);

/** Returns `value` with the saved values in the places of saved(). */
export function filled(value, values) {
  if (value instanceof Saved) {
    if (!values.has(value.name)) throw new Error(`no earlier step saves ${value.name}`);
    return values.get(value.name);
  }
  if (value instanceof Partly) return new Partly(filled(value.members, values));
  if (Array.isArray(value)) return value.map((member) => filled(member, values));
  if (!isPlain(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, filled(member, values)]));
}

const isPlain = (value) =>
  value !== null && typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype;

/** The beginning of the value's JSON text. */
export const shown = (value) => {
  const json = value === undefined ? 'nothing' : JSON.stringify(value);
  return json.length > 500 ? `${json.slice(0, 500)}...` : json;
};

/**
 * Returns the first difference between the expected and the actual value, or undefined if there is none.
 * @param {any} expected
 * @param {any} actual
 * @param {string} [place] the path of the value
 * @returns {string | undefined}
 */
export function difference(expected, actual, place = '') {
  const differs = (what) => `${place || 'the line'}: expected ${what}, got ${shown(actual)}`;
  if (expected instanceof Matcher) return expected.accepts(actual) ? undefined : differs(expected.description);
  const isPartial = expected instanceof Partly;
  const members = isPartial ? expected.members : expected;
  if (members === null || typeof members !== 'object') return members === actual ? undefined : differs(shown(members));
  if (actual === null || typeof actual !== 'object' || Array.isArray(members) !== Array.isArray(actual)) {
    return differs(isPartial ? `an object with ${Object.keys(members).join(', ')}` : shown(members));
  }
  const names = isPartial ? Object.keys(members) : new Set([...Object.keys(members), ...Object.keys(actual)]);
  for (const name of names) {
    const found = difference(members[name], actual[name], place === '' ? name : `${place}.${name}`);
    if (found !== undefined) return found;
  }
  return undefined;
}
