// Every row of the error table through the real binary: what upstream answers, and what the caller is told.
import assert from 'node:assert/strict';
import { after, beforeEach, describe, it } from 'node:test';
import { ORGANIZATION } from '../simulator/testing.mjs';
import { QUERY, SUBMIT, failureOf, outcomeUnknown } from './failures.mjs';
import { HANG_MS, startStack } from './harness.mjs';

const { simulator, gateway } = await startStack({ after });
beforeEach(() => simulator.reset());

/** The failure of a sample call that upstream answers with this fault. */
function failureAfter(fault, sample) {
  simulator.addFaults([fault]);
  return failureOf(gateway, sample);
}

/** An answer with this status and gRPC number, and nothing else to go by. */
const plain = (status, number, headers = {}) => ({
  kind: 'status',
  status,
  body: JSON.stringify({ code: number, message: 'upstream says no', details: [] }),
  headers,
});

const rejectedCredential = (metadata) => ({
  code: 'INTERNAL',
  domain: 'stampgate',
  reason: 'GATEWAY_CREDENTIAL_REJECTED',
  message: "upstream refused the gateway's own key",
  metadata,
});

const RATE_LIMIT_MS = 1000;

describe('an HTTP status alone decides', { timeout: HANG_MS }, () => {
  const refusals = [
    // status, gRPC number in the body, what the caller gets
    [400, 3, 'INVALID_ARGUMENT'],
    [400, 9, 'FAILED_PRECONDITION'],
    [400, 11, 'OUT_OF_RANGE'],
    [402, 9, 'FAILED_PRECONDITION'],
    [403, 7, 'PERMISSION_DENIED'],
    [404, 5, 'NOT_FOUND'],
    [405, 12, 'INTERNAL'],
    [406, 3, 'INTERNAL'],
    [409, 6, 'ALREADY_EXISTS'],
    [409, 10, 'ABORTED'],
    [410, 5, 'FAILED_PRECONDITION'],
    [413, 3, 'INVALID_ARGUMENT'],
    [415, 3, 'INTERNAL'],
    [418, 3, 'FAILED_PRECONDITION'],
    [422, 3, 'INVALID_ARGUMENT'],
    [429, 8, 'RESOURCE_EXHAUSTED'],
    [501, 12, 'UNIMPLEMENTED'],
  ];
  for (const [status, number, code] of refusals) {
    it(`${status} with number ${number} is ${code}`, async () => {
      for (const sample of [SUBMIT, QUERY]) {
        assert.deepEqual(await failureAfter(plain(status, number), sample), {
          code,
          domain: 'upstream',
          reason: `HTTP_${status}`,
          message: 'upstream says no',
          metadata: { http_status: String(status) },
        });
      }
    });
  }

  it("401 is the gateway's fault", async () => {
    for (const sample of [SUBMIT, QUERY]) {
      assert.deepEqual(await failureAfter(plain(401, 16), sample), rejectedCredential({ http_status: '401' }));
    }
  });

  for (const status of [408, 499, 502, 503, 504]) {
    it(`${status} is UNAVAILABLE for a query, and it may be repeated`, async () => {
      for (const [headers, retryMs] of [
        [{}, 1000],
        [{ 'Retry-After': '7' }, 7000],
      ]) {
        assert.deepEqual(await failureAfter(plain(status, 14, headers), QUERY), {
          code: 'UNAVAILABLE',
          domain: 'stampgate',
          reason: 'UPSTREAM_UNAVAILABLE',
          message: `upstream answered HTTP ${status}`,
          metadata: { http_status: String(status), upstream_message: 'upstream says no' },
          retryMs,
        });
      }
    });
  }

  for (const [status, number] of [
    [500, 13],
    [500, 2],
    [500, 15],
    [505, 13],
    [599, 13],
  ]) {
    it(`${status} with number ${number} is INTERNAL for a query`, async () => {
      assert.deepEqual(await failureAfter(plain(status, number), QUERY), {
        code: 'INTERNAL',
        domain: 'upstream',
        reason: `HTTP_${status}`,
        message: 'upstream says no',
        metadata: { http_status: String(status) },
      });
    });
  }

  for (const status of [201, 202, 204, 300, 302, 304, 408, 499, 500, 502, 503, 504, 599]) {
    it(`${status} leaves the outcome of a submit unknown, and says nothing of repeating it freely`, async () => {
      const failure = await failureAfter(plain(status, 14, { 'Retry-After': '7' }), SUBMIT);
      // These have no body.
      const says = status > 299 && status !== 304 && { upstream_message: 'upstream says no' };
      outcomeUnknown(failure, 'UNKNOWN', { http_status: String(status), ...says });
    });
  }

  it('what upstream says of an outcome that is unknown is handed on, without secrets', async () => {
    const sample = {
      method: 'AuthenticationService/Oauth',
      request: { organization_id: ORGANIZATION, parameters: { oidc_token: 'hush-hush-hush', target_public_key: '04' } },
    };
    const fault = { kind: 'error', code: 'INTERNAL', errorCode: 'RPC_CALL_ERROR', message: 'no node' };
    const { metadata } = await failureAfter(fault, sample);
    assert.equal(metadata.upstream_code, 'RPC_CALL_ERROR');
    assert.match(metadata.upstream_message, /^no node/);
    assert.ok(!JSON.stringify(metadata).includes('hush'));
  });

  it('a body that is not JSON, or empty, does not matter', async () => {
    for (const body of ['', '<html>', '[]', '{"code": ', '"text"', '{}', '{"message": 7, "code": "x", "details": 1}']) {
      for (const sample of [SUBMIT, QUERY]) {
        assert.deepEqual(await failureAfter({ kind: 'status', status: 404, body }, sample), {
          code: 'NOT_FOUND',
          domain: 'upstream',
          reason: 'HTTP_404',
          message: 'upstream answered HTTP 404',
          metadata: { http_status: '404' },
        });
      }
    }
  });
});

