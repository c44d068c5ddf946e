// Helpers for tests of errors: two sample calls, and a function that turns an error into a plain object.
import assert from 'node:assert/strict';
import { code } from '../clients/gateway.mjs';
import { ORGANIZATION, identifier } from '../simulator/testing.mjs';

/** A sample submit and a sample query, whose errors differ. */
export const SUBMIT = {
  kind: 'submit',
  method: 'OrganizationService/UpdateOrganizationName',
  path: '/public/v1/submit/update_organization_name',
  request: { organization_id: ORGANIZATION, parameters: { organization_name: 'Renamed' } },
};
export const QUERY = {
  kind: 'query',
  method: 'PolicyService/GetPolicy',
  path: '/public/v1/query/get_policy',
  request: { organization_id: ORGANIZATION, policy_id: identifier(6) },
};

/** A submit of an operation without a method of its own. */
export const GENERAL_SUBMIT = {
  method: 'GeneralService/SubmitOperation',
  request: {
    organization_id: ORGANIZATION,
    path: 'init_otp',
    activity_type: 'ACTIVITY_TYPE_INIT_OTP_V3',
    parameters: JSON.stringify({ otpType: 'OTP_TYPE_EMAIL', contact: 'a@example.com', appName: 'app' }),
  },
};

/** The error of a call that got no connection to upstream in time, as described() returns it. */
export const NO_CONNECTION = {
  code: 'RESOURCE_EXHAUSTED',
  domain: 'stampgate',
  reason: 'UPSTREAM_BUSY',
  message: 'the call timed out before a connection to upstream was free; nothing was sent',
  metadata: {},
  retryMs: 1000,
};

const MAX_STATUS_BYTES = 4096;
const MAX_MESSAGE_BYTES = 512;
const nameOf = (number) => Object.keys(code).find((name) => code[name] === number);

/**
 * A gRPC error as `{code, domain, reason, message, metadata}`, with `retryMs` and `violations` where it has them.
 * Also checks the limits that apply to every error.
 */
export function described(error) {
  assert.ok(error.statusBytes, `an error without details: ${error.message}`);
  assert.ok(error.statusBytes.length <= MAX_STATUS_BYTES, `a status of ${error.statusBytes.length} bytes`);
  assert.ok(Buffer.byteLength(error.details) <= MAX_MESSAGE_BYTES, `a message of ${error.details.length} characters`);
  const { info, retryInfo, badRequest } = error;
  const plain = {
    code: nameOf(error.code),
    domain: info.domain,
    reason: info.reason,
    message: error.details,
    metadata: { ...info.metadata },
  };
  if (retryInfo) {
    const { seconds = '0', nanos = 0 } = retryInfo.retry_delay;
    plain.retryMs = Number(seconds) * 1000 + nanos / 1e6;
  }
  if (badRequest) plain.violations = badRequest.field_violations;
  return plain;
}

/**
 * The options of a call with a deadline that only the gateway enforces. A client with a timer could end the call before
 * the gateway's response arrives.
 */
export const deadline = (ms) => ({ deadlineMs: Infinity, metadata: { 'grpc-timeout': `${ms}m` } });

/** Starts a call without a deadline. `ended` resolves to its response or its error, `cancel()` cancels it. */
export function start(gateway, { method, request }) {
  let sent;
  const ended = gateway
    .call(method, request, { deadlineMs: Infinity, onCall: (call) => (sent = call) })
    .catch((error) => error);
  return { ended, cancel: () => sent.cancel() };
}

/** The error of a sample call, as described() returns it. */
export async function failureOf(gateway, { method, request }, options) {
  return described(await gateway.refusal(method, request, options));
}

/** Checks that `failure` is OUTCOME_UNKNOWN with this code. Returns the fields with which the call can be repeated. */
export function outcomeUnknown(failure, expectedCode, moreMetadata = {}) {
  const { timestamp_ms, fingerprint } = failure.metadata;
  assert.match(timestamp_ms, /^\d{13}$/);
  assert.match(fingerprint, /^sha256:[0-9a-f]{64}$/);
  assert.ok(failure.message.includes(timestamp_ms), failure.message);
  assert.deepEqual(
    { ...failure, message: '' },
    {
      code: expectedCode,
      domain: 'stampgate',
      reason: 'OUTCOME_UNKNOWN',
      message: '',
      metadata: { timestamp_ms, fingerprint, ...moreMetadata },
    },
  );
  return { timestamp_ms, fingerprint };
}
