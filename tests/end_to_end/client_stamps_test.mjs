// Requests that end users stamp: the gateway prepares them, the users' own keys stamp them, and the gateway forwards
// them unchanged.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, beforeEach, describe, test } from 'node:test';
import { Authenticator } from '../clients/authenticator.mjs';
import { code, encode } from '../clients/gateway.mjs';
import { load } from '../clients/packages.mjs';
import { readFixture } from '../simulator/server.mjs';
import * as testing from '../simulator/testing.mjs';
import { scratch, startStack, writeKey } from './harness.mjs';
import { operations, submits } from './operations.mjs';

const { WebauthnStamper } = load('@turnkey/webauthn-stamper');
const { ApiKeyStamper } = load('@turnkey/api-key-stamper');
const { ORGANIZATION, END_USER } = testing;

const fixture = { ...readFixture(), openActivities: [testing.OPEN_ACTIVITY] };
const { simulator, gateway } = await startStack({ after }, { simulator: { fixture } });

const [passkey] = testing.readVectors('stamps.json').webauthn;
let authenticator;
beforeEach(() => {
  simulator.reset();
  authenticator = new Authenticator({
    ...{ privateKey: passkey.privateKey, publicKey: passkey.publicKeyUncompressed },
    ...{ credentialId: passkey.stamp.credentialId, rpId: passkey.rpId, origin: passkey.origin },
  }).install();
});

const PREPARE = 'StampService/Prepare';
const LOGIN = 'AuthenticationService/StampLogin';
const GET_POLICY = 'PolicyService/GetPolicy';
const SESSION_KEY = `02${'1f'.repeat(32)}`;
const login = { organization_id: ORGANIZATION, parameters: { public_key: SESSION_KEY } };

const [verification, oidc] = Object.keys(testing.ATTESTED_SCHEMES);

/** For each kind of stamp, a function that stamps a body and returns the member of client_stamp. */
const STAMPERS = {
  'a passkey': async (body) => {
    const { stampHeaderValue } = await new WebauthnStamper({ rpId: passkey.rpId }).stamp(body.toString());
    return { web_authn: stampHeaderValue };
  },
  'a passkey, in base64url': async (body) => ({ web_authn: testing.encodeStamp(testing.webAuthnStampOf(body)) }),
  "upstream's own API key stamper": async (body) => {
    const { privateKey: apiPrivateKey, publicKey: apiPublicKey } = testing.apiKeyNamed('end user 1');
    const { stampHeaderValue } = await new ApiKeyStamper({ apiPrivateKey, apiPublicKey }).stamp(body.toString());
    return { api_key: stampHeaderValue };
  },
  'a secp256k1 key': async (body) => ({ api_key: testing.stampOf(body, testing.apiKeyNamed('vectors secp256k1')) }),
  'an Ed25519 key': async (body) => ({ api_key: testing.stampOf(body, testing.apiKeyNamed('vectors ed25519')) }),
  'a key that a verification token names': async (body) => ({
    attested: testing.encodeStamp(testing.attestedStampOf(body, verification)),
  }),
  "a key that an identity provider's token names": async (body) => ({
    attested: JSON.stringify(testing.attestedStampOf(body, oidc)),
  }),
};
const byPasskey = STAMPERS['a passkey'];

const HEADERS = { api_key: 'X-Stamp', web_authn: 'X-Stamp-WebAuthn', attested: 'X-Stamp-Attested' };

const prepare = (method, request) => gateway.call(PREPARE, { method, request: encode(method, request) });

/** Prepares a request, stamps it, and calls the method with it. */
async function callStamped(method, request, stamper = byPasskey, beside = {}) {
  const { body } = await prepare(method, request);
  return gateway.call(method, { ...beside, client_stamp: { body, ...(await stamper(body)) } });
}

/** The error of a call with this body and a passkey's stamp over it. */
async function refusalOf(method, body, beside = {}) {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return gateway.refusal(method, { ...beside, client_stamp: { body: bytes, ...(await byPasskey(bytes)) } });
}