describe("upstream's own code decides, wherever it stands", { timeout: HANG_MS }, () => {
  const codes = [
    // the code, the gRPC code and so the HTTP status that it comes with, what the caller gets
    ['API_OPERATIONS_DISABLED', 'RESOURCE_EXHAUSTED', 'FAILED_PRECONDITION'],
    ['CREDENTIAL_CONFLICT', 'INVALID_ARGUMENT', 'ALREADY_EXISTS'],
    ['CREDENTIAL_NOT_FOUND', 'INVALID_ARGUMENT', 'NOT_FOUND'],
    ['EMAIL_SENDING_DISABLED', 'INVALID_ARGUMENT', 'FAILED_PRECONDITION'],
    ['FORBIDDEN', 'PERMISSION_DENIED', 'PERMISSION_DENIED'],
    ['INTERNAL', 'INVALID_ARGUMENT', 'INTERNAL'],
    ['INVALID_ACTIVITY_CALLER', 'INVALID_ARGUMENT', 'PERMISSION_DENIED'],
    ['INVALID_EMAIL', 'NOT_FOUND', 'INVALID_ARGUMENT'],
    ['INVALID_FQDN', 'NOT_FOUND', 'INVALID_ARGUMENT'],
    ['INVALID_OAUTH2_PROVIDER', 'NOT_FOUND', 'INVALID_ARGUMENT'],
    ['INVALID_OIDC_TOKEN', 'NOT_FOUND', 'INVALID_ARGUMENT'],
    ['INVALID_ORGANIZATION_ID', 'NOT_FOUND', 'INVALID_ARGUMENT'],
    ['INVALID_TIME', 'NOT_FOUND', 'INVALID_ARGUMENT'],
    ['INVALID_TRANSACTION', 'NOT_FOUND', 'INVALID_ARGUMENT'],
    ['MAX_OTP_INITIATED', 'RESOURCE_EXHAUSTED', 'RESOURCE_EXHAUSTED'],
    ['OAUTH2_CREDENTIAL_NOT_FOUND', 'INVALID_ARGUMENT', 'NOT_FOUND'],
    ['OAUTH2_PROVIDER_NOT_CONFIGURED', 'INVALID_ARGUMENT', 'FAILED_PRECONDITION'],
    ['OAUTH2_PROVIDER_NOT_FOUND', 'INVALID_ARGUMENT', 'NOT_FOUND'],
    ['OAUTH_PROVIDER_ALREADY_EXISTS', 'INVALID_ARGUMENT', 'ALREADY_EXISTS'],
    ['ORGANIZATION_MISMATCH', 'INVALID_ARGUMENT', 'FAILED_PRECONDITION'],
    ['ORGANIZATION_NOT_FOUND', 'INVALID_ARGUMENT', 'NOT_FOUND'],
    ['REQUEST_INVALID', 'INVALID_ARGUMENT', 'INVALID_ARGUMENT'],
    ['REQUEST_NOT_AUTHORIZED', 'INVALID_ARGUMENT', 'PERMISSION_DENIED'],
    ['RPC_CALL_ERROR', 'INVALID_ARGUMENT', 'INTERNAL'],
    ['SIGNING_QUOTA_EXCEEDED', 'RESOURCE_EXHAUSTED', 'RESOURCE_EXHAUSTED'],
    ['SWAP_QUOTE_ALREADY_USED', 'INVALID_ARGUMENT', 'FAILED_PRECONDITION'],
    ['TRANSACTION_RISK_SCREENING_DENIED', 'PERMISSION_DENIED', 'FAILED_PRECONDITION'],
    ['TRANSACTION_RISK_SCREENING_UNVERIFIED', 'PERMISSION_DENIED', 'FAILED_PRECONDITION'],
    ['TVC_CLIENT_VERSION_TOO_OLD', 'INVALID_ARGUMENT', 'FAILED_PRECONDITION'],
    ['TVC_IMAGE_VALIDATION_FAILED', 'INVALID_ARGUMENT', 'FAILED_PRECONDITION'],
    ['UNSUPPORTED_TRANSACTION_TYPE', 'NOT_FOUND', 'INVALID_ARGUMENT'],
    ['WALLET_ACCOUNT_NOT_EXPORTED', 'INVALID_ARGUMENT', 'FAILED_PRECONDITION'],
    ['A_CODE_OF_NEXT_YEAR', 'NOT_FOUND', 'NOT_FOUND'],
  ];
  const places = ['detail', 'topLevel', 'both'];
  const statusOf = { INVALID_ARGUMENT: 400, PERMISSION_DENIED: 403, NOT_FOUND: 404, RESOURCE_EXHAUSTED: 429 };

  for (const [errorCode, from, code] of codes) {
    it(`${errorCode} is ${code}`, async () => {
      for (const errorCodeIn of places) {
        for (const sample of [SUBMIT, QUERY]) {
          const fault = { kind: 'error', code: from, errorCode, errorCodeIn, message: 'upstream says no', echo: false };
          assert.deepEqual(await failureAfter(fault, sample), {
            code,
            domain: 'upstream',
            reason: errorCode,
            message: 'upstream says no',
            metadata: { http_status: String(statusOf[from]) },
          });
        }
      }
    });
  }

  for (const errorCode of [
    'API_KEY_EXPIRED',
    'PUBLIC_KEY_NOT_FOUND',
    'SIGNATURE_INVALID',
    'SIGNATURE_MISSING',
    'UNAUTHENTICATED',
  ]) {
    it(`${errorCode} is the gateway's fault, whatever status it comes with`, async () => {
      for (const errorCodeIn of places) {
        for (const [code, http] of [
          ['UNAUTHENTICATED', '401'],
          ['INVALID_ARGUMENT', '400'],
        ]) {
          for (const sample of [SUBMIT, QUERY]) {
            const fault = { kind: 'error', code, errorCode, errorCodeIn };
            const expected = rejectedCredential({ http_status: http, upstream_code: errorCode });
            assert.deepEqual(await failureAfter(fault, sample), expected);
          }
        }
      }
    });
  }

  for (const errorCode of ['', 'UNSPECIFIED', 'not a code', 'x'.repeat(100)]) {
    it(`${JSON.stringify(errorCode).slice(0, 20)} is no code: the HTTP status decides`, async () => {
      for (const errorCodeIn of places) {
        for (const sample of [SUBMIT, QUERY]) {
          const fault = { kind: 'error', code: 'NOT_FOUND', errorCode, errorCodeIn, message: 'no', echo: false };
          assert.deepEqual(await failureAfter(fault, sample), {
            code: 'NOT_FOUND',
            domain: 'upstream',
            reason: 'HTTP_404',
            message: 'no',
            metadata: { http_status: '404' },
          });
        }
      }
    });
  }

  it('details may be empty, null or absent', async () => {
    for (const details of ['empty', 'null', 'absent']) {
      for (const sample of [SUBMIT, QUERY]) {
        const fault = { kind: 'error', code: 'NOT_FOUND', details, message: 'no', echo: false };
        assert.equal((await failureAfter(fault, sample)).reason, 'HTTP_404');
        const withCode = { ...fault, errorCode: 'ORGANIZATION_NOT_FOUND', errorCodeIn: 'both' };
        assert.equal((await failureAfter(withCode, sample)).reason, 'ORGANIZATION_NOT_FOUND');
      }
    }
  });

  it("the operator's name in the code's member does not matter", async (t) => {
    const other = await startStack(t, {
      simulator: { operator: 'example' },
      config: { operator_name: 'Example' },
    });
    other.simulator.addFaults([
      { kind: 'error', code: 'NOT_FOUND', errorCode: 'ORGANIZATION_NOT_FOUND', errorCodeIn: 'both' },
    ]);
    assert.equal((await failureOf(other.gateway, QUERY)).reason, 'ORGANIZATION_NOT_FOUND');
  });
});

