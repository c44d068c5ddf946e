// Sends every operation through a real gRPC client, the real gateway, and a simulator that checks stamps and bodies.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, beforeEach, describe, test } from 'node:test';
import { code, methods } from '../clients/gateway.mjs';
import { methodAt, pathOf, typedPaths } from '../clients/typed_messages.mjs';
import { operationAt, paths } from '../simulator/operations.mjs';
import { readFixture } from '../simulator/server.mjs';
import { OPEN_ACTIVITY, ORGANIZATION, apiKeyNamed, readVectors } from '../simulator/testing.mjs';
import { asSent } from './client_stamper.mjs';
import { startStack } from './harness.mjs';
import { RECORDED_MS, operations, queries, submits } from './operations.mjs';

/**
 * A fixture in which the organization of the recorded requests has a parent, because one of the requests deletes it.
 */
function fixtureWithDeletableOrganization() {
  const fixture = readFixture();
  const parentOrganizationId = '33333333-0000-4000-8000-000000000001';
  Object.assign(
    fixture.organizations.find(({ organizationId }) => organizationId === ORGANIZATION),
    {
      parentOrganizationId,
    },
  );
  fixture.openActivities = [OPEN_ACTIVITY];
  for (const each of [...fixture.wallets, ...fixture.privateKeys]) each.exported = true;
  return fixture;
}

const { simulator, gateway } = await startStack(
  { after },
  { simulator: { fixture: fixtureWithDeletableOrganization() } },
);

beforeEach(() => {
  simulator.reset();
  // The response to a vote is the activity of the vote, as for every other submit.
  simulator.change({ voteAnswer: 'vote' });
});

const recordedBody = (name) => {
  // Upstream's other client libraries send the same bodies, except that they add null members, which the reference does
  // not have.
  const isIt = ({ operation, client, variant }) =>
    operation === name && client === 'http' && variant === 'all-optional';
  return JSON.parse(readVectors('sdk-requests.json').requests.find(isIt).request.body);
};

/** Returns the request that upstream received. Fails unless it is the only one. */
function onlyRequest(path, verb = 'POST') {
  const requests = simulator.requests();
  assert.equal(requests.length, 1);
  assert.equal(requests[0].method, verb);
  assert.equal(requests[0].path, path);
  assert.deepEqual(requests[0].verdict, { outcome: 'accepted', status: 200 });
  return requests[0];
}

/** Sets the simulator's clock to the time of the recorded requests. */
const turnBackClock = () => simulator.change({ clockOffsetMs: RECORDED_MS + 1 - Date.now() });

function checkResult(activity, upstream, [resultField, resultMember, names]) {
  assert.deepEqual(Object.keys(activity.result), [resultField]);
  assert.deepEqual(Object.keys(activity.result[resultField]), Object.keys(names));
  for (const [field, member] of Object.entries(names)) {
    assert.deepEqual(activity.result[resultField][field], upstream.result[resultMember][member]);
    assert.ok(activity.result[resultField][field].length > 0, `${field} is empty`);
  }
}

function checkActivity({ activity, unrecognized }, { type, result, intent, newerNames }, { parameters }, sent) {
  const [intentField, intentMember] = intent;
  const upstream = simulator.service.state.activitiesById.get(activity.id);

  assert.equal(unrecognized, undefined);
  assert.equal(activity.organization_id, ORGANIZATION);
  assert.equal(activity.status, 'ACTIVITY_STATUS_COMPLETED');
  assert.equal(activity.type, type);
  assert.deepEqual(Object.keys(upstream.intent), [intentMember]);
  assert.deepEqual(activity.intent, {
    [intentField]: { ...parameters, ...newerNames?.(JSON.parse(sent.body).parameters) },
  });

  if (result === null) assert.deepEqual(activity.result ?? {}, {});
  else checkResult(activity, upstream, result);

  assert.equal(activity.fingerprint, `sha256:${createHash('sha256').update(sent.body).digest('hex')}`);
  assert.equal(activity.votes.length, 1);
  assert.equal(activity.votes[0].message, sent.body);
  assert.equal(activity.votes[0].selection, 'VOTE_SELECTION_APPROVED');
  assert.equal(activity.votes[0].public_key, apiKeyNamed('gateway p256').publicKey);
  assert.equal(activity.votes[0].user.user_name, 'gateway');
  assert.equal(activity.app_proofs?.length ?? 0, upstream.appProofs.length);
  assert.equal(activity.created_at.seconds, upstream.createdAt.seconds);
  assert.equal(activity.created_at.nanos ?? 0, Number(upstream.createdAt.nanos));
  assert.equal(activity.can_reject, true);
  assert.equal(activity.failure, undefined);
}