function isInvalid(error, field, description) {
  assert.equal(error.code, code.INVALID_ARGUMENT, error.details);
  assert.equal(error.info.reason, 'INVALID_REQUEST');
  const violations = error.badRequest.field_violations;
  const found = violations.some((each) => each.field === field && each.description.includes(description));
  assert.ok(found, `${field} ${description}: ${JSON.stringify(violations)}`);
  assert.equal(simulator.stats().requests, 0);
}

const stampHeaders = ({ headers }) => headers.filter(([name]) => name.toLowerCase().startsWith('x-stamp'));

for (const [name, stamper] of Object.entries(STAMPERS)) {
  test(`a login stamped by ${name}`, async () => {
    const prepared = await prepare(LOGIN, login);
    assert.equal(simulator.stats().requests, 0);
    const stamp = await stamper(prepared.body);
    const { activity } = await gateway.call(LOGIN, { client_stamp: { body: prepared.body, ...stamp } });

    assert.equal(activity.status, 'ACTIVITY_STATUS_COMPLETED');
    const session = activity.result.stamp_login_result.session.split('.')[1];
    const claims = JSON.parse(Buffer.from(session, 'base64url'));
    assert.equal(claims.public_key, SESSION_KEY);
    if (!name.includes('secp') && !name.includes('Ed25519')) assert.equal(claims.user_id, END_USER);

    const [request] = simulator.requests();
    assert.equal(request.path, prepared.path);
    assert.equal(request.body, prepared.body.toString());
    const [[kind, value]] = Object.entries(stamp);
    assert.deepEqual(stampHeaders(request), [[HEADERS[kind], value]]);
    assert.equal(activity.fingerprint, `sha256:${createHash('sha256').update(prepared.body).digest('hex')}`);
  });
}

test('a stamp that an Ethereum wallet signed is accepted', async () => {
  const vector = testing.readVectors('stamps.json').other.find(({ stamp }) => stamp.scheme.endsWith('EIP191'));
  // The key is not registered and the body is no valid request: the test shows only that the gateway accepts the
  // scheme.
  const error = await gateway.refusal(GET_POLICY, {
    client_stamp: {
      body: Buffer.from(JSON.stringify({ organizationId: ORGANIZATION, policyId: testing.identifier(6) })),
      api_key: vector.headerValue,
    },
  });
  assert.equal(error.code, code.UNAUTHENTICATED);
  assert.equal(error.info.domain, 'upstream');
});

describe('a prepared body', () => {
  test('is returned with the challenge for a passkey', async () => {
    const prepared = await prepare(LOGIN, login);
    await byPasskey(prepared.body);
    assert.equal(authenticator.challenges[0].toString('ascii'), prepared.webauthn_challenge);
  });

  for (const { method, none, path } of operations) {
    test(`for ${method} can be sent with a stamp`, async () => {
      // The operation that deletes an organization names one that this test may delete.
      const organizationId = path.endsWith('delete_sub_organization') ? testing.subOrganization(3) : ORGANIZATION;
      const prepared = await prepare(method, { ...none, organization_id: organizationId });
      assert.equal(prepared.path, path);
      assert.equal('timestamp_ms' in prepared, path.includes('/submit/'));
      await gateway.call(method, { client_stamp: { body: prepared.body, ...(await byPasskey(prepared.body)) } });
      assert.equal(simulator.requests()[0].body, prepared.body.toString());
    });
  }

  test('is the body that the gateway itself would send', async () => {
    for (const { method, all } of submits.filter(({ stampedByClient }) => !stampedByClient)) {
      const { body } = await prepare(method, all);
      simulator.addFaults([{ kind: 'status', status: 400 }]);
      await gateway.refusal(method, all);
      assert.equal(simulator.requests().at(-1).body, body.toString());
    }
  });

  test('for a general operation can be sent with its path', async () => {
    const path = 'not_yet_known';
    simulator.addFaults([{ kind: 'status', status: 200, body: '{"a":1}' }]);
    const { answer } = await callStamped(
      'GeneralService/QueryOperation',
      { organization_id: ORGANIZATION, path },
      byPasskey,
      {
        path,
      },
    );
    assert.equal(answer, '{"a":1}');
    assert.equal(simulator.requests().at(-1).path, `/public/v1/query/${path}`);
  });

  test('for an operation that became typed later can be sent to its method', async () => {
    const whoami = await callStamped('AuthenticationService/Whoami', { organization_id: ORGANIZATION }, byPasskey);
    assert.equal(whoami.user_id, END_USER);
  });

  test("has the caller's timestamp, or else one that no other call has", async () => {
    const timestampMs = String(Date.now());
    assert.equal((await prepare(LOGIN, { ...login, timestamp_ms: timestampMs })).timestamp_ms, timestampMs);
    const times = await Promise.all(Array.from({ length: 20 }, () => prepare(LOGIN, login)));
    assert.equal(new Set(times.map(({ timestamp_ms }) => timestamp_ms)).size, 20);
  });

  test('is refused if the request breaks rules of the method, with the paths of its fields', async () => {
    const error = await gateway.refusal(PREPARE, { method: LOGIN, request: encode(LOGIN, { organization_id: 'o' }) });
    isInvalid(error, 'parameters', 'is required');
    for (const method of ['', 'WebhookService/GetWebhookKeySet', 'StampService/Prepare', 'EventService/ListEvents']) {
      isInvalid(await gateway.refusal(PREPARE, { method }), 'method', '');
    }
    const stamped = encode(LOGIN, { client_stamp: { body: Buffer.from('{}'), api_key: 'x' } });
    isInvalid(await gateway.refusal(PREPARE, { method: LOGIN, request: stamped }), 'request', 'client_stamp');
  });
});

