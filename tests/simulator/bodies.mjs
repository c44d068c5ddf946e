// Request bodies for every operation, made from the schema: for tests of the simulator, and of programs that send
// requests.
import { Raw } from './json.mjs';
import { made, optionalPaths } from './made.mjs';
import { operationInSchema } from './operations.mjs';

/**
 * @typedef {object} Envelope
 * @property {string} organizationId
 * @property {string} [timestampMs] for a submit
 */

/**
 * @param {import('./operations.mjs').Operation} operation
 * @param {Envelope} envelope
 * @param {import('./made.mjs').Options} [options]
 * @returns {object} plain JSON values
 */
export function bodyOf(operation, envelope, options) {
  const body = plainJson(made(valueKind(operation), operation.name, options));
  body.organizationId = envelope.organizationId;
  if (operation.type !== undefined) body.timestampMs = envelope.timestampMs;
  return body;
}

/**
 * Bodies with the required members and one member that is not required, for each such member. If the member is inside
 * of others that are not required, they are set too.
 * @yields {{path: string, body: object}} path: that of the member in the body, without the indexes of lists
 */
export function* bodiesWithOneOptional(operation, envelopeOf) {
  for (const also of optionalPaths(valueKind(operation), operation.name)) {
    const body = bodyOf(operation, envelopeOf(), { extent: 'least', also });
    yield { path: also.slice(operation.name.length + 1), body };
  }
}

/**
 * The kind of the body, without members that the schema does not have: the simulator accepts generateAppProofs also
 * where the service ignores it. made.mjs cannot make a time, so the caller sets it.
 * @param {import('./operations.mjs').Operation} operation
 */
function valueKind({ path, type, body }) {
  const inSchema = operationInSchema(path, type).body.members;
  const members = Object.fromEntries(Object.entries(body.members).filter(([name]) => name in inSchema));
  if (type !== undefined) members.timestampMs = { kind: 'string', required: true };
  return { ...body, members };
}

/** The value with numbers instead of their texts. Every number of a request is exact in JavaScript. */
function plainJson(value) {
  if (value instanceof Raw) return Number(value.text);
  if (Array.isArray(value)) return value.map(plainJson);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plainJson(member)]));
}
