// What a release publishes about upstream's API: the paths, and the messages and enums of the requests and responses.
// typescript.mjs, python.mjs, crate.mjs and openapi.mjs read it from the sources.

/**
 * The kinds of a member's value:
 *   {kind: 'string' | 'bool' | 'number', format}    a scalar; the format is a word of OpenAPI, such as 'uint64', or
 *                                                   unset. A number whose format its source does not state: 'unstated'
 *   {kind: 'definition', name}                      a message or an enum
 *   {kind: 'literals', values}                      one of the listed texts
 *   {kind: 'map'}                                   an object whose members are texts
 *   {kind: 'json'}                                  any JSON object
 *   {kind: 'list', of}                              a list of values of another kind
 * @typedef {object} Kind
 * @typedef {{name: string, required: boolean | undefined, kind: Kind}} Member `required` is undefined if the source
 *   does not state it
 * @typedef {{members: Member[]}} PublishedMessage
 * @typedef {{values: string[]}} PublishedEnum
 * @typedef {{path: string, request: string, response: string}} PublishedOperation
 * @typedef {{operations: PublishedOperation[], messages: Map<string, PublishedMessage>,
 *   enums: Map<string, PublishedEnum>, aliases: Map<string, Kind>}} Published what a release publishes; the aliases are
 *   definitions that are neither a message nor an enum
 */

/** The name of a member, with "{operator}" for upstream's name. Throws if the name is not a plain one. */
export function plainName(name) {
  const text = name.replace(/^turnkey$/, '{operator}');
  if (text === '{operator}') return text;
  if (!/^[@a-zA-Z][a-zA-Z0-9]*$/.test(text)) throw new Error(`the member name ${text} is not plain`);
  return text;
}

/**
 * The activity type of a request. A client can send an earlier type than that of the request's definition: the type of
 * the definition has the version of the parameters.
 * @param {string} sent the type that the client sends, such as ACTIVITY_TYPE_CREATE_USERS_V3
 * @param {string} parameters such as v1CreateUsersIntentV4
 */
export function typeWithVersionOf(sent, parameters) {
  const version = /V\d+$/.exec(parameters)?.[0];
  return sent.replace(/(_V\d+)?$/, version ? `_${version}` : '');
}

/** Whether a path is one of an operation. The other paths serve upstream's own code generation. @param {string} path */
export const isOperation = (path) => /^\/public\/v1\/(query|submit)\//.test(path);
