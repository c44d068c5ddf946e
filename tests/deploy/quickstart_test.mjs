// Tests of deploy/demonstration, which deploy/quickstart runs after the build, and of deploy/call.mjs.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { HANG_MS, run, startStack } from '../end_to_end/harness.mjs';
import { binary, root } from '../paths.mjs';

test('the demonstration shows calls, errors, a denial, metrics and an event, and exits', { timeout: HANG_MS }, async () => {
  const { status, stdout, stderr } = await run([binary('gateway/stampgate'), '--once'], {
    command: join(root, 'deploy/demonstration'),
  });
  assert.equal(status, 0, stderr);
  for (const shown of [
    /^the gateway sent: POST \/public\/v1\/submit\/create_policies$/m,
    /^ {2}UNKNOWN OUTCOME_UNKNOWN: /m,
    /^ {2}INVALID_ARGUMENT INVALID_REQUEST: /m,
    /^ {2}PERMISSION_DENIED DENIED_BY_POLICY: /m,
    /^ {2}\{.*"kind":"deny","caller":"quickstart"/m,
    /^ {2}stampgate_calls_total\{code="PERMISSION_DENIED",method="[^"]*DeleteSubOrganization"\} 1$/m,
    /^ {2}subscriber: ACTIVITY_UPDATES ACTIVITY_TYPE_CREATE_POLICIES /m,
  ]) {
    assert.match(stdout, shown);
  }
  assert.match(stdout, /This was --once: gateway and simulator end now\.[^]*\n {2}\.\/deploy\/quickstart\n$/);
});

describe('call.mjs', { timeout: HANG_MS }, () => {
  const organization = '"organization_id": "11111111-2222-4333-8444-555555555555"';
  for (const [what, status, args, said] of [
    ['prints the response', 0, ['WalletService/ListWalletAccounts', `{${organization}}`], /"accounts"/],
    ['prints the error of a failed call', 1, ['WalletService/ListWalletAccounts', '{}'], /INVALID_REQUEST[^]*organization_id/],
    ['refuses a misspelt field', 2, ['WalletService/ListWalletAccounts', '{"organisation_id": "x"}'], /no field organisation_id/],
    ['refuses a misspelt field of a nested message', 2, ['PolicyService/CreatePolicies', '{"parameters": {"policies": [{"efect": 1}]}}'], /no field parameters\.policies\[0\]\.efect/],
    ['refuses an unknown method', 2, ['WalletService/Nothing', '{}'], /no method WalletService\/Nothing/],
    ['refuses a request that is not JSON', 2, ['WalletService/ListWalletAccounts', '{'], /not JSON/],
  ]) {
    test(what, async (t) => {
      const { simulator, gateway } = await startStack(t);
      const done = await run([join(root, 'deploy/call.mjs'), gateway.address, ...args], { command: process.execPath });
      assert.equal(done.status, status, done.stderr);
      assert.match(status === 0 ? done.stdout : done.stderr, said);
      if (status === 2) assert.equal(simulator.requests().length, 0);
    });
  }
});
