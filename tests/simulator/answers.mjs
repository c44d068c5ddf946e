// Builds the service's responses, with members in the order of recorded responses.
import { createHash, randomUUID } from 'node:crypto';
import { codes } from './errors.mjs';
import { stringify } from './json.mjs';
import * as records from './records.mjs';
import { timeOf } from './state.mjs';

/**
 * @typedef {object} Answer
 * @property {number} status
 * @property {Record<string, string | number>} headers
 * @property {Buffer} body
 */

/** @returns {Answer} */
export function jsonAnswer(status, value, headers = {}) {
  return rawAnswer(status, stringify(value), { 'Content-Type': 'application/json', ...headers });
}

/** @returns {Answer} */
export function rawAnswer(status, body, headers = {}) {
  return { status, headers, body: Buffer.from(body) };
}

/** @param {import('./errors.mjs').Refusal} refusal */
export function refusalAnswer({ http, code, errorCode, message, violations }, operator) {
  const details = [];
  if (violations.length > 0) details.push(badRequest(violations));
  if (errorCode !== '') details.push(errorDetail(errorCode, operator));
  return jsonAnswer(http, { code: codes[code].number, message, details });
}

export function badRequest(fieldViolations) {
  return { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations };
}

/** The error detail with the service's own code. The detail's type and member name contain upstream's name. */
export function errorDetail(errorCode, operator) {
  const type = `type.googleapis.com/errors.v1.${titleOf(operator)}ErrorDetail`;
  return { '@type': type, [`${operator}ErrorCode`]: errorCode };
}

/** Upstream's name in the form that CamelCase names and headers use. */
export function titleOf(operator) {
  return operator[0].toUpperCase() + operator.slice(1);
}

export function fingerprintOf(body) {
  return `sha256:${createHash('sha256').update(body).digest('hex')}`;
}

/**
 * The activity of a submit, as the response contains it.
 * @param {object} parts
 * @param {object} parts.operation from the specification
 * @param {object} parts.request the body, as sent
 * @param {object} parts.intent its parameters, in the specification's order
 * @param {object | null | undefined} parts.result undefined: the response omits the member
 * @param {string} parts.status
 * @param {object | null} parts.failure
 */
export function activity(parts, { rawBody, stamper, enclave, nowMs }) {
  const { operation, request, intent, result, status, failure } = parts;
  const id = randomUUID();
  const fingerprint = fingerprintOf(rawBody);
  const time = timeOf(nowMs);
  const { user } = stamper.credential;
  return {
    id,
    organizationId: request.organizationId,
    status,
    type: operation.type,
    intent: { [operation.intentKey]: intent },
    result,
    votes: [
      {
        id: randomUUID(),
        userId: user.userId,
        user: records.user(user),
        activityId: id,
        selection: 'VOTE_SELECTION_APPROVED',
        // The service stores the exact text that the voter signed, including secrets.
        message: rawBody.toString('utf8'),
        publicKey: stamper.publicKey,
        signature: stamper.signature,
        scheme: stamper.scheme,
        createdAt: time,
      },
    ],
    appProofs: request.generateAppProofs === true ? [enclave.proof(stringify({ activityId: id, fingerprint }))] : [],
    fingerprint,
    canApprove: false,
    // In recorded responses, even completed activities have this value.
    canReject: true,
    createdAt: time,
    updatedAt: time,
    failure,
  };
}

/**
 * Returns the activity with its own times in the wanted form: the reference describes strings, public sources show
 * objects.
 */
export function withTimestamps(value, timestamps) {
  if (timestamps === 'object') return value;
  const text = ({ seconds, nanos }) => new Date(Number(seconds) * 1000 + Number(nanos) / 1e6).toISOString();
  return { ...value, createdAt: text(value.createdAt), updatedAt: text(value.updatedAt) };
}
