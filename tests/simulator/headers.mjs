// Checks a request's headers before anything else.
import { Refusal, unauthenticated } from './errors.mjs';

const STAMP_HEADERS = ['x-stamp', 'x-stamp-webauthn', 'x-stamp-attested'];
const JSON_CONTENT_TYPE = /^application\/json(?:[ \t]*;[ \t]*charset="?utf-8"?)?$/i;

/**
 * Turns Node's flat list of names and values into a list of pairs, which keeps repeated headers.
 * @param {string[]} rawHeaders
 * @returns {[string, string][]}
 */
export function headerPairs(rawHeaders) {
  /** @type {[string, string][]} */
  const pairs = [];
  for (let i = 0; i < rawHeaders.length; i += 2) pairs.push([rawHeaders[i], rawHeaders[i + 1]]);
  return pairs;
}

function valuesOf(headers, name) {
  return headers.filter(([given]) => given.toLowerCase() === name).map(([, value]) => value);
}

/** @throws {Refusal} unless the headers state that the body is JSON and that the client accepts JSON. */
export function checkJsonHeaders(headers) {
  const types = valuesOf(headers, 'content-type');
  if (types.length !== 1 || !JSON_CONTENT_TYPE.test(types[0])) {
    throw new Refusal('INVALID_ARGUMENT', 'REQUEST_INVALID', 'Content-Type must be application/json', { http: 415 });
  }
  if (valuesOf(headers, 'content-encoding').length > 0) {
    throw new Refusal('INVALID_ARGUMENT', 'REQUEST_INVALID', 'Content-Encoding is not supported', { http: 415 });
  }
  // By HTTP's rules a request without Accept accepts anything.
  const accept = valuesOf(headers, 'accept');
  if (accept.length > 0 && !admitsJson(accept.join(','))) {
    throw new Refusal('INVALID_ARGUMENT', 'REQUEST_INVALID', 'Accept must admit application/json', { http: 406 });
  }
}

/** Whether the Accept header allows JSON: its most specific media range decides, and weight 0 excludes JSON. */
function admitsJson(accept) {
  const weights = new Map();
  for (const range of accept.split(',')) {
    const [type, ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    weights.set(type, weight === undefined ? 1 : Number(weight.slice(2)));
  }
  const decisive = ['application/json', 'application/*', '*/*'].find((type) => weights.has(type));
  return decisive !== undefined && weights.get(decisive) > 0;
}

/**
 * @returns {{header: string, value: string}} the request's stamp, with the header's name in lower case.
 * @throws {Refusal} unless the request has exactly one stamp.
 */
export function onlyStamp(headers) {
  const stamps = headers
    .map(([name, value]) => ({ header: name.toLowerCase(), value }))
    .filter(({ header }) => STAMP_HEADERS.includes(header));
  if (stamps.length === 0) throw unauthenticated('SIGNATURE_MISSING', 'the request has no stamp');
  if (stamps.length > 1) throw unauthenticated('SIGNATURE_INVALID', 'the request has more than one stamp header');
  return stamps[0];
}
