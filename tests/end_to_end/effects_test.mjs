// The effects of submits: the next call sees them, and the fields of a typed result can be used in the next request.
import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { code } from '../clients/gateway.mjs';
import { END_USER, ORGANIZATION, apiKeyNamed, identifier, subOrganization } from '../simulator/testing.mjs';
import { stampedBy } from './client_stamper.mjs';
import { startStack } from './harness.mjs';

const { simulator, gateway } = await startStack({ after });

beforeEach(() => simulator.reset());

/** Calls a submit and returns the fields of its result. */
async function submit(method, parameters, organization_id = ORGANIZATION) {
  const { activity } = await gateway.call(method, { organization_id, parameters });
  assert.equal(activity.status, 'ACTIVITY_STATUS_COMPLETED');
  return Object.values(activity.result)[0];
}

const query = (method, fields) => gateway.call(method, { organization_id: ORGANIZATION, ...fields });

async function isNotFound(method, parameters, organization_id = ORGANIZATION) {
  const error = await gateway.refusal(method, { organization_id, parameters });
  assert.equal(error.code, code.NOT_FOUND, error.message);
}

const jwtClaims = (token) => JSON.parse(Buffer.from(token.split('.')[1], 'base64url').toString());

test('created policies can be read, each with its own values', async () => {
  const policies = [
    { policy_name: 'all', effect: 'EFFECT_DENY', condition: 'c', consensus: 's', notes: 'n', time: 't' },
    { policy_name: 'little', effect: 'EFFECT_ALLOW', notes: '' },
  ];
  const { policy_ids: ids } = await submit('PolicyService/CreatePolicies', { policies });
  assert.equal(ids.length, 2);
  const [first, second] = await Promise.all(ids.map((policy_id) => query('PolicyService/GetPolicy', { policy_id })));
  const { created_at, updated_at, ...all } = first.policy;
  assert.deepEqual(all, { policy_id: ids[0], ...policies[0] });
  assert.ok(Math.abs(Number(created_at.seconds) * 1000 - Date.now()) < 60_000);
  assert.deepEqual(updated_at, created_at);
  // For every policy, the service returns a condition and a consensus, even empty ones. It omits a time that was not
  // set.
  const { policy } = second;
  assert.deepEqual([policy.policy_name, policy.effect], ['little', 'EFFECT_ALLOW']);
  assert.deepEqual([policy.condition, policy.consensus, policy.time], ['', '', undefined]);
});

test('a renamed organization has its new name', async () => {
  const organization_name = 'Ünïcode & <Co> "\\😀';
  await submit('OrganizationService/UpdateOrganizationName', { organization_name });
  const whoami = await query('AuthenticationService/Whoami', {});
  assert.equal(whoami.organization_name, organization_name);
});

test('an exported account marks its wallet', async () => {
  const address = '0x0404040404040404040404040404040404040404';
  const exported = async () => {
    const { accounts } = await query('WalletService/ListWalletAccounts', {
      wallet_id: identifier(11),
      include_wallet_details: true,
      pagination_options: { limit: '1' },
    });
    assert.deepEqual(
      accounts.map((account) => account.address),
      [address],
    );
    return accounts[0].wallet_details.exported ?? false;
  };
  assert.equal(await exported(), false);
  const { export_bundle } = await submit('WalletService/ExportWalletAccount', {
    address,
    target_public_key: `04${'1f'.repeat(64)}`,
  });
  assert.ok(export_bundle.length > 0);
  assert.equal(await exported(), true);
});

test('accounts are returned page by page, each once', async () => {
  const all = [];
  for (let last; ; last = all.at(-1)) {
    const { accounts } = await query('WalletService/ListWalletAccounts', {
      pagination_options: { limit: '7', ...(last && { after: last }) },
    });
    if (accounts === undefined) break;
    all.push(...accounts.map(({ wallet_account_id: id }) => id));
  }
  const wallets = simulator.service.state.wallets.filter((wallet) => wallet.organizationId === ORGANIZATION);
  const expected = wallets.flatMap((wallet) => wallet.accounts.map((account) => account.walletAccountId));
  assert.ok(expected.length > 14);
  assert.deepEqual(all, expected);
});

test('a page has ten accounts if the request sets no limit', async () => {
  const { accounts } = await query('WalletService/ListWalletAccounts', {});
  assert.equal(accounts.length, 10);
});

