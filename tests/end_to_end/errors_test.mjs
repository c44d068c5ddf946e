// The errors that callers get for upstream's responses, with the real binary. translate/upstream_error_test.cc tests
// every row of the table.
import assert from 'node:assert/strict';
import { after, beforeEach, describe, it } from 'node:test';
import { ORGANIZATION } from '../simulator/testing.mjs';
import { QUERY, SUBMIT, failureOf, outcomeUnknown } from './failures.mjs';
import { HANG_MS, startStack } from './harness.mjs';

const { simulator, gateway } = await startStack({ after });
beforeEach(() => simulator.reset());

/** The error of a sample call to which upstream responds with this fault. */
function failureAfter(fault, sample) {
  simulator.addFaults([fault]);
  return failureOf(gateway, sample);
}

/** A response with this status and gRPC number, and no code of upstream's own. */
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

describe('if upstream sends no code of its own, the HTTP status decides', { timeout: HANG_MS }, () => {
  const refusals = [
    // HTTP status, gRPC number in the body, the caller's code
    [404, 5, 'NOT_FOUND'],
    [409, 10, 'ABORTED'],
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

  it('503 is UNAVAILABLE for a query, and it may be repeated', async () => {
    for (const [headers, retryMs] of [
      [{}, 1000],
      [{ 'Retry-After': '7' }, 7000],
    ]) {
      assert.deepEqual(await failureAfter(plain(503, 14, headers), QUERY), {
        code: 'UNAVAILABLE',
        domain: 'stampgate',
        reason: 'UPSTREAM_UNAVAILABLE',
        message: 'upstream answered HTTP 503',
        metadata: { http_status: '503', upstream_message: 'upstream says no' },
        retryMs,
      });
    }
  });

  it('500 is INTERNAL for a query', async () => {
    assert.deepEqual(await failureAfter(plain(500, 13), QUERY), {
      code: 'INTERNAL',
      domain: 'upstream',
      reason: 'HTTP_500',
      message: 'upstream says no',
      metadata: { http_status: '500' },
    });
  });

  for (const status of [204, 302, 500]) {
    it(`after ${status} the outcome of a submit is unknown, and the error does not suggest a retry`, async () => {
      const failure = await failureAfter(plain(status, 14, { 'Retry-After': '7' }), SUBMIT);
      // A 204 response has no body.
      const says = status !== 204 && { upstream_message: 'upstream says no' };
      outcomeUnknown(failure, 'UNKNOWN', { http_status: String(status), ...says });
    });
  }

  it("upstream's message about an unknown outcome is in the error, without secrets", async () => {
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

  it('a body that is empty or not JSON is ignored', async () => {
    for (const body of ['', '<html>']) {
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

describe("upstream's own code decides, at the top level or in the details", { timeout: HANG_MS }, () => {
  const codes = [
    // upstream's own code, the gRPC code in the same response (which determines the HTTP status), the caller's code
    ['ORGANIZATION_NOT_FOUND', 'INVALID_ARGUMENT', 'NOT_FOUND'],
    ['A_CODE_OF_NEXT_YEAR', 'NOT_FOUND', 'NOT_FOUND'],
  ];
  const places = ['detail', 'topLevel', 'both'];
  const statusOf = { INVALID_ARGUMENT: 400, NOT_FOUND: 404 };

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

  it("SIGNATURE_INVALID with any status is the gateway's fault", async () => {
    for (const [code, http] of [
      ['UNAUTHENTICATED', '401'],
      ['INVALID_ARGUMENT', '400'],
    ]) {
      for (const sample of [SUBMIT, QUERY]) {
        const expected = rejectedCredential({ http_status: http, upstream_code: 'SIGNATURE_INVALID' });
        assert.deepEqual(await failureAfter({ kind: 'error', code, errorCode: 'SIGNATURE_INVALID' }, sample), expected);
      }
    }
  });

  it('a code that is too long is ignored: the HTTP status decides', async () => {
    for (const sample of [SUBMIT, QUERY]) {
      const fault = { kind: 'error', code: 'NOT_FOUND', errorCode: 'X'.repeat(100), message: 'no', echo: false };
      assert.deepEqual(await failureAfter(fault, sample), {
        code: 'NOT_FOUND',
        domain: 'upstream',
        reason: 'HTTP_404',
        message: 'no',
        metadata: { http_status: '404' },
      });
    }
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

  const exhausted = { kind: 'error', code: 'RESOURCE_EXHAUSTED', echo: false };
  const limits = [
    [
      'a rate limit with Retry-After',
      { errorCode: 'RATE_LIMIT_EXCEEDED', message: 'slow down', headers: { 'Retry-After': '13' } },
      'RATE_LIMIT_EXCEEDED',
      13_000,
    ],
    ['a quota, recognized by its message', { message: 'user has too many API keys' }, 'HTTP_429'],
  ];
  for (const [name, fault, reason, retryMs] of limits) {
    it(`${name} ${retryMs ? 'has RetryInfo' : 'has no RetryInfo'}`, async () => {
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
});

describe('an outcome that is unknown', { timeout: HANG_MS }, () => {
  it('can be learnt by repeating the call with its timestamp: the gateway sends the same bytes and gets the same activity', async () => {
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

  it('is not learnt by a repetition without the timestamp, which creates another activity', async () => {
    const ids = [];
    for (let i = 0; i < 3; ++i) ids.push((await gateway.call(SUBMIT.method, SUBMIT.request)).activity.id);
    assert.equal(new Set(ids).size, 3);
  });
});

describe('an activity that is not completed is a response, not an error', { timeout: HANG_MS }, () => {
  it('ACTIVITY_STATUS_CONSENSUS_NEEDED is returned unchanged, without a result', async () => {
    const status = 'ACTIVITY_STATUS_CONSENSUS_NEEDED';
    simulator.addFaults([{ kind: 'activityStatus', status, result: 'absent' }]);
    const { activity } = await gateway.call(SUBMIT.method, SUBMIT.request);
    assert.equal(activity.status, status);
    assert.deepEqual(activity.result ?? {}, {});
    assert.equal(activity.failure, undefined);
    assert.deepEqual(activity.intent.update_organization_name_intent, SUBMIT.request.parameters);
  });

  it('ACTIVITY_STATUS_FAILED is returned with its failure', async () => {
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
