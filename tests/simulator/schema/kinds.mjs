// The messages of schema.json as the kinds of values that check.mjs validates and made.mjs makes.
import { readFileSync } from 'node:fs';

/** @type {import('./update.mjs').Schema} */
export const schema = JSON.parse(readFileSync(new URL('schema.json', import.meta.url), 'utf8'));

const digits = { pattern: /^[0-9]+(?:\.[0-9]+)?$/, form: 'a number, as a string', like: 'digits' };
const chain = (namespace, example) => ({
  kind: 'string',
  pattern: new RegExp(`^${namespace}:[-_a-zA-Z0-9]{1,64}$`),
  form: `a chain of the form ${namespace}:...`,
  like: example,
});

const SCALARS = {
  string: { kind: 'string' },
  decimal: { kind: 'string', ...digits },
  ethereumChain: chain('eip155', 'eip155:8453'),
  solanaChain: chain('solana', 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp'),
  bool: { kind: 'boolean' },
  int32: { kind: 'integer', min: -(2n ** 31n), max: 2n ** 31n - 1n },
  uint32: { kind: 'ordinal' },
  int64: { kind: 'decimal', min: -(2n ** 63n), max: 2n ** 63n - 1n },
  uint64: { kind: 'decimal' },
  double: { kind: 'number' },
  bytes: { kind: 'base64' },
  any: { kind: 'any' },
};

/** The messages in which at most one member is set, for all members. */
const ONE_MEMBER = ['Intent', 'Result'];

/** An enum's value 0 stands for an absent value. */
const NO_VALUE = /(?:^|_)(?:UNSPECIFIED|UNKNOWN)$/;

/** The kinds of all messages. */
export class Kinds {
  #messages = new Map();

  /**
   * @param {Set<string>} [without] the parts of the schema that these kinds do not have: paths, activity types, values of
   *   enums, and members as `Message.member`
   */
  constructor(without = new Set()) {
    this.without = without;
  }

  has(part) {
    return !this.without.has(part);
  }

  /** The kind of a message. Its members are in the order of the schema. */
  message(name) {
    if (!this.#messages.has(name)) this.#messages.set(name, this.#objectKind(name));
    return this.#messages.get(name);
  }

  /** The kind of the intent with this name in `Intent`. */
  intent(name) {
    return this.message('Intent').members[name];
  }

  /** The kind of the result with this name in `Result`. */
  result(name) {
    return this.message('Result').members[name];
  }

  #objectKind(message) {
    const names = Object.keys(schema.messages[message]).filter((name) => this.has(`${message}.${name}`));
    const members = Object.fromEntries(names.map((name) => [name, this.#memberKind(schema.messages[message][name])]));
    const atMostOneOf = ONE_MEMBER.includes(message) ? names : schema.oneofs[message];
    const newerNames = Object.entries(schema.names[message] ?? {}).filter(([name]) => this.has(`${message}.${name}`));
    return {
      ...{ kind: 'object', members },
      ...(atMostOneOf && { atMostOneOf }),
      ...(newerNames.length > 0 && { newerNames: Object.fromEntries(newerNames) }),
    };
  }

  /** The kind of a member, from its type in the schema, such as `Wallet[]?`, `string[](1..16)` or `int32(6..9)`. */
  #memberKind(text) {
    const [, type, number, min, max, presence] = /^(.*?)(\[\]|\{\})?(?:\((\d*)\.\.(\d*)\))?([?!])?$/.exec(text);
    const required = presence !== '?';
    const mayBeEmpty = presence !== '!';
    const limits = (least, most, make) => ({ ...(min && { [least]: make(min) }), ...(max && { [most]: make(max) }) });
    const one = SCALARS[type] ?? (type in schema.messages ? this.message(type) : this.#enumKind(type));
    if (number === '[]') return { kind: 'list', of: one, required, ...limits('minElements', 'maxElements', Number) };
    if (number === '{}') return { kind: 'map', of: one, required };
    if (type === 'decimal' && (min || max)) return { kind: 'decimal', required, ...limits('min', 'max', BigInt) };
    if (one.kind === 'string') {
      return { ...one, required, mayBeEmpty, ...limits('minCharacters', 'maxCharacters', Number) };
    }
    return { ...one, required, ...limits('min', 'max', BigInt) };
  }

  #enumKind(name) {
    const values = schema.enums[name].filter((value, index) => index > 0 || !NO_VALUE.test(value));
    return { kind: 'enum', values: values.filter((value) => this.has(value)) };
  }
}