describe('details of refusals', { timeout: HANG_MS }, () => {
  it('field violations are passed on', async () => {
    for (const sample of [SUBMIT, QUERY]) {
      const fault = {
        kind: 'error',
        code: 'INVALID_ARGUMENT',
        errorCode: 'REQUEST_INVALID',
        message: 'bad',
        fieldViolations: 2,
        echo: false,
      };
      assert.deepEqual(await failureAfter(fault, sample), {
        code: 'INVALID_ARGUMENT',
        domain: 'upstream',
        reason: 'REQUEST_INVALID',
        message: 'bad',
        metadata: { http_status: '400' },
        violations: [
          { field: 'field0', description: 'is refused' },
          { field: 'field1', description: 'is refused' },
        ],
      });
    }
  });

  it('a denial by policy is PERMISSION_DENIED', async () => {
    const fault = { kind: 'error', code: 'PERMISSION_DENIED', policyDenied: true, message: 'denied', echo: false };
    for (const sample of [SUBMIT, QUERY]) {
      assert.deepEqual(await failureAfter(fault, sample), {
        code: 'PERMISSION_DENIED',
        domain: 'upstream',
        reason: 'HTTP_403',
        message: 'denied',
        metadata: { http_status: '403' },
      });
    }
  });

  const exhausted = { kind: 'error', code: 'RESOURCE_EXHAUSTED', echo: false };
  const limits = [
    [
      'a rate limit by its code',
      { errorCode: 'RATE_LIMIT_EXCEEDED', message: 'slow down' },
      'RATE_LIMIT_EXCEEDED',
      RATE_LIMIT_MS,
    ],
    [
      'a rate limit by its words',
      { message: 'Too many requests. Please wait and try again' },
      'HTTP_429',
      RATE_LIMIT_MS,
    ],
    ['a rate limit by its other words', { message: 'the caller has been rate limited' }, 'HTTP_429', RATE_LIMIT_MS],
    [
      'a rate limit with Retry-After',
      { errorCode: 'RATE_LIMIT_EXCEEDED', message: 'slow down', headers: { 'Retry-After': '13' } },
      'RATE_LIMIT_EXCEEDED',
      13_000,
    ],
    [
      'a quota by its code',
      { errorCode: 'SIGNING_QUOTA_EXCEEDED', message: 'too many requests' },
      'SIGNING_QUOTA_EXCEEDED',
    ],
    ['a quota by its words', { message: 'user has too many API keys' }, 'HTTP_429'],
    [
      'any other words with Retry-After',
      { message: 'not now', headers: { 'Retry-After': '13' } },
      'HTTP_429',
      13_000,
    ],
    [
      'a quota by its code, even with Retry-After',
      { errorCode: 'SIGNING_QUOTA_EXCEEDED', message: 'no', headers: { 'Retry-After': '13' } },
      'SIGNING_QUOTA_EXCEEDED',
    ],
    ['a limit on one-time codes', { errorCode: 'MAX_OTP_INITIATED', message: 'max' }, 'MAX_OTP_INITIATED'],
  ];
  for (const [name, fault, reason, retryMs] of limits) {
    it(`${name} ${retryMs ? 'says when to repeat' : 'says nothing of repeating'}`, async () => {
      for (const sample of [SUBMIT, QUERY]) {
        assert.deepEqual(await failureAfter({ ...exhausted, ...fault }, sample), {
          code: 'RESOURCE_EXHAUSTED',
          domain: 'upstream',
          reason,
          message: fault.message,
          metadata: { http_status: '429' },
          ...(retryMs && { retryMs }),
        });
      }
    });
  }

  it('the code of a rate limit says when to repeat with another status too', async () => {
    for (const sample of [SUBMIT, QUERY]) {
      const failure = await failureAfter({ kind: 'error', code: 'INVALID_ARGUMENT', errorCode: 'RATE_LIMIT_EXCEEDED' }, sample);
      assert.deepEqual([failure.code, failure.retryMs], ['RESOURCE_EXHAUSTED', RATE_LIMIT_MS]);
    }
  });

  it('a 429 without a body is a rate limit', async () => {
    const { code, reason, retryMs } = await failureAfter({ kind: 'status', status: 429 }, SUBMIT);
    assert.deepEqual([code, reason, retryMs], ['RESOURCE_EXHAUSTED', 'HTTP_429', RATE_LIMIT_MS]);
  });

  it('a message that is too long is cut, and stays text', async () => {
    const fault = { kind: 'error', code: 'NOT_FOUND', message: 'é€😀'.repeat(5000), echo: false };
    const { message } = await failureAfter(fault, QUERY);
    assert.match(message, /^(é€😀)+(é|é€)?\.\.\.$/u);
  });
});

