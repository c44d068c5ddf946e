// The headers of one attempt at a delivery: upstream's own headers, and the signature over some of them and the body.
import { sign } from 'node:crypto';
import { titleOf } from './answers.mjs';

/**
 * Upstream's own headers in their usual order: the last part of each header's name, and the member of the draft that
 * holds the header's value.
 */
const HEADERS = {
  'Organization-Id': 'organizationId',
  'Event-Type': 'type',
  Timestamp: 'timestamp',
  'Webhook-Version': 'webhookVersion',
  'Event-Id': 'eventId',
  'Signature-Key-Id': 'keyId',
  'Signature-Algorithm': 'algorithm',
  'Signature-Version': 'version',
  Signature: 'signature',
};

/** The last parts of the headers' names, by which tests name the headers. */
export const headerNames = Object.keys(HEADERS);

/** The name of the draft's member that holds the value of this header. */
export const memberOf = (header) => HEADERS[header];

/**
 * An attempt before it is signed.
 * @typedef {object} Draft
 * @property {string} organizationId a label, not signed
 * @property {string} type a label, not signed
 * @property {string} webhookVersion a label, not signed
 * @property {string} timestamp milliseconds
 * @property {string} eventId
 * @property {string} keyId
 * @property {string} algorithm
 * @property {string} version
 * @property {Buffer} body
 * @property {import('node:crypto').KeyObject} privateKey
 * @property {string} operator
 */

/**
 * @typedef {object} Message
 * @property {[string, string][]} headers
 * @property {Buffer} body
 */

/** Makes a draft as the service does, without faults. @returns {Draft} */
export function draftOf({ organizationId, type, eventId, body }, { key, timestampMs, operator }) {
  return {
    organizationId,
    type,
    webhookVersion: '1',
    timestamp: String(timestampMs),
    eventId,
    keyId: key.kid,
    algorithm: 'ed25519',
    version: 'v1',
    body,
    privateKey: key.privateKey,
    operator,
  };
}

/**
 * @param {Draft} draft
 * @returns {Message}
 */
export function signed(draft) {
  const { version, algorithm, keyId, timestamp, eventId, body, privateKey, operator } = draft;
  const text = Buffer.concat([Buffer.from(`${[version, algorithm, keyId, timestamp, eventId].join('.')}.`), body]);
  const values = { ...draft, signature: sign(null, text, privateKey).toString('hex') };
  /** @type {[string, string][]} */
  const own = headerNames.map((name) => [headerName(name, operator), values[memberOf(name)]]);
  return { headers: [['Content-Type', 'application/json'], ...own], body };
}

/** The full name of a header. */
export function headerName(name, operator) {
  return `X-${titleOf(operator)}-${name}`;
}