describe('with every optional field set, the gateway sends the recorded body:', () => {
  for (const operation of operations) {
    test(operation.name, async () => {
      turnBackClock();
      const response = await gateway.call(operation.method, await asSent(gateway, operation, operation.all));
      const sent = onlyRequest(operation.path);
      assert.deepEqual(JSON.parse(sent.body), recordedBody(operation.name));
      if (operation.intent) checkActivity(response, operation, operation.all, sent);
      else assert.equal(response.unrecognized, undefined);
    });
  }
});

describe('without optional fields, the gateway omits their members:', () => {
  for (const operation of submits) {
    test(operation.name, async () => {
      const response = await gateway.call(operation.method, await asSent(gateway, operation, operation.none));
      const sent = onlyRequest(operation.path);
      const { timestampMs, ...body } = JSON.parse(sent.body);
      assert.match(timestampMs, /^[0-9]{13}$/);
      const { type, noneJson: parameters } = operation;
      assert.deepEqual(body, { type, organizationId: ORGANIZATION, parameters });
      checkActivity(response, operation, operation.none, sent);
    });
  }
  for (const operation of queries) {
    test(operation.name, async () => {
      const { unrecognized } = await gateway.call(operation.method, operation.none);
      assert.deepEqual(JSON.parse(onlyRequest(operation.path).body), operation.noneJson);
      assert.equal(unrecognized, undefined);
    });
  }
});

describe("an error of upstream ends the caller's call with an error:", () => {
  for (const operation of operations) {
    const { name, method, none } = operation;
    test(name, async () => {
      const errorCode = 'REQUEST_NOT_AUTHORIZED';
      simulator.addFaults([{ kind: 'error', code: 'PERMISSION_DENIED', errorCode, match: { path: name } }]);
      const error = await gateway.refusal(method, await asSent(gateway, operation, none));
      assert.equal(error.code, code.PERMISSION_DENIED);
      assert.equal(error.info.domain, 'upstream');
      assert.equal(error.info.reason, errorCode);
      assert.equal(error.info.metadata.http_status, '403');
      assert.equal(simulator.stats().requests, 1);
    });
  }
});

