// Writes schema.json from two releases of the crate `turnkey_client`:
//
//     node update.mjs turnkey_client-0.17.1.crate turnkey_client-0.16.0.crate
//
// The first release is the source. From the second one come the messages that decisions.mjs names. The result depends
// only on these files. The schema has only facts, and no descriptions.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readCrate } from '../../../proto/generator/crate.mjs';
import * as decisions from './decisions.mjs';

const ACTIVITY = 'external.activity.v1.Activity';
const TYPES = 'immutable.activity.v1.ActivityType';
const INTENT = 'immutable.activity.v1.Intent';
const RESULT = 'immutable.activity.v1.Result';

/** The marks after a member's type: how many values it has, and whether it can be absent. */
const NUMBERS = { one: '', list: '[]', map: '{}' };

/**
 * @typedef {object} Schema
 * @property {{name: string, version: string, sha256: string}[]} sources
 * @property {Record<string, object>} operations by path. A query has `request` and `answer`; a submit has `versions`,
 *   which maps each activity type to the names of its intent and its result, the newest last.
 * @property {Record<string, Record<string, string>>} messages the members' types by name. After a type follow `[]` for a
 *   list or `{}` for a map; limits, such as `(6..9)` or `(..256)`, of a number, of the characters of a text or of the
 *   elements of a list; and `?` if the member can be absent, or `!` if it must not be empty.
 * @property {Record<string, Record<string, string>>} names by message: the newer names of members, and the names that the
 *   members have in `messages`
 * @property {Record<string, string[]>} oneofs by message: members of which at most one is set. Intent and Result, in
 *   which this holds for all members, are not in the list.
 * @property {Record<string, string[]>} enums
 */

/** @returns {Schema} */
export function schemaOf(newest, earlier) {
  const crate = merged(newest, earlier);
  const operations = operationsOf(crate);
  const used = reachable(crate, operations);
  const short = shortNames(used);
  const messages = [...used].filter((name) => crate.messages.has(name)).sort();
  const enums = [...used].filter((name) => crate.enums.has(name)).sort();
  return {
    sources: [newest, earlier].map(({ name, version, sha256 }) => ({ name, version, sha256 })),
    operations: sorted(operations, (operation) => shortened(operation, short)),
    messages: Object.fromEntries(
      messages.map((name) => [short(name), membersOf(short(name), crate.messages.get(name), short)]),
    ),
    names: namesOf(decisions.RENAMED),
    oneofs: Object.fromEntries(
      messages
        .map((name) => [short(name), oneofOf(crate.messages.get(name))])
        .filter(([name, group]) => group.length > 0 && !['Intent', 'Result'].includes(name)),
    ),
    enums: {
      ...Object.fromEntries(enums.map((name) => [short(name), crate.enums.get(name)])),
      ...Object.fromEntries(messages.flatMap((name) => ruledEnums(short(name), crate.messages.get(name)))),
      ...decisions.ENUMS,
    },
  };
}

/** The newer names of members by message. */
function namesOf(renamed) {
  /** @type {Record<string, Record<string, string>>} */
  const names = {};
  for (const [place, earlier] of Object.entries(renamed)) {
    const [message, newer] = place.split('.');
    names[message] = { ...names[message], [newer]: earlier };
  }
  return names;
}

/** The newest crate, with the messages and the enum values that only the earlier crate has. */
function merged(newest, earlier) {
  const messages = new Map(newest.messages);
  for (const name of decisions.MESSAGES_OF_EARLIER_CRATE) messages.set(name, only(earlier.messages.get(name), name));
  for (const name of [INTENT, RESULT]) {
    const known = new Set(newest.messages.get(name).map((member) => member.name));
    const gone = earlier.messages.get(name).filter((member) => !known.has(member.name));
    messages.set(name, [...newest.messages.get(name), ...gone]);
    for (const { type } of gone) if (!messages.has(type)) messages.set(type, earlier.messages.get(type));
  }
  const withEarlier = (name, values) => [...new Set([...values, ...(earlier.enums.get(name) ?? [])])];
  const enums = new Map([...newest.enums].map(([name, values]) => [name, withEarlier(name, values)]));
  return { messages, enums, operations: newest.operations };
}

