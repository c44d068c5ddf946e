// Validates a request body against the specification and reports every violation with its path. The descriptions never
// quote a value. So if a test finds a value in a log or an error, the value does not come from here.
import { Raw, memberPath } from './json.mjs';
import { freshness } from './specification.mjs';

const UINT64_MAX = 18_446_744_073_709_551_615n;
const UINT32_MAX = 4_294_967_295n;
const WHOLE_NUMBER = /^(?:0|-?[1-9][0-9]{0,77})$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/**
 * @param {object} kind the specification of the value
 * @param {unknown} value as json.mjs parses it
 * @param {bigint} nowMs
 * @returns {{field: string, description: string}[]} the violations; empty if the value is as specified.
 */
export function check(kind, value, nowMs) {
  const violations = [];
  visit(kind, value, '', { nowMs, violations });
  return violations;
}

const CHECKS = {
  string: checkString,
  boolean: (kind, value, path, context) => {
    if (typeof value !== 'boolean') refuse(context, path, 'must be true or false');
  },
  ordinal: (kind, value, path, context) => checkInteger({ min: 0n, max: UINT32_MAX, ...kind }, value, path, context),
  integer: checkInteger,
  number: (kind, value, path, context) => {
    if (!(value instanceof Raw)) refuse(context, path, 'must be a number');
  },
  base64: (kind, value, path, context) => {
    if (typeof value !== 'string' || !BASE64.test(value)) refuse(context, path, 'must be a string in Base64');
  },
  enum: (kind, value, path, context) => {
    if (typeof value !== 'string') refuse(context, path, 'must be a string');
    else if (!kind.values.includes(value)) refuse(context, path, `must be one of ${kind.values.join(', ')}`);
  },
  decimal: checkDecimal,
  recentTime: checkRecentTime,
  any: () => undefined,
  list: checkList,
  map: checkMap,
  object: checkObject,
};

function visit(kind, value, path, context) {
  CHECKS[kind.kind](kind, value, path, context);
}

function refuse({ violations }, field, description) {
  violations.push({ field, description });
}

function checkString(kind, value, path, context) {
  if (typeof value !== 'string') return refuse(context, path, 'must be a string');
  if (value === '' && kind.required && !kind.mayBeEmpty) refuse(context, path, 'is required and must not be empty');
  const { minCharacters = 0, maxCharacters = Infinity } = kind;
  const characters = [...value].length;
  if (characters < minCharacters) refuse(context, path, `must be at least ${minCharacters} characters`);
  if (characters > maxCharacters) refuse(context, path, `must be at most ${maxCharacters} characters`);
  if (kind.pattern !== undefined && !kind.pattern.test(value)) refuse(context, path, `must be ${kind.form}`);
}

function checkInteger({ min, max }, value, path, context) {
  const number = value instanceof Raw && WHOLE_NUMBER.test(value.text) ? BigInt(value.text) : undefined;
  if (number === undefined || number < min || number > max) {
    refuse(context, path, `must be a whole number from ${min} to ${max}`);
  }
}

function checkDecimal({ min = 0n, max = UINT64_MAX, orWord, unbounded }, value, path, context) {
  if (typeof value !== 'string') return refuse(context, path, 'must be a string that holds a number');
  if (orWord !== undefined && value === orWord) return;
  const number = WHOLE_NUMBER.test(value) ? BigInt(value) : undefined;
  if (number === undefined || number < min || (!unbounded && number > max)) {
    const range = unbounded ? `a whole number or ${orWord}` : `a whole number from ${min} to ${max}`;
    refuse(context, path, `must be ${range}, as a string`);
  }
}

function checkRecentTime(kind, value, path, context) {
  if (typeof value !== 'string') return refuse(context, path, 'must be a string that holds milliseconds');
  if (!WHOLE_NUMBER.test(value)) return refuse(context, path, 'must be a whole number of milliseconds, as a string');
  const ageMs = context.nowMs - BigInt(value);
  if (ageMs >= freshness.maxAgeMs) refuse(context, path, 'must be less than one hour old');
  if (-ageMs > freshness.maxAheadMs) refuse(context, path, 'must be at most five minutes ahead');
}

function checkList(kind, value, path, context) {
  if (!Array.isArray(value)) return refuse(context, path, 'must be a list');
  const { minElements = 0, maxElements = Infinity } = kind;
  if (value.length < minElements) refuse(context, path, `must have at least ${minElements} elements`);
  if (value.length > maxElements) refuse(context, path, `must have at most ${maxElements} elements`);
  value.forEach((element, index) => visit(kind.of, element, `${path}[${index}]`, context));
}

function checkMap(kind, value, path, context) {
  if (!isObject(value)) return refuse(context, path, 'must be an object');
  for (const [name, inner] of Object.entries(value)) visit(kind.of, inner, memberPath(path, name), context);
}

const isObject = (value) =>
  value !== null && typeof value === 'object' && !Array.isArray(value) && !(value instanceof Raw);

/** The name that a value has for the member of a kind: its newer name if the value has that one. */
function nameIn({ newerNames = {} }, earlier, value) {
  return Object.keys(newerNames).find((name) => newerNames[name] === earlier && Object.hasOwn(value, name)) ?? earlier;
}

function checkObject(kind, value, path, context) {
  if (!isObject(value)) return refuse(context, path, 'must be an object');
  const { newerNames = {} } = kind;
  for (const name of Object.keys(value)) {
    if (kind.tolerated?.includes(name)) continue;
    const known = Object.hasOwn(newerNames, name) ? newerNames[name] : name;
    if (!Object.hasOwn(kind.members, known)) refuse(context, memberPath(path, name), 'is not a member of this request');
    else if (known !== name && Object.hasOwn(value, known))
      refuse(context, memberPath(path, name), `must not be given beside ${known}, which is the same member`);
  }
  for (const [earlier, member] of Object.entries(kind.members)) {
    const name = nameIn(kind, earlier, value);
    const inner = value[name];
    // Some of upstream's client libraries write null for every unset member.
    if (inner !== undefined && inner !== null) visit(member, inner, memberPath(path, name), context);
    else if (member.required) refuse(context, memberPath(path, name), 'is required');
  }
  const given = (kind.atMostOneOf ?? []).filter((name) => (value[name] ?? null) !== null);
  if (given.length > 1) refuse(context, path, `must hold only one of ${given.join(' and ')}`);
}

/** The value with its members in the order of the specification, without absent members. */
export function inOrder(kind, value) {
  if (kind.kind === 'list') return value.map((element) => inOrder(kind.of, element));
  if (kind.kind !== 'object') return value;
  const members = {};
  for (const [earlier, member] of Object.entries(kind.members)) {
    const name = nameIn(kind, earlier, value);
    if ((value[name] ?? null) !== null) members[name] = inOrder(member, value[name]);
  }
  return members;
}
