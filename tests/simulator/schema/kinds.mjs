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

const messages = new Map();

/** The kind of a message. Its members are in the order of the schema. */
export function messageKind(name) {
  if (!messages.has(name)) messages.set(name, objectKind(name));
  return messages.get(name);
}

function objectKind(name) {
  const types = schema.messages[name];
  const members = Object.fromEntries(Object.entries(types).map(([member, type]) => [member, memberKind(type)]));
  const atMostOneOf = ONE_MEMBER.includes(name) ? Object.keys(types) : schema.oneofs[name];
  return { kind: 'object', members, ...(atMostOneOf && { atMostOneOf }) };
}

/** The kind of a member, from its type in the schema, such as `Wallet[]?` or `int32(6..9)`. */
function memberKind(text) {
  const [, type, min, max, number, presence] = /^(.*?)(?:\((\d+)\.\.(\d+)\))?(\[\]|\{\})?([?!])?$/.exec(text);
  const required = presence !== '?';
  const mayBeEmpty = presence !== '!';
  const one = SCALARS[type] ?? (type in schema.messages ? messageKind(type) : enumKind(type));
  if (number === '[]') return { kind: 'list', of: one, required, notEmpty: !mayBeEmpty };
  if (number === '{}') return { kind: 'map', of: one, required };
  const range = min !== undefined && { min: BigInt(min), max: BigInt(max) };
  return { ...one, ...range, required, ...(one.kind === 'string' && { mayBeEmpty }) };
}

function enumKind(name) {
  const [first, ...values] = schema.enums[name];
  return { kind: 'enum', values: NO_VALUE.test(first) ? values : [first, ...values] };
}

/** The kind of the intent or the result with this name in `Intent` or `Result`. */
export const intentKind = (name) => messageKind('Intent').members[name];
export const resultKind = (name) => messageKind('Result').members[name];
