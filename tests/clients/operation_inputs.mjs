// Request bodies for every operation, made from the simulator's schema: the inputs for the methods of upstream's client
// library, and for the typed methods of the gateway.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bodiesWithOneOptional, bodyOf } from '../simulator/bodies.mjs';
import { check } from '../simulator/check.mjs';
import { parse } from '../simulator/json.mjs';
import { operationAt, operationsOf } from '../simulator/operations.mjs';
import { Kinds } from '../simulator/schema/kinds.mjs';
import { freshTimestamp } from '../simulator/testing.mjs';
import { root } from '../paths.mjs';

const catalog = JSON.parse(readFileSync(join(root, 'proto/generator/published.json'), 'utf8'));

const isNotInLibrary = ({ behind = [] }) => behind.some((label) => label.startsWith('npm '));

/** The name of a definition in the schema. */
const bare = (definition) => definition.replace(/^v1/, '');

/**
 * The parts of the API that upstream's client library for JavaScript does not have, because it is behind the sources of
 * the schema: paths, activity types, values of enums, and members as `Message.member`.
 */
export const notInLibrary = new Set([
  ...Object.entries(catalog.operations).flatMap(([path, versions]) => (versions.every(isNotInLibrary) ? [path] : [])),
  ...Object.values(catalog.enums).flatMap(({ values }) =>
    Object.keys(values).filter((value) => isNotInLibrary(values[value])),
  ),
  ...Object.entries(catalog.messages).flatMap(([definition, { members }]) =>
    Object.keys(members)
      .filter((name) => isNotInLibrary(members[name]))
      .map((name) => `${bare(definition)}.${name}`),
  ),
]);

/** The operations of the schema, as upstream's client library for JavaScript has them. */
export const operationsOfLibrary = operationsOf(new Kinds(notInLibrary));

/**
 * The operation in the version that a key of typed_messages.mjs names. Of a path alone, this is the first version that
 * the project has followed, which is also the one that the library sends.
 */
export function operationOf(key, operations) {
  const [path, type = catalog.operations[path]?.[0].type] = key.split(' ');
  return operationAt(path, { type }, operations);
}

/**
 * The inputs for an operation: with every member, with the required members, and with these and one other member each.
 * Of a oneof, the first input has the member that `choice` selects.
 * @param {string} path or key
 * @param {{organizationId: string, choice?: number, operations?: typeof operationsOfLibrary}} options
 * @yields {{name: string, input: object}} name: `full`, `least`, or the path of the other member
 */
export function* inputsOf(path, { organizationId, choice = 0, operations }) {
  const operation = operationOf(path, operations);
  const envelope = () => ({ organizationId, timestampMs: freshTimestamp() });
  yield { name: 'full', input: bodyOf(operation, envelope(), { extent: 'full', choice }) };
  yield { name: 'least', input: bodyOf(operation, envelope(), { extent: 'least', choice }) };
  for (const { path: name, body: input } of bodiesWithOneOptional(operation, envelope)) yield { name, input };
}

/** Whether the schema accepts a body of the operation. */
export const isAccepted = (path, body) =>
  check(operationOf(path).body, parse(JSON.stringify(body)).value, BigInt(Date.now())).length === 0;

/** The places of all members of objects in a body, as lists of names and indexes. */
export function* membersIn(value, place = []) {
  for (const [name, inner] of Object.entries(value)) {
    if (!Array.isArray(value)) yield [...place, name];
    if (typeof inner === 'object' && inner !== null) yield* membersIn(inner, [...place, name]);
  }
}

/** The value at such a place. */
export const valueAt = (value, place) => place.reduce((inner, name) => inner[name], value);
