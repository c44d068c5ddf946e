// Every operation of the service. For the operations that the specification describes, the specification decides. The
// other ones come from the schema; they have no state: the simulator makes their results and answers.
import { Kinds, schema } from './schema/kinds.mjs';
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

/**
 * The operations of the schema, by path. A submit's versions are in order; a query has one version.
 * @param {Kinds} kinds
 * @returns {Map<string, Operation[]>}
 */
export function operationsOf(kinds) {
  const known = Object.entries(schema.operations).filter(([path]) => kinds.has(path));
  return new Map(known.map(([path, operation]) => [path, versionsOf(path, operation, kinds)]));
}

function versionsOf(path, { kind, request, answer, appProofs, versions }, kinds) {
  const common = { name: path.split('/').at(-1), path, isSpecified: false };
  if (kind === 'query') return [{ ...common, body: kinds.message(request), answer: kinds.message(answer) }];
  const types = Object.keys(versions).filter((type) => kinds.has(type) && kinds.has(`Result.${versions[type].result}`));
  return types.map((type) => {
    const { intent, result } = versions[type];
    return {
      ...{ ...common, type, intentKey: intent, resultKey: result },
      body: submitBody(type, kinds.intent(intent), { appProofs }),
      result: result && kinds.result(result),
    };
  });
}

const all = operationsOf(new Kinds());

/** The paths of all operations. */
export const paths = [...all.keys()];

/**
 * The operation at a path. If it is a submit with several versions, the version of the request's activity type, or the
 * newest one if there is no version of this type.
 * @param {string} path
 * @param {any} [request] the parsed body
 * @param {Map<string, Operation[]>} [operations] the operations of the schema
 * @returns {Operation | undefined}
 */
export function operationAt(path, request, operations) {
  const operation = specified.get(path);
  if (operation === undefined) return operationInSchema(path, request?.type, operations);
  const { answer, result } = operationInSchema(path, operation.type, operations);
  return { ...operation, answer, result, isSpecified: true };
}

/** The same operation as the schema describes it, even if the specification describes it too. */
export function operationInSchema(path, type, operations = all) {
  const versions = operations.get(path);
  return versions?.find((version) => version.type === type) ?? versions?.at(-1);
}
