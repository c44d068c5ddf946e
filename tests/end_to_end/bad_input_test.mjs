// Invalid requests: the call ends with INVALID_ARGUMENT and the path of every fault, and upstream receives nothing.
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { code, encode } from '../clients/gateway.mjs';
import { END_USER, ORGANIZATION, identifier } from '../simulator/testing.mjs';
import { startStack } from './harness.mjs';
import { operations, submits } from './operations.mjs';

const { simulator, gateway } = await startStack({ after });

const named = (name) => operations.find((operation) => operation.name === name);

/**
 * Checks that the call ends with INVALID_ARGUMENT and exactly these field paths, and that upstream receives nothing.
 */
async function isRefused(method, request, ...fields) {
  const before = simulator.stats();
  const error = await gateway.refusal(method, request);
  assert.equal(error.code, code.INVALID_ARGUMENT, error.message);
  assert.deepEqual([error.info.domain, error.info.reason], ['stampgate', 'INVALID_REQUEST']);
  const violations = error.badRequest?.field_violations ?? [];
  assert.deepEqual(
    violations.map(({ field = '' }) => field),
    fields,
  );
  for (const { description } of violations) assert.ok(description.length > 0);
  assert.equal(simulator.stats().requests, before.requests);
  assert.equal(simulator.stats().connections, before.connections);
  return error;
}

/** Checks that the gateway sends the request upstream. Upstream's response does not matter. */
async function isSent(method, request) {
  const before = simulator.stats().requests;
  await gateway.call(method, request).catch((error) => assert.equal(error.info?.domain, 'upstream', error.message));
  assert.equal(simulator.stats().requests, before + 1);
}

/** A copy of the request in which `change` is applied at a path such as "parameters.policies[0].notes". */
function changedAt(request, path, change) {
  const copy = structuredClone(request);
  const names = path.match(/[a-z0-9_]+/g);
  const last = names.pop();
  change(
    names.reduce((holder, name) => holder[name], copy),
    last,
  );
  return copy;
}

const without = (request, path) => changedAt(request, path, (holder, name) => delete holder[name]);
const withValue = (request, path, value) => changedAt(request, path, (holder, name) => (holder[name] = value));

/** The required fields, transcribed from the specification. Lists are not required: the gateway sends an empty list. */
const REQUIRED = {
  oauth2_authenticate: ['oauth2_credential_id', 'auth_code', 'redirect_uri', 'code_verifier', 'nonce'],
  oauth: ['oidc_token', 'target_public_key'],
  create_session_profile: ['session_profile_name', 'scope'],
  delete_webhook_endpoint: ['endpoint_id'],
  create_oauth_providers: [
    ...['user_id', 'oauth_providers[0].provider_name', 'oauth_providers[1].provider_name'],
    ...['iss', 'sub', 'aud'].map((name) => `oauth_providers[1].oidc_claims.${name}`),
  ],
  create_policies: ['policies[0].policy_name', 'policies[0].effect', 'policies[0].notes'],
  earn_withdraw: ['wrapper_address', 'sign_with', 'chain_caip2', 'amount_value'],
  create_smart_contract_interface: ['smart_contract_address', 'smart_contract_interface', 'type', 'label'],
  stamp_login: [], // an unset public_key is sent as an empty one
  verify_otp: ['otp_id', 'encrypted_otp_bundle'],
  create_oauth2_credential: ['provider', 'client_id', 'encrypted_client_secret'],
  delete_oauth_providers: ['user_id'],
  delete_api_keys: ['user_id'],
  export_wallet_account: ['address', 'target_public_key'],
  delete_sub_organization: [],
  update_organization_name: ['organization_name'],
  update_mfa_policy: [
    ...['user_id', 'mfa_policy_id'],
    ...['[0].any[0]', '[0].any[1]', '[1].any[0]'].map((place) => `required_authentication_methods${place}.type`),
  ],
  approve_activity: ['fingerprint'],
  reject_activity: ['fingerprint'],
  list_wallet_accounts: [],
  get_wallet_account: ['wallet_id'],
  get_authenticators: ['user_id'],
  get_mfa_policies: ['user_id'],
  get_policy: ['policy_id'],
  get_activity: ['activity_id'],
  list_activities: [],
};

