// Reads upstream's OpenAPI document (Swagger 2.0, JSON), from which upstream makes its packages.
import { isOperation, plainName } from './published.mjs';

/** @typedef {import('./published.mjs').Kind} Kind */

const SCALARS = { string: 'string', boolean: 'bool', integer: 'number', number: 'number' };

/** The definition that a reference names, or undefined. A reference with a description can be in a list of its own. */
const referenceIn = ({ $ref, allOf }) =>
  ($ref ?? (allOf?.length === 1 ? allOf[0].$ref : undefined))?.replace(/^#\/definitions\//, '');

/** @returns {Kind} */
function kindOf(schema, place) {
  const name = referenceIn(schema);
  if (name !== undefined) return { kind: 'definition', name };
  if (schema.enum) return { kind: 'literals', values: schema.enum };
  if (schema.type === 'array') return { kind: 'list', of: kindOf(schema.items, place) };
  if (schema.type === 'object' || schema.type === undefined) {
    return { kind: !schema.properties && schema.additionalProperties?.type === 'string' ? 'map' : 'json' };
  }
  const kind = SCALARS[schema.type];
  if (!kind) throw new Error(`${place}: the reader of OpenAPI does not know the type ${schema.type}`);
  return kind === 'bool' ? { kind } : { kind, format: schema.format };
}

/** Whether a definition is a message: an object that has only the members that it lists. */
const isMessage = ({ type, additionalProperties }) => type === 'object' && additionalProperties === undefined;

const membersOf = (owner, { properties = {}, required = [] }) =>
  Object.entries(properties).map(([key, schema]) => {
    const name = plainName(key);
    return { name, required: required.includes(key), kind: kindOf(schema, `${owner}.${name}`) };
  });

/**
 * Reads a document.
 * @param {{paths: object, definitions: object}} document
 * @returns {import('./published.mjs').Published}
 */
export function readOpenApi({ paths, definitions }) {
  const messages = new Map();
  const enums = new Map();
  const aliases = new Map();
  for (const [name, schema] of Object.entries(definitions)) {
    if (schema.enum) enums.set(name, { values: schema.enum });
    else if (isMessage(schema)) messages.set(name, { members: membersOf(name, schema) });
    else aliases.set(name, kindOf(schema, name));
  }
  const operations = Object.entries(paths)
    .filter(([path]) => isOperation(path))
    .map(([path, { post }]) => {
      const body = post.parameters?.find((parameter) => parameter.in === 'body');
      return { path, request: body && referenceIn(body.schema), response: referenceIn(post.responses['200'].schema) };
    });
  return { operations, messages, enums, aliases };
}