describe('a body that a client wrote', () => {
  const body = {
    parameters: { publicKey: SESSION_KEY, expirationSeconds: '600', sessionProfileId: null },
    generateAppProofs: null,
    organizationId: ORGANIZATION,
    timestampMs: '',
    type: 'ACTIVITY_TYPE_STAMP_LOGIN',
  };
  const at = (changes = {}) => ({ ...body, timestampMs: testing.freshTimestamp(), ...changes });

  test('is sent upstream byte for byte, with any order of members and any white space', async () => {
    for (const text of [JSON.stringify(at()), JSON.stringify(at(), null, 2), `\n\t ${JSON.stringify(at())}\r\n`]) {
      const bytes = Buffer.from(text);
      const stamp = await byPasskey(bytes);
      const { activity } = await gateway.call(LOGIN, { client_stamp: { body: bytes, ...stamp } });
      assert.equal(simulator.requests().at(-1).body, text);
      assert.equal(activity.intent.stamp_login_intent.expiration_seconds, '600');
    }
  });

  // One of upstream's client libraries writes this member inside "parameters".
  test('may have generateAppProofs inside its parameters', async () => {
    for (const generateAppProofs of [false, true]) {
      const text = JSON.stringify(at({ parameters: { ...body.parameters, generateAppProofs } }));
      const bytes = Buffer.from(text);
      const { activity } = await gateway.call(LOGIN, { client_stamp: { body: bytes, ...(await byPasskey(bytes)) } });
      assert.equal(activity.status, 'ACTIVITY_STATUS_COMPLETED');
      assert.equal(simulator.requests().at(-1).body, text);
    }
  });

  test('without a required list is refused', async () => {
    const type = 'ACTIVITY_TYPE_CREATE_POLICIES';
    const error = await refusalOf('PolicyService/CreatePolicies', at({ type, parameters: {} }));
    isInvalid(error, 'client_stamp.body', '/parameters/policies');
  });

  test('of another operation is refused', async () => {
    isInvalid(await refusalOf(LOGIN, at({ type: 'ACTIVITY_TYPE_OAUTH' })), 'client_stamp.body', 'must have the type');
    const query = { organizationId: ORGANIZATION, policyId: testing.identifier(6) };
    isInvalid(await refusalOf(LOGIN, query), 'client_stamp.body', '/policyId');
    isInvalid(await refusalOf(GET_POLICY, at()), 'client_stamp.body', '/timestampMs');
    // If the gateway accepted this body, a caller with a grant for a harmless query could send a stamped submit.
    const general = await refusalOf('GeneralService/QueryOperation', at(), { path: 'not_yet_known' });
    isInvalid(general, 'parameters', 'timestampMs');
  });

  test('with unknown members at any depth is refused', async () => {
    isInvalid(await refusalOf(LOGIN, at({ organization_id: 'o' })), 'client_stamp.body', '/organization_id');
    const inside = { ...body.parameters, generateProofs: false };
    isInvalid(await refusalOf(LOGIN, at({ parameters: inside })), 'client_stamp.body', '/parameters/generateProofs');
    const twice = JSON.stringify(at()).replace('{', `{"organizationId":"${testing.subOrganization(1)}",`);
    isInvalid(await refusalOf(LOGIN, twice), 'client_stamp.body', 'twice');
  });

  test('together with request fields of the same meaning is refused', async () => {
    const error = await refusalOf(LOGIN, at(), { organization_id: ORGANIZATION });
    isInvalid(error, 'organization_id', 'together with client_stamp');
  });

  test('of more bytes than calls.max_request_bytes is refused', async () => {
    const error = await refusalOf(LOGIN, `${' '.repeat(1 << 20)}${JSON.stringify(at())}`);
    assert.equal(error.code, code.RESOURCE_EXHAUSTED);
    assert.equal(simulator.stats().requests, 0);
  });
});

