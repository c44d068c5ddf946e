// Every operation of the service. For the operations that the specification describes, the specification decides. The
// other ones come from the schema; they have no state: the simulator makes their results and answers.
import { intentKind, messageKind, resultKind, schema } from './schema/kinds.mjs';
import { operations as specified, submitBody } from './specification.mjs';

/**
 * An operation. A submit has one for each version of its activity type.
 * @typedef {object} Operation
 * @property {string} name
 * @property {string} path
 * @property {object} body the kind of the request
 * @property {string} [type] the activity type; absent for a query
 * @property {string} [intentKey]
 * @property {string} [resultKey] absent for a submit whose activities have no result of their own
 * @property {object} [answer] the kind of a query's answer
 * @property {object} [result] the kind of a submit's result
 * @property {boolean} isSpecified whether the simulator has a state for the operation
 */

function nameOf(path) {
  return path.split('/').at(-1);
}

function versionsOf(path, operation) {
  return operation.kind === 'query' ? [query(path, operation)] : submits(path, operation);
}

function query(path, { request, answer }) {
  return { name: nameOf(path), path, body: messageKind(request), answer: messageKind(answer), isSpecified: false };
}

function submits(path, { appProofs, versions }) {
  return Object.entries(versions).map(([type, { intent, result }]) => ({
    name: nameOf(path),
    path,
    type,
    intentKey: intent,
    resultKey: result,
    body: submitBody(type, intentKind(intent), { appProofs }),
    result: result && resultKind(result),
    isSpecified: false,
  }));
}

/** The operations of the schema, by path. A submit's versions are in order; a query has one version. */
const ofSchema = new Map(
  Object.entries(schema.operations).map(([path, operation]) => [path, versionsOf(path, operation)]),
);

/** The paths of all operations. */
export const paths = [...new Set([...ofSchema.keys(), ...specified.keys()])];

/**
 * The operation at a path. If it is a submit with several versions, the version of the request's activity type, or the
 * newest one if there is no version of this type.
 * @param {string} path
 * @param {any} request the parsed body
 * @returns {Operation | undefined}
 */
export function operationAt(path, request) {
  return specifiedAt(path) ?? versionIn(ofSchema.get(path), request?.type);
}

/** The same operation as the schema describes it, even if the specification describes it too. */
export function operationInSchema(path, type) {
  return versionIn(ofSchema.get(path), type);
}

/** The operation as the specification describes it, with the kinds of its answer and result from the schema. */
function specifiedAt(path) {
  const operation = specified.get(path);
  if (operation === undefined) return undefined;
  const { answer, result } = operationInSchema(path, operation.type) ?? {};
  return { ...operation, answer, result, isSpecified: true };
}

function versionIn(versions, type) {
  return versions?.find((version) => version.type === type) ?? versions?.at(-1);
}