function operationsOf(crate) {
  const operations = new Map(crate.operations);
  for (const request of decisions.REQUESTS_WITHOUT_METHOD) {
    const { path, operation } = operationOfRequest(crate, request);
    if (operations.has(path)) throw new Error(`the crate's client has a method for ${path}`);
    operations.set(path, operation);
  }
  const typesOfStems = typesByStem(crate);
  return new Map(
    [...operations].map(([path, operation]) => [
      path,
      operation.kind === 'query' ? operation : submitOf(crate, operation, typesOfStems),
    ]),
  );
}

/** The operation of a request for which the client has no method. */
function operationOfRequest(crate, request) {
  const members = new Map(only(crate.messages.get(request), request).map((member) => [member.name, member]));
  const name = snakeCase(lastOf(request).replace(/Request$/, ''));
  const parameters = members.get('parameters')?.type;
  if (parameters === undefined) {
    const answer = request.replace(/Request$/, 'Response');
    return { path: `/public/v1/query/${name}`, operation: { kind: 'query', request, answer } };
  }
  const appProofs = members.has('generateAppProofs');
  return { path: `/public/v1/submit/${name}`, operation: { kind: 'submit', parameters, appProofs } };
}

/** A submit, with every version of its activity type. The service continues to accept earlier versions. */
function submitOf(crate, { type: sentType, parameters, result, appProofs }, typesOfStems) {
  const { stem } = splitIntent(lastOf(parameters));
  const intents = crate.messages.get(INTENT);
  const results = crate.messages.get(RESULT);
  const versions = typesOfStems.get(stem).map(({ type, version }) => {
    const intentName = version === 1 ? `${stem}Intent` : `${stem}IntentV${version}`;
    const intent = only(
      intents.find((member) => lastOf(member.type) === intentName),
      intentName,
    );
    const variant = type === sentType && result !== undefined ? result : resultFor(results, stem, version);
    return [type, { intent: intent.name, ...(variant && { result: lowerFirst(variant) }) }];
  });
  return { kind: 'submit', appProofs, versions: Object.fromEntries(versions) };
}

/** The result of an activity type: the newest one that is not newer than the type. Votes have no result of their own. */
function resultFor(results, stem, version) {
  const names = new Set(results.map((member) => lastOf(member.type)));
  for (let each = version; each > 0; each -= 1) {
    const name = each === 1 ? `${stem}Result` : `${stem}ResultV${each}`;
    if (names.has(name)) return name;
  }
  return undefined;
}

/** The activity types, and their versions, by the name of their intent without `Intent` and the version. */
function typesByStem(crate) {
  const types = new Map();
  for (const type of crate.enums.get(TYPES)) {
    const [, words, version = '1'] = /^ACTIVITY_TYPE_(.*?)(?:_V(\d+))?$/.exec(type);
    const stem = words.toLowerCase().replace(/(?:^|_)(\w)/g, (_, letter) => letter.toUpperCase());
    types.set(stem, [...(types.get(stem) ?? []), { type, version: Number(version) }]);
  }
  for (const versions of types.values()) versions.sort((one, other) => one.version - other.version);
  return types;
}

function splitIntent(name) {
  const [, stem, version = '1'] = /^(.*)Intent(?:V(\d+))?$/.exec(name);
  return { stem, version: Number(version) };
}

/** The messages and enums that operations use, and those that only answers about activities use. */
function reachable(crate, operations) {
  const used = new Set();
  const visit = (name) => {
    if (used.has(name) || (!crate.messages.has(name) && !crate.enums.has(name))) return;
    used.add(name);
    crate.messages.get(name)?.forEach(({ type }) => visit(type));
  };
  [ACTIVITY, TYPES].forEach(visit);
  for (const { request, answer } of operations.values()) [request, answer].forEach(visit);
  return used;
}

/** A function that returns the short name of a message or enum: its last part, if no other one has the same. */
function shortNames(names) {
  const counts = new Map();
  for (const name of names) counts.set(lastOf(name), (counts.get(lastOf(name)) ?? 0) + 1);
  return (name) => (counts.get(lastOf(name)) === 1 ? lastOf(name) : name);
}

function shortened(operation, short) {
  if (operation.kind === 'submit') return operation;
  return { ...operation, request: short(operation.request), answer: short(operation.answer) };
}