test('an account has every field that the service returns', async () => {
  const { account } = await query('WalletService/GetWalletAccount', { wallet_id: identifier(11) });
  const { created_at, updated_at, ...rest } = account;
  assert.deepEqual(rest, {
    wallet_account_id: identifier(13),
    organization_id: ORGANIZATION,
    wallet_id: identifier(11),
    curve: 'CURVE_SECP256K1',
    path_format: 'PATH_FORMAT_BIP32',
    path: "m/44'/60'/0'/0/0",
    address_format: 'ADDRESS_FORMAT_ETHEREUM',
    address: '0x0404040404040404040404040404040404040404',
    public_key: '0263c26aa2291c55f4a960f4604d0edc3a34ecd160308a4d9ca4f73eadd1ed270e',
    name: 'first',
  });
  assert.deepEqual([created_at.seconds, updated_at.seconds], ['1700000000', '1700000000']);
});

test('authenticators have their credentials', async () => {
  const { authenticators } = await query('UserService/GetAuthenticators', { user_id: END_USER });
  assert.equal(authenticators.length, 3);
  const [passkey, securityKey, login] = authenticators;
  assert.deepEqual(passkey.transports, ['AUTHENTICATOR_TRANSPORT_INTERNAL', 'AUTHENTICATOR_TRANSPORT_HYBRID']);
  assert.equal(passkey.authenticator_id, identifier(9));
  assert.equal(passkey.credential.type, 'CREDENTIAL_TYPE_WEBAUTHN_AUTHENTICATOR');
  assert.equal(passkey.credential.session_profile_id, undefined);
  assert.equal(securityKey.transports.length, 3);
  assert.equal(login.credential.type, 'CREDENTIAL_TYPE_LOGIN');
  assert.equal(login.credential.session_profile_id, identifier(3));
});

test('a changed MFA policy keeps its other values', async () => {
  const mfa_policy_id = identifier(10);
  const required_authentication_methods = [{ any: [{ type: 'AUTHENTICATION_TYPE_SMS_OTP' }] }];
  await submit('UserService/UpdateMfaPolicy', {
    user_id: END_USER,
    mfa_policy_id,
    order: 4294967295,
    required_authentication_methods,
  });
  const { mfa_policies } = await query('UserService/GetMfaPolicies', { user_id: END_USER });
  const policy = mfa_policies.find((each) => each.mfa_policy_id === mfa_policy_id);
  assert.equal(policy.order, 4294967295);
  assert.deepEqual(policy.required_authentication_methods, required_authentication_methods);
  assert.equal(policy.mfa_policy_name, 'two steps');
  assert.equal(policy.notes, 'from the fixture');
});

test('created OAuth providers can be deleted once', async () => {
  const oauth_providers = [{ provider_name: 'Google' }, { provider_name: 'Apple', oidc_token: 't' }];
  const { provider_ids } = await submit('UserService/CreateOauthProviders', { user_id: END_USER, oauth_providers });
  assert.equal(provider_ids.length, 2);
  const deletion = { user_id: END_USER, provider_ids };
  assert.deepEqual((await submit('UserService/DeleteOauthProviders', deletion)).provider_ids, provider_ids);
  await isNotFound('UserService/DeleteOauthProviders', deletion);
});

test('the API key of an OAuth login can be deleted once', async () => {
  const login = { oidc_token: 't', target_public_key: 'k' };
  const { user_id, api_key_id } = await submit('AuthenticationService/Oauth', login);
  const deletion = { user_id, api_key_ids: [api_key_id] };
  await submit('UserService/DeleteApiKeys', deletion);
  await isNotFound('UserService/DeleteApiKeys', deletion);
});

test('a session profile bounds the login that names it', async () => {
  const { session_profile_id } = await submit('AuthenticationService/CreateSessionProfile', {
    session_profile_name: 'p',
    scope: 's',
    expiration_seconds: '60',
  });
  const method = 'AuthenticationService/StampLogin';
  const login = { organization_id: ORGANIZATION, parameters: { public_key: 'k', session_profile_id } };
  const stamped = await stampedBy(apiKeyNamed('end user 1'), gateway, method, login);
  const { activity } = await gateway.call(method, stamped);
  const { session } = activity.result.stamp_login_result;
  const claims = jwtClaims(session);
  assert.equal(claims.session_profile_id, session_profile_id);
  assert.ok(Math.abs(claims.exp - Date.now() / 1000 - 60) < 30);
});