describe("a client's stamp", () => {
  test('in the wrong form is refused before anything is sent', async () => {
    const { body } = await prepare(LOGIN, login);
    const { web_authn } = await byPasskey(body);
    for (const [member, value] of [
      ['api_key', ''],
      ['api_key', web_authn],
      ['attested', web_authn],
      ['web_authn', testing.stampOf(body)],
      ['web_authn', `${web_authn}\r\nX-Stamp: ${testing.stampOf(body)}`],
      ['web_authn', `${web_authn}\n`],
      ['web_authn', web_authn.replace('{', '{"more":"x",')],
      ['web_authn', 'x'.repeat(8193)],
    ]) {
      const error = await gateway.refusal(LOGIN, { client_stamp: { body, [member]: value } });
      isInvalid(error, `client_stamp.${member}`, 'must');
      assert.ok(!error.statusBytes.includes(web_authn.slice(10, 60)));
    }
    isInvalid(await gateway.refusal(LOGIN, { client_stamp: { body } }), 'client_stamp', 'must hold a stamp');
  });

  for (const [name, stamper] of Object.entries(STAMPERS)) {
    test(`by ${name} over a body that differs in one byte is the caller's fault`, async () => {
      const { body } = await prepare(LOGIN, login);
      const stamp = await stamper(body);
      const changed = Buffer.from(body.toString().replace('1f"', '1e"'));
      assert.equal(changed.length, body.length);
      const error = await gateway.refusal(LOGIN, { client_stamp: { body: changed, ...stamp } });
      assert.equal(error.code, code.UNAUTHENTICATED);
      assert.deepEqual([error.info.domain, error.info.reason], ['upstream', 'SIGNATURE_INVALID']);
      assert.equal(simulator.requests().length, 1);
      const [[, value]] = Object.entries(stamp);
      assert.ok(!error.statusBytes.includes(value.slice(10, 60)));
    });
  }

  test("of a user of another organization is the caller's fault", async () => {
    const stranger = { organizationId: '33333333-0000-4000-8000-000000000001', policyId: testing.identifier(6) };
    const error = await refusalOf(GET_POLICY, stranger);
    assert.equal(error.code, code.UNAUTHENTICATED);
    assert.equal(error.info.domain, 'upstream');
  });

  test("and its token are removed from upstream's error texts", async () => {
    const { body } = await prepare(LOGIN, login);
    const stamp = testing.attestedStampOf(body, verification);
    const value = testing.encodeStamp(stamp);
    const message = JSON.stringify(`no: ${value} and ${stamp.publicKeyAttestation}`);
    simulator.addFaults([{ kind: 'status', status: 403, body: `{"code":7,"message":${message}}` }]);
    const error = await gateway.refusal(LOGIN, { client_stamp: { body, attested: value } });
    assert.equal(error.code, code.PERMISSION_DENIED);
    for (const text of [value, stamp.publicKeyAttestation]) {
      for (let i = 0; i + 24 < text.length; i += 12) assert.ok(!error.statusBytes.includes(text.slice(i, i + 24)));
    }
  });
});

