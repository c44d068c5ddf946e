// Reads the operations that the methods of the crate's client call, from the client's Rust source text.

const METHOD = /^ {4}pub async fn (\w+)\(/gm;

/**
 * @typedef {object} Query
 * @property {'query'} kind
 * @property {string} request the name of the request's struct, as the text writes it
 * @property {string} answer
 *
 * @typedef {object} Submit
 * @property {'submit'} kind
 * @property {string} type the activity type that the method sends
 * @property {string} parameters the name of the parameters' struct, as the text writes it
 * @property {string} [result] the name of the result's variant; absent for votes, whose result can have any type
 * @property {boolean} appProofs whether the request has the member generateAppProofs
 */

/** @returns {Map<string, Query | Submit>} by path */
export function operationsIn(text) {
  const starts = [...text.matchAll(METHOD)].map(({ index }) => index);
  const methods = starts.map((start, at) => text.slice(start, starts[at + 1]));
  return new Map(methods.map((method) => [only(method, /"(\/public\/v1\/\w+\/\w+)"/), operationIn(method)]));
}

/** @returns {Query | Submit} */
function operationIn(method) {
  if (method.includes('self.process_request(')) {
    const request = only(method, /request: ([\w:]+),/);
    return { kind: 'query', request, answer: only(method, /Result<([\w:]+), \w+>/) };
  }
  return {
    kind: 'submit',
    type: only(method, /r#type: "(\w+)"/),
    parameters: only(method, /params: ([\w:]+)[,)]/),
    result: /result::Inner::(\w+)\(/.exec(method)?.[1],
    appProofs: /generate_app_proofs: self/.test(method),
  };
}

function only(text, pattern) {
  const found = pattern.exec(text);
  if (found === null) throw new Error(`a method of the client has no ${pattern}:\n${text.slice(0, 200)}`);
  return found[1];
}