describe('an outcome that is unknown', { timeout: HANG_MS }, () => {
  it('is learnt by repeating the call with its timestamp: the same bytes, the same activity', async () => {
    simulator.addFaults([{ kind: 'error', code: 'INTERNAL', apply: true }]);
    const failure = await failureOf(gateway, SUBMIT);
    const { upstream_message } = failure.metadata;
    assert.match(upstream_message, /^the service refuses/);
    const said = { http_status: '500', upstream_message };
    const { timestamp_ms, fingerprint } = outcomeUnknown(failure, 'UNKNOWN', said);

    const answer = await gateway.call(SUBMIT.method, { ...SUBMIT.request, timestamp_ms });
    assert.equal(answer.activity.fingerprint, fingerprint);
    assert.equal(answer.activity.status, 'ACTIVITY_STATUS_COMPLETED');
    const again = await gateway.call(SUBMIT.method, { ...SUBMIT.request, timestamp_ms });
    assert.equal(again.activity.id, answer.activity.id);

    const bodies = simulator.requests().map(({ body }) => body);
    assert.equal(bodies.length, 3);
    assert.equal(new Set(bodies).size, 1);
    assert.equal(simulator.service.state.activitiesById.size, 1);
  });

  it('a repetition without the timestamp is another activity', async () => {
    const ids = [];
    for (let i = 0; i < 3; ++i) ids.push((await gateway.call(SUBMIT.method, SUBMIT.request)).activity.id);
    assert.equal(new Set(ids).size, 3);
  });
});

