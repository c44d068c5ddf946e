// Tests requests with a thousand violations, which upstream or the gateway finds. A status with all of these violations
// would be too large for the connection.
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { code } from '../clients/gateway.mjs';
import { ORGANIZATION } from '../simulator/testing.mjs';
import { callFromCpp } from './cpp_client.mjs';
import { described } from './failures.mjs';
import { HANG_MS, startStack } from './harness.mjs';

const COUNT = 1000;
const MAX_KEPT = 20;

const { simulator, gateway } = await startStack({ after });

const policy = { policy_name: 'name', effect: 'EFFECT_ALLOW', notes: '' };
const cases = [
  {
    whose: "upstream's",
    method: 'OrganizationService/UpdateOrganizationName',
    // Every description of a violation repeats this name.
    request: { organization_id: ORGANIZATION, parameters: { organization_name: 'a long name, '.repeat(300) } },
    prepare: () =>
      simulator.addFaults([
        {
          kind: 'error',
          code: 'INVALID_ARGUMENT',
          errorCode: 'REQUEST_INVALID',
          message: 'the request is refused',
          fieldViolations: COUNT,
        },
      ]),
    info: { domain: 'upstream', reason: 'REQUEST_INVALID', metadata: { http_status: '400' } },
    field: (i) => `field${i}`,
    description: /^is refused: organizationName=a long name, .*\.\.\.$/,
  },
  {
    whose: 'our own',
    method: 'PolicyService/CreatePolicies',
    request: {
      organization_id: ORGANIZATION,
      parameters: { policies: Array.from({ length: COUNT }, () => ({ ...policy, policy_name: '' })) },
    },
    prepare: () => {},
    info: { domain: 'stampgate', reason: 'INVALID_REQUEST', metadata: {} },
    field: (i) => `parameters.policies[${i}].policy_name`,
    description: /./,
  },
  {
    whose: 'found by the gateway, with long field paths',
    method: 'UserService/CreateOauthProviders',
    request: {
      organization_id: ORGANIZATION,
      parameters: {
        user_id: 'u',
        oauth_providers: Array.from({ length: COUNT }, () => ({
          provider_name: 'p',
          oidc_claims: { iss: 'i', sub: 's', aud: '' },
        })),
      },
    },
    prepare: () => {},
    info: { domain: 'stampgate', reason: 'INVALID_REQUEST', metadata: {} },
    field: (i) => `parameters.oauth_providers[${i}].oidc_claims.aud`,
    description: /./,
  },
];

describe('of 1,000 violations the error has the first ones and the number of the others', { timeout: HANG_MS }, () => {
  for (const { whose, method, request, prepare, info, field, description } of cases) {
    function check({ domain, reason, metadata, message, violations }) {
      assert.ok(violations.length > 0 && violations.length <= MAX_KEPT, `${violations.length} violations`);
      const leftOut = COUNT - violations.length;
      assert.deepEqual(
        { domain, reason, metadata },
        { ...info, metadata: { ...info.metadata, violations_left_out: String(leftOut) } },
      );
      assert.match(message, new RegExp(` \\(and ${leftOut} more\\)$`));
      violations.forEach((violation, i) => {
        assert.equal(violation.field, field(i));
        assert.match(violation.description, description);
      });
    }

    it(`${whose}, read in Node`, async () => {
      prepare();
      const failure = described(await gateway.refusal(method, request));
      assert.equal(failure.code, 'INVALID_ARGUMENT');
      check(failure);
    });

    it(`${whose}, read in C++`, async () => {
      prepare();
      const { status, bytes, details } = await callFromCpp(gateway, method, request);
      assert.equal(status.code, code.INVALID_ARGUMENT);
      assert.ok(bytes > 0 && bytes <= 4096, `a status of ${bytes} bytes`);
      const detail = (name) => details.find((each) => each['@type'] === `type.googleapis.com/google.rpc.${name}`);
      const { metadata = {}, ...errorInfo } = detail('ErrorInfo');
      check({ ...errorInfo, metadata, message: status.message, violations: detail('BadRequest').fieldViolations });
    });
  }

  it('the gateway sent none of its refused requests upstream', () => {
    assert.deepEqual(
      [...new Set(simulator.requests().map(({ path }) => path))],
      ['/public/v1/submit/update_organization_name'],
    );
  });
});