test('a created OAuth 2.0 credential can be used for a login', async () => {
  const { oauth2_credential_id } = await submit('AuthenticationService/CreateOauth2Credential', {
    provider: 'OAUTH2_PROVIDER_X',
    client_id: 'my client',
    encrypted_client_secret: 's',
  });
  const { oidc_token } = await submit('AuthenticationService/Oauth2Authenticate', {
    oauth2_credential_id,
    auth_code: 'c',
    redirect_uri: 'u',
    code_verifier: 'v',
    nonce: 'n',
  });
  const claims = jwtClaims(Buffer.from(oidc_token, 'base64').toString());
  assert.deepEqual([claims.aud, claims.nonce], ['my client', 'n']);
});

test('a verification token is valid for the requested time', async () => {
  const { verification_token } = await submit('AuthenticationService/VerifyOtp', {
    otp_id: identifier(8),
    encrypted_otp_bundle: 'b',
    expiration_seconds: '86400',
  });
  assert.ok(Math.abs(jwtClaims(verification_token).exp - Date.now() / 1000 - 86_400) < 60);
});

test('the status of a withdrawal can be queried', async () => {
  const { withdraw_request_id } = await submit('EarnService/EarnWithdraw', {
    wrapper_address: '0x0101010101010101010101010101010101010101',
    sign_with: '0x0202020202020202020202020202020202020202',
    chain_caip2: 'EARN_CHAIN_EIP155_4217',
    amount_value: '1',
  });
  const response = await query('EarnService/GetEarnWithdrawStatus', { withdraw_request_id });
  assert.deepEqual(response, { status: 'EARN_REQUEST_STATUS_PENDING' });
});

test('a webhook endpoint can be deleted once', async () => {
  await submit('WebhookService/DeleteWebhookEndpoint', { endpoint_id: identifier(26) });
  await isNotFound('WebhookService/DeleteWebhookEndpoint', { endpoint_id: identifier(26) });
});

test('a sub-organization can be deleted after its export, or with delete_without_export', async () => {
  const method = 'OrganizationService/DeleteSubOrganization';
  const parameters = {};
  const error = await gateway.refusal(method, { organization_id: subOrganization(1), parameters });
  assert.equal(error.code, code.FAILED_PRECONDITION);
  assert.equal(error.info.reason, 'WALLET_ACCOUNT_NOT_EXPORTED');
  await submit(method, { delete_without_export: true }, subOrganization(1));
  await isNotFound(method, parameters, subOrganization(1));
  const { sub_organization_uuid } = await submit(method, parameters, subOrganization(2));
  assert.equal(sub_organization_uuid, subOrganization(2));
});

for (const [title, method, fields] of [
  ['policy', 'PolicyService/GetPolicy', { policy_id: identifier(999) }],
  ['user', 'UserService/GetMfaPolicies', { user_id: identifier(999) }],
  ['wallet', 'WalletService/ListWalletAccounts', { wallet_id: identifier(999) }],
]) {
  test(`a ${title} that upstream does not know is NOT_FOUND`, async () => {
    const error = await gateway.refusal(method, { organization_id: ORGANIZATION, ...fields });
    assert.equal(error.code, code.NOT_FOUND);
    assert.equal(error.info.domain, 'upstream');
  });
}

test("an activity's own times may be strings, which the response contains unchanged", async () => {
  simulator.change({ timestamps: 'string' });
  const before = Math.floor(Date.now() / 1000);
  const { activity, unrecognized } = await gateway.call('OrganizationService/UpdateOrganizationName', {
    organization_id: ORGANIZATION,
    parameters: { organization_name: 'n' },
  });
  assert.ok(Number(activity.created_at.seconds) >= before);
  const text = new Date(Number(activity.created_at.seconds) * 1000 + (activity.created_at.nanos ?? 0) / 1e6);
  assert.deepEqual(unrecognized, {
    '/activity/createdAt': JSON.stringify(text.toISOString()),
    '/activity/updatedAt': JSON.stringify(text.toISOString()),
  });
});