describe('an activity that did not end well is an answer, not an error', { timeout: HANG_MS }, () => {
  const statuses = [
    'ACTIVITY_STATUS_CREATED',
    'ACTIVITY_STATUS_PENDING',
    'ACTIVITY_STATUS_CONSENSUS_NEEDED',
    'ACTIVITY_STATUS_REJECTED',
    'ACTIVITY_STATUS_AUTHENTICATORS_NEEDED',
  ];
  for (const status of statuses) {
    it(`${status} comes as it is, without a result`, async () => {
      for (const result of ['empty', 'null', 'absent']) {
        simulator.addFaults([{ kind: 'activityStatus', status, result }]);
        const { activity } = await gateway.call(SUBMIT.method, SUBMIT.request);
        assert.equal(activity.status, status);
        assert.deepEqual(activity.result ?? {}, {});
        assert.equal(activity.failure, undefined);
        assert.deepEqual(activity.intent.update_organization_name_intent, SUBMIT.request.parameters);
      }
    });
  }

  it('ACTIVITY_STATUS_FAILED comes with its failure', async () => {
    simulator.addFaults([
      {
        kind: 'activityStatus',
        status: 'ACTIVITY_STATUS_FAILED',
        failure: { code: 3, message: 'it failed', details: [{ '@type': 'x', reason: [1, 18446744073709551616] }] },
      },
    ]);
    const { activity } = await gateway.call(SUBMIT.method, SUBMIT.request);
    assert.equal(activity.status, 'ACTIVITY_STATUS_FAILED');
    const { code, message, details } = activity.failure;
    assert.deepEqual([code, message, details.length], [3, 'it failed', 1]);
    assert.deepEqual(JSON.parse(details[0])['@type'], 'x');
  });

  it('a status that the proto does not know is kept in `unrecognized`', async () => {
    simulator.addFaults([{ kind: 'activityStatus', status: 'ACTIVITY_STATUS_OF_NEXT_YEAR' }]);
    const answer = await gateway.call(SUBMIT.method, SUBMIT.request);
    assert.equal(answer.activity.status, undefined);
    assert.deepEqual(answer.unrecognized, { '/activity/status': '"ACTIVITY_STATUS_OF_NEXT_YEAR"' });
  });
});