const ENUMS = ['effect', 'chain_caip2', 'type', 'provider'];
const isEnum = (path) => ENUMS.includes(path.split('.').pop());

describe('each required field must be set:', () => {
  for (const { name, method, all, type, stampedByClient } of operations) {
    const fields = REQUIRED[name].map((path) => (type ? `parameters.${path}` : path));
    // If only clients may stamp the operation, the field `client_stamp` is required too. No request of this test sets
    // this field.
    const stamp = stampedByClient ? ['client_stamp'] : [];
    test(name, async () => {
      if (stampedByClient) await isRefused(method, all, ...stamp);
      for (const path of ['organization_id', ...fields]) {
        await isRefused(method, without(all, path), ...stamp, path);
        // Empty text counts as missing, except in notes.
        if (isEnum(path)) continue;
        if (path.endsWith('.notes')) await isSent(method, withValue(all, path, ''));
        else await isRefused(method, withValue(all, path, ''), ...stamp, path);
      }
      if (type) await isRefused(method, without(all, 'parameters'), ...stamp, 'parameters');
      const top = [...(type ? ['parameters'] : fields)];
      await isRefused(method, {}, ...stamp, 'organization_id', ...top);
    });
  }
});

test('the error lists all faults, in the order of the proto', async () => {
  const error = await isRefused(
    'UserService/CreateOauthProviders',
    { parameters: { oauth_providers: [{ oidc_claims: { sub: 's' } }, {}] } },
    'organization_id',
    'parameters.user_id',
    'parameters.oauth_providers[0].provider_name',
    'parameters.oauth_providers[0].oidc_claims.iss',
    'parameters.oauth_providers[0].oidc_claims.aud',
    'parameters.oauth_providers[1].provider_name',
  );
  assert.match(error.details, /organization_id is required/);
});

test('an enum with an unlisted value is refused', async () => {
  const { method, all } = named('create_policies');
  const path = 'parameters.policies[0].effect';
  for (const number of [0, 99]) await isRefused(method, withValue(all, path, number), path);
});

describe('limits:', () => {
  test('a page has 1 to 100 accounts', async () => {
    const { method, none } = named('list_wallet_accounts');
    const limited = (limit) => ({ ...none, pagination_options: { limit } });
    for (const limit of ['1', '100']) await isSent(method, limited(limit));
    for (const limit of ['0', '101', '18446744073709551615']) {
      await isRefused(method, limited(limit), 'pagination_options.limit');
    }
  });

  test('a number without a limit is sent unchanged', async () => {
    const { method, none } = named('create_session_profile');
    await isSent(method, withValue(none, 'parameters.expiration_seconds', '18446744073709551615'));
    const { parameters } = JSON.parse(simulator.requests().at(-1).body);
    assert.equal(parameters.expirationSeconds, '18446744073709551615');
  });
});

describe('bytes that the gateway cannot parse as the message:', () => {
  const { method, none } = named('get_policy');
  const bytes = encode(method, none);
  /** Returns a field of wire type 2 that contains these bytes. */
  const field = (number, inner) => Buffer.concat([Buffer.from([(number << 3) | 2, inner.length]), inner]);

  for (const [title, undecodable] of [
    ['a field without its end', bytes.subarray(0, -1)],
    ['field number 0', Buffer.from([0x00, 0x01])],
    ['a length beyond the end', Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f])],
    ['a varint without end', Buffer.from(Array(11).fill(0xff))],
    ['an unknown wire type', Buffer.from([0x0f])],
    ['an end of a group', Buffer.from([0x0c])],
    ['JSON', Buffer.from('{"organizationId":"x"}')],
    ['text that is not UTF-8', Buffer.concat([bytes, field(2, Buffer.from([0xff, 0xfe]))])],
  ]) {
    test(title, async () => {
      const error = await isRefused(method, undecodable);
      assert.match(error.details, /not a stampgate\.v1\.GetPolicyRequest message/);
    });
  }

  test('Protocol Buffers does not log bytes that it could not parse', async () => {
    await isRefused(method, Buffer.concat([bytes, field(2, Buffer.from('hunter2\xff', 'latin1'))]));
    assert.ok(!gateway.output.includes('hunter2'));
    assert.ok(!/libprotobuf|wire_format/.test(gateway.output));
  });

  test('an empty request counts as a message without its required fields', async () => {
    await isRefused(method, Buffer.alloc(0), 'organization_id', 'policy_id');
  });
});

