// Reads the messages, enums and operations of one release of the crate. The crate holds the structs that upstream's
// published protos generate, and a client with a method for each operation.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { operationsIn } from './client.mjs';
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
 * @property {Map<string, object>} operations by path, see client.mjs; struct names are full names
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
  const [, name, version] = /^(.*)-([0-9.]+)\.crate$/.exec(basename(path));
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
