// The inputs for the methods of upstream's client library, for every operation, made from the simulator's schema.
import { bodiesWithOneOptional, bodyOf } from '../simulator/bodies.mjs';
import { check } from '../simulator/check.mjs';
import { parse } from '../simulator/json.mjs';
import { operationAt } from '../simulator/operations.mjs';
import { freshTimestamp } from '../simulator/testing.mjs';

/** The activity types that the library sends although the service has a newer version. */
const OLDER_TYPES = { '/public/v1/submit/execute_swap': 'ACTIVITY_TYPE_EXECUTE_SWAP_V2' };

/** The operation in the version that the library sends. */
export const operationOf = (path) => operationAt(path, { type: OLDER_TYPES[path] });

/**
 * The inputs for an operation: with every member, with the required members, and with these and one other member each.
 * Of a oneof, the first input has the member that `choice` selects.
 * @param {string} path
 * @param {{organizationId: string, choice?: number}} options
 * @yields {{name: string, input: object}} name: `full`, `least`, or the path of the other member
 */
export function* inputsOf(path, { organizationId, choice = 0 }) {
  const operation = operationOf(path);
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