function membersOf(message, members, short) {
  return Object.fromEntries(
    members.map((member) => {
      const name = decisions.RENAMED[`${message}.${member.name}`] ?? member.name;
      const type = decisions.TYPES[`${message}.${name}`] ?? typeOf(`${message}.${name}`, member, short);
      const limits = limitsOf(`${message}.${name}`, member);
      return [name, `${type}${NUMBERS[member.number]}${limits}${presenceOf(`${message}.${name}`, member)}`];
    }),
  );
}

/** A text that must be a number has the type `decimal`. A text for which the rules list the values is an enum. */
function typeOf(place, { type, rules = '' }, short) {
  if (type !== 'string') return short(type);
  if (valuesIn(rules) !== undefined) return place;
  return rules.split(',').includes('numeric') ? 'decimal' : type;
}

/** The limits that the rules of a number, a text or a list state. The rules of a list's elements state none. */
function limitsOf(place, { rules = '' }) {
  if (decisions.LENGTHS.includes(place)) return '';
  const [own] = rules.split(',dive');
  const limit = (pattern) =>
    own
      .split(',')
      .map((rule) => pattern.exec(rule)?.[1])
      .find((found) => found !== undefined);
  const min = limit(/^(?:min|len)=(\d+)$/) ?? (own.split(',').includes('gt=0') ? '1' : '');
  const max = limit(/^(?:max|len|tk_max_length)=(\d+)$/) ?? '';
  return min === '' && max === '' ? '' : `(${min}..${max})`;
}

/** The enums that only the rules of a message's members state. */
function ruledEnums(message, members) {
  return members
    .map(({ name, rules = '' }) => [`${message}.${name}`, valuesIn(rules)])
    .filter(([, values]) => values !== undefined);
}

const valuesIn = (rules) => /oneof=([^,]*)/.exec(rules)?.[1].split(' ');

/** Whether a request can omit the member (`?`), and whether an empty value is refused (`!`). */
function presenceOf(place, { number, type, isOption, rules, oneof }) {
  if (decisions.OPTIONAL.includes(place)) return '?';
  if (decisions.REQUIRED.includes(place)) return '';
  const [own] = (rules ?? '').split(',dive');
  const names = own.split(',');
  if (oneof !== undefined || number === 'map') return '?';
  if (number === 'list') {
    return rules === undefined || names.includes('omitempty') ? '?' : '';
  }
  if (isOption) return names.includes('required') ? '!' : '?';
  if (type === 'bool') return names.includes('required') ? '' : '?';
  if (names.includes('required') || (!names.includes('omitempty') && names.some(isForm))) return '!';
  return rules === undefined && /Request\./.test(place) ? '!' : '';
}

/** Whether a rule states a form that the empty text does not have. Upstream does not publish its rules for labels. */
const isForm = (rule) => /^(?:uuid4?|email|e164|hexadecimal|numeric|len=\d+|min=\d+|oneof=.*)$/.test(rule);

function oneofOf(members) {
  const group = members.filter(({ oneof }) => oneof !== undefined);
  if (new Set(group.map(({ oneof }) => oneof)).size > 1) throw new Error('a message has two oneofs');
  return group.map(({ name }) => name);
}

function sorted(map, change) {
  const entries = [...map].sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([name, value]) => [name, change(value)]));
}

const lastOf = (name) => name.split('.').at(-1);
const lowerFirst = (name) => name[0].toLowerCase() + name.slice(1);
const snakeCase = (name) => name.replace(/(?<!^)([A-Z])/g, '_$1').toLowerCase();

function only(found, name) {
  if (found === undefined) throw new Error(`the crates have no ${name}`);
  return found;
}

/** The schema as text, with one line for each operation, message and enum. */
export function textOf(schema) {
  const parts = Object.entries(schema).map(([name, part]) => {
    const lines = Array.isArray(part)
      ? part.map((each) => JSON.stringify(each))
      : Object.entries(part).map(([key, value]) => `${JSON.stringify(key)}: ${JSON.stringify(value)}`);
    const [opening, closing] = Array.isArray(part) ? '[]' : '{}';
    return `${JSON.stringify(name)}: ${opening}\n${lines.join(',\n')}\n${closing}`;
  });
  return `{\n${parts.join(',\n')}\n}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [newest, earlier] = process.argv.slice(2).map(readCrate);
  writeFileSync(new URL('schema.json', import.meta.url), textOf(schemaOf(newest, earlier)));
}
