// Reads the messages, enums and operations of one release of the crate. The crate holds the structs that upstream's
// published protos generate, and a client with a method for each operation. The simulator's schema is made from a crate
// too, so this reader also has the rules of members, which the generator does not use.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { operationsIn } from './rust_client.mjs';
import { pascal } from './names.mjs';
import { plainName, typeWithVersionOf } from './published.mjs';
import { declarationsIn } from './rust.mjs';

/** The modules that describe the API to other programs. No operation uses them. */
const NOT_USED = /^(?:google\.api|grpc\..*|mod|client)\.rs$/;

const SCALARS = {
  '::prost::alloc::string::String': 'string',
  bool: 'bool',
  i32: 'int32',
  u32: 'uint32',
  i64: 'int64',
  u64: 'uint64',
  f64: 'double',
  '::prost_types::Any': 'any',
  'crate::well_known::Timestamp': 'time',
};

const BYTES = '::prost::alloc::vec::Vec<u8>';
const WRAPPERS = { option: /^(?:::core::option::)?Option<(.*)>$/, list: /^(?:::prost::alloc::vec::)?Vec<(.*)>$/ };
const MAP = /^::std::collections::HashMap<([^,]*),(.*)>$/;

/**
 * @typedef {object} Crate
 * @property {string} name
 * @property {string} version
 * @property {string} sha256 of the file
 * @property {Map<string, Member[]>} messages by their full names, such as `external.data.v1.Wallet`
 * @property {Map<string, string[]>} enums the values' JSON texts, by full name
 * @property {Map<string, object>} operations by path, see rust_client.mjs; struct names are full names
 *
 * @typedef {object} Member
 * @property {string} name in JSON
 * @property {string} type a scalar, or the full name of a message or enum
 * @property {'one' | 'list' | 'map'} number
 * @property {boolean} isOption whether Rust can omit it
 * @property {string} [rules]
 * @property {string} [oneof] the name of the group of which a message has at most one member
 */

