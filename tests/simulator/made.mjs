// Makes values of the kinds that check.mjs validates. A value depends only on its kind, its path and the options, so
// that a test can expect it, and values at different paths differ, so that a test finds values in wrong places.
import { createHash } from 'node:crypto';
import { Raw } from './json.mjs';

/** Names, and endings of names, of texts that hold whole numbers. Other texts can have any form. */
const NUMBERS = [
  ...['amount', 'assets', 'balance', 'deadline', 'decimals', 'duration', 'limit', 'nonce', 'number', 'seconds'],
  ...['threshold', 'timestamp', 'value', 'Amount', 'At', 'Bps', 'Fee', 'Gas', 'Limit', 'Minutes', 'Ms', 'Nonce'],
  ...['Seconds', 'Usd', 'Value'],
];

/** The largest number in texts with these names, because upstream's documentation limits some of them. */
const LARGEST = { decimals: 255n, limit: 100n, Bps: 4000n };

/** The number of elements of a list, and of entries of a map. */
const ELEMENTS = 2;

/**
 * @typedef {object} Options
 * @property {'full' | 'least'} [extent] full: every member is set; least: only required members
 * @property {string} [also] the path of a member that is not required, without the indexes of lists; it is set too,
 *   with the members that contain it
 * @property {number} [choice] selects among the values of an enum and the members of a oneof; each number selects the
 *   next one
 */

/**
 * @param {object} kind
 * @param {string} path of the value, which decides the value
 * @param {Options} [options]
 * @returns {unknown} JSON, with numbers as `Raw`
 */
export function made(kind, path, { extent = 'full', also = '', choice = 0 } = {}) {
  return MAKERS[kind.kind](kind, path, { extent, also, choice });
}

const MAKERS = {
  string: (kind, path) => textAt(kind, path),
  boolean: () => true,
  ordinal: (kind, path) => new Raw(String(2n ** 31n + numberAt(path, 2n ** 31n))),
  integer: ({ min, max }, path) => new Raw(String(max - numberAt(path, (min < 0n ? max : max - min) + 1n))),
  number: (kind, path) => new Raw(`${numberAt(path, 1_000_000n)}.25`),
  decimal: ({ max = 2n ** 64n - 1n }, path) => String(max - numberAt(path, max / 2n)),
  enum: ({ values }, path, { choice }) => values[(Number(numberAt(path, 1000n)) + choice) % values.length],
  base64: (kind, path) => digestOf(path).subarray(0, 7).toString('base64'),
  any: (kind, path) => ({ '@type': 'type.googleapis.com/errors.v1.Detail', text: textAt({}, path) }),
  list: (kind, path, options) =>
    Array.from({ length: ELEMENTS }, (_, index) => made(kind.of, `${path}[${index}]`, options)),
  map: (kind, path, options) =>
    Object.fromEntries(
      Array.from({ length: ELEMENTS }, (_, index) => [`key-${index}`, made(kind.of, `${path}.key-${index}`, options)]),
    ),
  object: (kind, path, options) => {
    const { members, atMostOneOf = [] } = kind;
    // The choice is a number with several digits: the first one selects here, the others within the selected member.
    const inner = { ...options, choice: Math.floor(options.choice / (atMostOneOf.length || 1)) };
    const makeMember = (name) => made(members[name], `${path}.${name}`, atMostOneOf.includes(name) ? inner : options);
    return Object.fromEntries(membersOf(kind, path, options).map((name) => [name, makeMember(name)]));
  },
};

/** The names of the members that are set. */
function membersOf({ members, atMostOneOf = [] }, path, { extent, also, choice }) {
  const chosen = atMostOneOf[choice % atMostOneOf.length];
  return Object.keys(members).filter((name) => {
    if (contains(`${plain(path)}.${name}`, also)) return true;
    if (atMostOneOf.includes(name)) return extent === 'full' && name === chosen;
    return extent === 'full' || members[name].required;
  });
}

const plain = (path) => path.replaceAll(/\[\d+\]/g, '');

/** Whether the value at `path` is the value at `inner`, or contains it. */
const contains = (path, inner) => inner === path || inner.startsWith(`${path}.`);

/** The paths of all members of a kind that are not required, without the indexes of lists. */
export function* optionalPaths(kind, path) {
  if (kind.kind === 'list' || kind.kind === 'map') return yield* optionalPaths(kind.of, path);
  for (const [name, member] of Object.entries(kind.members ?? {})) {
    const inner = `${path}.${name}`;
    if (!member.required) yield inner;
    yield* optionalPaths(member, inner);
  }
}

/**
 * @param {{like?: string, minCharacters?: number}} kind
 * @param {string} path
 */
function textAt({ like, minCharacters = 0 }, path) {
  const [, name] = /(\w+)(?:\[\d+\])*$/.exec(path);
  const ending = NUMBERS.find((each) => isNamed(name, each));
  const isNumber = like === 'digits' || (like === undefined && ending !== undefined);
  if (isNumber) return String(1n + numberAt(path, LARGEST[ending] ?? 1_000_000n));
  return like ?? `${name}-${digestOf(path).toString('hex', 0, 4)}`.padEnd(minCharacters, '0');
}

/** Whether a name is the ending, or ends with it. An ending in lower case is a whole name. */
const isNamed = (name, ending) => name === ending || (/^[A-Z]/.test(ending) && name.endsWith(ending));

const digestOf = (path) => createHash('sha256').update(path).digest();

/** A number from 0 to limit - 1. */
function numberAt(path, limit) {
  return digestOf(path).readBigUInt64BE(0) % limit;
}