describe('the gateway refuses an unknown field, because it could not sign it:', () => {
  const stranger = Buffer.from([0xc0, 0x3e, 0x01]); // the unknown field 1000 with the value 1
  /** Returns a field that contains a message of less than 128 bytes. */
  const field = (number, ...inner) => {
    const bytes = Buffer.concat(inner);
    assert.ok(bytes.length < 128);
    return Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes]);
  };
  const text = (number, value) => field(number, Buffer.from(value));

  test('in the parameters, and in a list in them', async () => {
    const policy = Buffer.concat([text(1, 'p'), Buffer.from([0x10, 0x01]), text(5, '')]);
    const request = (...parameters) => Buffer.concat([text(2, ORGANIZATION), field(3, ...parameters)]);
    const method = 'PolicyService/CreatePolicies';
    await isSent(method, request(field(1, policy)));
    await isRefused(method, request(field(1, policy), stranger), 'parameters');
    await isRefused(method, request(field(1, policy), field(1, policy, stranger)), 'parameters.policies[1]');
  });

  test('a known field of another wire type', async () => {
    const { method, none } = named('get_policy');
    const number = Buffer.from([0x10, 0x01]); // field 2 (policy_id), with the wire type of a number
    await isRefused(method, Buffer.concat([encode(method, none), number]), '');
  });

  test('in the request for the key set', async () => {
    await isRefused('WebhookService/GetWebhookKeySet', stranger, '');
  });
});

describe('the size of a request message', () => {
  const { method, none } = named('update_organization_name');
  /** A request whose message has this length. */
  function ofBytes(bytes) {
    const withName = (length) => withValue(none, 'parameters.organization_name', 'x'.repeat(length));
    const overhead = encode(method, withName(bytes)).length - bytes;
    const request = withName(bytes - overhead);
    assert.equal(encode(method, request).length, bytes);
    return request;
  }
  const MIB = 1 << 20;

  test('can be 1 MiB', async () => {
    await isSent(method, ofBytes(MIB));
  });

  test('cannot be one byte more than 1 MiB', async () => {
    const before = simulator.stats().requests;
    const error = await gateway.refusal(method, ofBytes(MIB + 1));
    assert.equal(error.code, code.RESOURCE_EXHAUSTED);
    assert.match(error.details, /1048577.*1048576/);
    assert.equal(simulator.stats().requests, before);
  });

  test('cannot crash the gateway', async () => {
    const error = await gateway.refusal(method, ofBytes(9 * MIB));
    assert.equal(error.code, code.RESOURCE_EXHAUSTED);
    await isSent(method, none);
  });

  test('has a limit that the config sets', async (t) => {
    const other = await startStack(t, { config: { calls: { max_request_bytes: 65_536 } } });
    await other.gateway.call(method, ofBytes(65_536));
    const error = await other.gateway.refusal(method, ofBytes(65_537));
    assert.equal(error.code, code.RESOURCE_EXHAUSTED);
  });
});

test('an error about a secret field does not contain the secret', async () => {
  const error = await gateway.refusal('UserService/CreateOauthProviders', {
    organization_id: ORGANIZATION,
    parameters: {
      user_id: END_USER,
      oauth_providers: [
        { oidc_token: 'hunter2', oidc_claims: { iss: 'hunter3', sub: '', aud: '' }, provider_name: 'x' },
      ],
    },
  });
  assert.ok(!/hunter/.test(error.statusBytes.toString('latin1')));
});

test('a submit whose parameters break a rule does not use up its timestamp_ms', async () => {
  const { method, none } = named('get_policy');
  await isSent(method, { ...none, policy_id: identifier(6) });
  const { method: submit, all } = submits[0];
  const timestamp_ms = String(Date.now());
  await isRefused(submit, { ...without(all, 'parameters.nonce'), timestamp_ms }, 'parameters.nonce');
  await isSent(submit, { ...all, timestamp_ms });
});