test('after an unknown outcome, the repeated call returns the same activity', async () => {
  const { body, timestamp_ms: timestampMs } = await prepare(LOGIN, login);
  const request = { client_stamp: { body, ...(await byPasskey(body)) } };
  simulator.addFaults([{ kind: 'readAndClose' }]);
  const error = await gateway.refusal(LOGIN, request);
  assert.equal(error.code, code.UNKNOWN);
  assert.equal(error.info.reason, 'OUTCOME_UNKNOWN');
  assert.equal(error.info.metadata.timestamp_ms, timestampMs);
  assert.match(error.details, /the same client_stamp/);

  const first = await gateway.call(LOGIN, request);
  const again = await gateway.call(LOGIN, request);
  assert.equal(first.activity.id, again.activity.id);
  assert.equal(first.activity.fingerprint, error.info.metadata.fingerprint);
});

test('the gateway does not choose a timestamp that a client has used', async () => {
  const method = 'OrganizationService/UpdateOrganizationName';
  const rename = { organization_id: ORGANIZATION, parameters: { organization_name: 'n' } };
  const { body, timestamp_ms: timestampMs } = await prepare(method, rename);
  await gateway.call(method, { client_stamp: { body, ...(await byPasskey(body)) } });
  await Promise.all(Array.from({ length: 20 }, () => gateway.call(method, rename)));
  const times = simulator.requests().map((request) => JSON.parse(request.body).timestampMs);
  assert.equal(times.filter((time) => time === timestampMs).length, 1);
  assert.equal(new Set(times).size, 21);
});

test("the gateway never stamps a login, because the session would have the rights of the gateway's key", async () => {
  isInvalid(await gateway.refusal(LOGIN, login), 'client_stamp', 'is required');
});

describe('the policy', async () => {
  const grants = [{ classes: ['login'], organizations: [ORGANIZATION] }];
  const callers = [{ name: 'logins-only', loopback: true, grants }];
  // The gateway's own key signs only for an organization that no call names.
  const keys = [{ name: 'main', file: writeKey(scratch({ after })), organizations: ['another'] }];
  const { simulator: upstream, gateway: policed } = await startStack({ after }, { config: { callers, keys } });

  test('decides by the content of the stamped body', async () => {
    const stamped = async (text) => {
      const bytes = Buffer.from(text);
      return { client_stamp: { body: bytes, ...(await byPasskey(bytes)) } };
    };
    const body = (organizationId) =>
      JSON.stringify({
        type: 'ACTIVITY_TYPE_STAMP_LOGIN',
        timestampMs: testing.freshTimestamp(),
        organizationId,
        parameters: { publicKey: SESSION_KEY },
      });
    const other = await policed.refusal(LOGIN, await stamped(body(testing.subOrganization(1))));
    assert.equal(other.code, code.PERMISSION_DENIED);
    assert.equal(other.info.reason, 'DENIED_BY_POLICY');
    const query = JSON.stringify({ organizationId: ORGANIZATION, policyId: testing.identifier(6) });
    const read = await policed.refusal(GET_POLICY, await stamped(query));
    assert.equal(read.info.reason, 'DENIED_BY_POLICY');
    assert.equal(upstream.stats().requests, 0);
    // The call is allowed, although the gateway's own key is for another organization.
    const { activity } = await policed.call(LOGIN, await stamped(body(ORGANIZATION)));
    assert.equal(activity.status, 'ACTIVITY_STATUS_COMPLETED');
  });

  test('allows a caller to prepare exactly the methods that it may call', async () => {
    const asked = (method, request) => ({ method, request: encode(method, request) });
    assert.ok((await policed.call(PREPARE, asked(LOGIN, login))).body.length > 0);
    const elsewhere = { ...login, organization_id: testing.subOrganization(1) };
    for (const request of [
      asked(LOGIN, elsewhere),
      asked(GET_POLICY, { organization_id: ORGANIZATION, policy_id: testing.identifier(6) }),
    ]) {
      const error = await policed.refusal(PREPARE, request);
      assert.equal(error.code, code.PERMISSION_DENIED);
      assert.equal(error.info.reason, 'DENIED_BY_POLICY');
    }
  });
});