/** @param {string} path of the file `NAME-VERSION.crate` @returns {Crate} */
export function readCrate(path) {
  const [, name, version] = /^(.*)-([0-9.]+)\.crate$/.exec(basename(path)) ?? [];
  if (name === undefined)
    throw new Error(`${path} does not have the name of a crate, such as turnkey_client-0.17.1.crate`);
  const folder = mkdtempSync(join(tmpdir(), 'crate-'));
  try {
    execFileSync('tar', ['-xzf', path, '-C', folder]);
    const sources = readSources(join(folder, `${name}-${version}/src/generated`));
    const sha256 = createHash('sha256').update(readFileSync(path)).digest('hex');
    return { name, version, sha256, ...contentOf(sources) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The texts of the files in a folder, by name. */
function readSources(folder) {
  const names = readdirSync(folder).sort();
  return new Map(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
}

function contentOf(sources) {
  const structs = new Map();
  const enums = new Map();
  for (const [file, text] of sources) {
    if (NOT_USED.test(file)) continue;
    const module = file.slice(0, -'.rs'.length);
    const { structs: ownStructs, enums: ownEnums } = declarationsIn(text);
    const full = (name) => [module, ...name.split('::')].join('.');
    ownStructs.forEach((fields, name) => structs.set(full(name), fields));
    ownEnums.forEach((variants, name) => enums.set(full(name), variants));
  }
  const isOneof = (name) => enums.get(name)?.some(({ type }) => type !== undefined);
  const plainEnums = [...enums].filter(([name]) => !isOneof(name));
  return {
    messages: new Map([...structs].map(([name, fields]) => [name, membersOf(name, fields, enums, isOneof)])),
    enums: new Map(plainEnums.map(([name, variants]) => [name, variants.map(textOf)])),
    operations: operationsOf(sources.get('client.rs')),
  };
}

function operationsOf(text) {
  const modules = new Map(
    [...text.matchAll(/^use crate::generated::([\w:]+) as (\w+);/gm)].map(([, module, alias]) => [alias, module]),
  );
  const full = (name) => {
    const [alias, struct] = name.split('::');
    return `${modules.get(alias)}::${struct}`.replaceAll('::', '.');
  };
  const operations = operationsIn(text);
  for (const operation of operations.values()) {
    for (const part of ['request', 'answer', 'parameters'])
      if (part in operation) operation[part] = full(operation[part]);
  }
  return operations;
}

function membersOf(message, fields, enums, isOneof) {
  return fields.flatMap((field) => {
    const member = memberOf(message, field);
    if (!isOneof(member.type)) return [member];
    // In JSON, the members of a oneof are members of the message itself.
    return enums.get(member.type).map((variant) => {
      const field = { name: variant.name, type: variant.type };
      return { ...memberOf(member.type, field), name: lowerFirst(variant.name), isOption: true, oneof: member.name };
    });
  });
}

/**
 * @param {string} message
 * @param {{name: string, type: string, rules?: string[]}} field
 */
function memberOf(message, { name, type: text, rules }) {
  let [type, isOption, number] = [text.replaceAll(/,(?=>|$)/g, ''), false, 'one'];
  const [, inOption] = WRAPPERS.option.exec(type) ?? [];
  if (inOption !== undefined) [type, isOption] = [inOption, true];
  const [, inList] = type === BYTES ? [] : (WRAPPERS.list.exec(type) ?? []);
  if (inList !== undefined) [type, number] = [inList, 'list'];
  const [, key, value] = MAP.exec(type) ?? [];
  if (value !== undefined) [type, number] = [value, 'map'];
  if (key !== undefined && SCALARS[key] !== 'string') throw new Error(`${message}.${name} is a map of ${key}`);
  const scalar = type === BYTES ? 'bytes' : SCALARS[type];
  return { name: camelCase(name), type: scalar ?? resolved(message, type), number, isOption, rules };
}

/** The full name of a type, which Rust text writes relative to the module of the struct `from`. */
function resolved(from, type) {
  const path = from.split('.').slice(0, -1);
  for (const part of type.split('::')) {
    if (part === 'super') path.pop();
    else path.push(part);
  }
  return path.join('.');
}

function textOf({ name, text }) {
  if (text === undefined) throw new Error(`the enum value ${name} has no text`);
  return text;
}

const camelCase = (name) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
const lowerFirst = (name) => name[0].toLowerCase() + name.slice(1);

/** The scalars as kinds of published types. JSON writes the 64-bit numbers as texts. */
const KINDS = {
  string: { kind: 'string' },
  bool: { kind: 'bool' },
  int32: { kind: 'number', format: 'int32' },
  uint32: { kind: 'number', format: 'int64' },
  int64: { kind: 'string', format: 'int64' },
  uint64: { kind: 'string', format: 'uint64' },
  bytes: { kind: 'string', format: 'byte' },
  double: { kind: 'number', format: 'double' },
  time: { kind: 'string', format: 'date-time' },
  any: { kind: 'json' },
};

/**
 * The definitions whose names in upstream's other sources are longer than the crate shows: upstream extends a name that
 * is not unique, and not all of the definitions that share it are in the crate.
 */
const LONGER_NAMES = {
  'external.activity.v1.PolicyEvaluation': 'externalactivityv1PolicyEvaluation',
  'external.data.v1.Address': 'externaldatav1Address',
  'external.data.v1.SignatureScheme': 'externaldatav1SignatureScheme',
  'external.data.v1.SmartContractInterface': 'externaldatav1SmartContractInterface',
  'external.data.v1.Tag': 'datav1Tag',
  'immutable.activity.v1.Address': 'immutableactivityv1Address',
  'immutable.common.v1.PolicyEvaluation': 'immutablecommonv1PolicyEvaluation',
};

/** The name that each definition has in upstream's other sources: as much of the end of its full name as is unique. */
function definitionNames(fullNames) {
  const endings = (full) => {
    const parts = full.split('.');
    const last = parts.pop();
    return parts.map((_, index) => parts.slice(-1 - index).join('') + last);
  };
  const counts = new Map();
  for (const ending of fullNames.flatMap(endings)) counts.set(ending, (counts.get(ending) ?? 0) + 1);
  const nameOf = (full) => LONGER_NAMES[full] ?? endings(full).find((ending) => counts.get(ending) === 1);
  return new Map(fullNames.map((full) => [full, nameOf(full)]));
}

/**
 * Whether a member is required, or undefined if the crate does not state it: in Rust, every message can be absent, and
 * no list and no text can.
 * @param {Member} member
 */
function isRequired({ type, number, isOption, rules, oneof }) {
  if (rules?.split(',dive')[0].split(',').includes('required')) return true;
  return oneof !== undefined || (isOption && number === 'one' && type in KINDS) ? false : undefined;
}

/** An enum's value 0 stands for an absent value. */
const isNoValue = (value, index) => index === 0 && /(?:^|_)(?:UNSPECIFIED|UNKNOWN)$/.test(value);

/** The request of a submit. Some methods of the client contain a request of their own instead of a declared one. */
const submitRequest = ({ type, appProofs }, parameters) => ({
  members: [
    { name: 'type', required: true, kind: { kind: 'literals', values: [typeWithVersionOf(type, parameters)] } },
    { name: 'timestampMs', required: true, kind: { kind: 'string' } },
    { name: 'organizationId', required: true, kind: { kind: 'string' } },
    { name: 'parameters', required: true, kind: { kind: 'definition', name: parameters } },
    ...(appProofs ? [{ name: 'generateAppProofs', required: false, kind: { kind: 'bool' } }] : []),
  ],
});

/**
 * What a crate publishes, in the form of the other sources.
 * @param {Crate} crate
 * @returns {import('./published.mjs').Published}
 */
export function publishedOf(crate) {
  const names = definitionNames([...crate.messages.keys(), ...crate.enums.keys()]);
  const kindOf = ({ type, number }) => {
    if (number === 'map') return { kind: 'map' };
    const kind = KINDS[type] ?? { kind: 'definition', name: names.get(type) };
    return number === 'list' ? { kind: 'list', of: kind } : kind;
  };
  const messages = new Map(
    [...crate.messages].map(([full, members]) => [
      names.get(full),
      {
        members: members.map((member) => ({
          name: plainName(member.name),
          required: isRequired(member),
          kind: kindOf(member),
        })),
      },
    ]),
  );
  const operations = [...crate.operations].map(([path, operation]) => {
    if (operation.kind === 'query')
      return { path, request: names.get(operation.request), response: names.get(operation.answer) };
    const request = `v1${pascal(path.split('/').pop())}Request`;
    const declared = messages.get(request)?.members.find(({ name }) => name === 'parameters').kind.name;
    messages.set(request, submitRequest(operation, declared ?? names.get(operation.parameters)));
    return { path, request, response: 'v1ActivityResponse' };
  });
  const enums = new Map(
    [...crate.enums].map(([full, values]) => [
      names.get(full),
      { values: values.filter((value, index) => !isNoValue(value, index)) },
    ]),
  );
  return { operations, messages, enums, aliases: new Map() };
}