test('every operation of the specification has a row here, and every other method sends an operation of the schema', () => {
  // tests/clients/upstream_operations_test.mjs calls the methods of the operations that the specification does not have.
  const mentioned = [
    'submit/init_otp',
    'submit/oauth_login',
    'query/list_earn_positions',
    'query/get_earn_withdraw_status',
  ];
  const withoutDescription = [...mentioned, 'query/whoami'].map((name) => `/public/v1/${name}`);
  const specified = paths.filter((path) => operationAt(path).isSpecified && !withoutDescription.includes(path));
  assert.deepEqual(operations.map(({ path }) => path).sort(), specified.sort());
  assert.equal(operations.length, 26);
  for (const { method, path } of operations) assert.equal(methodAt(path), method);
  const sent = new Set(typedPaths.map(pathOf));
  assert.deepEqual([...sent].sort(), [...paths, '/public/v1/discovery/webhooks/jwks'].sort());

  const general = ['GeneralService/SubmitOperation', 'GeneralService/QueryOperation'];
  const upstream = [...methods.keys()].filter((method) => !/^(Event|Stamp|Subscription)Service\//.test(method));
  assert.deepEqual(upstream.sort(), [...typedPaths.map(methodAt), ...general].sort());
});

// Upstream's client libraries cannot send generateAppProofs for these two operations, so no recorded request contains
// this member.
for (const name of ['create_session_profile', 'update_mfa_policy']) {
  test(`${name} can request App Proofs too`, async () => {
    const { method, none } = operations.find((operation) => operation.name === name);
    const { activity } = await gateway.call(method, { ...none, generate_app_proofs: true });
    assert.equal(JSON.parse(simulator.requests()[0].body).generateAppProofs, true);
    assert.equal(activity.app_proofs.length, 1);
    assert.match(activity.app_proofs[0].scheme, /^SIGNATURE_SCHEME_EPHEMERAL_KEY_P256$/);
  });
}

test('a field that is false is sent as false, and an absent field is not sent', async () => {
  const { method, none } = submits[0];
  await gateway.call(method, { ...none, generate_app_proofs: false });
  await gateway.call(method, none);
  const [first, second] = simulator.requests().map(({ body }) => JSON.parse(body));
  assert.equal(first.generateAppProofs, false);
  assert.ok(!('generateAppProofs' in second));
});

test('an empty required list is sent as [], and an empty optional list is omitted', async () => {
  const parameters = { user_id: operations[11].none.parameters.user_id, provider_ids: [] };
  await gateway.call('UserService/DeleteOauthProviders', { organization_id: ORGANIZATION, parameters });
  const { parameters: none } = submits.find(({ name }) => name === 'update_mfa_policy').none;
  await gateway.call('UserService/UpdateMfaPolicy', {
    organization_id: ORGANIZATION,
    parameters: { ...none, required_authentication_methods: [] },
  });
  const [deletion, update] = simulator.requests().map(({ body }) => JSON.parse(body).parameters);
  assert.deepEqual(deletion.providerIds, []);
  assert.ok(!('requiredAuthenticationMethods' in update));
});

test('the gateway sends a request as one JSON POST with one stamp', async () => {
  const { method, none } = submits[0];
  await gateway.call(method, none);
  const headers = new Map(simulator.requests()[0].headers.map(([name, value]) => [name.toLowerCase(), value]));
  assert.equal(headers.get('content-type'), 'application/json');
  assert.equal(headers.get('accept'), 'application/json');
  assert.ok(headers.has('x-stamp'));
  assert.ok(!headers.has('x-stamp-webauthn'));
  assert.ok(!headers.has('transfer-encoding'));
});

describe('the key set of webhooks', () => {
  test('is fetched without a stamp and without a body', async () => {
    const { keys, unrecognized } = await gateway.call('WebhookService/GetWebhookKeySet', {});
    assert.deepEqual(keys, [
      {
        kid: 'webhook-key-1',
        kty: 'OKP',
        crv: 'Ed25519',
        alg: 'EdDSA',
        use: 'sig',
        // The Ed25519 public key of the seed 00 01 02 ... 1f.
        x: 'A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg',
        signature_algorithm: 'ed25519',
        signature_version: 'v1',
      },
    ]);
    assert.equal(unrecognized, undefined);
    const { body, headers } = onlyRequest('/public/v1/discovery/webhooks/jwks', 'GET');
    assert.equal(body, '');
    assert.ok(!headers.some(([name]) => /^x-stamp/i.test(name)));
  });

  test('can be refused by upstream', async () => {
    simulator.addFaults([{ kind: 'error', code: 'NOT_FOUND', errorCode: 'GONE_AWAY', match: { path: 'jwks' } }]);
    const error = await gateway.refusal('WebhookService/GetWebhookKeySet', {});
    assert.equal(error.code, code.NOT_FOUND);
    assert.deepEqual([error.info.domain, error.info.reason], ['upstream', 'GONE_AWAY']);
  });
});
