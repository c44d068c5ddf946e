// Implements the submits: each changes the state and returns the fields of its result.
import { randomUUID } from 'node:crypto';
import { Refusal, invalidRequest, notFound } from './errors.mjs';
import { timeOf } from './state.mjs';
import { defaults } from './specification.mjs';

/**
 * @typedef {object} Context
 * @property {import('./state.mjs').State} state
 * @property {import('./enclave.mjs').Enclave} enclave
 * @property {string} organizationId
 * @property {object} user whose credential stamped the request
 * @property {bigint} nowMs
 * @property {'checked' | 'any'} references 'any': unknown identifiers are accepted
 */

const nowSeconds = ({ nowMs }) => nowMs / 1000n;

/** Returns the record that the parameters name. Throws if there is none. */
function named(context, kind, what, isIt) {
  const record = context.state.find(kind, context.organizationId, isIt);
  if (record === undefined && context.references === 'checked') throw notFound('REQUEST_INVALID', `no such ${what}`);
  return record;
}

function namedUser(context, userId) {
  return context.references === 'checked'
    ? context.state.user(context.organizationId, userId)
    : (context.state.find('users', context.organizationId, (each) => each.userId === userId) ?? context.user);
}

function keep(context, kind, record) {
  const time = timeOf(context.nowMs);
  context.state[kind].push({ organizationId: context.organizationId, createdAt: time, updatedAt: time, ...record });
}

/** Throws unless each of `ids` belongs to one of the records. */
function checkAll(context, ids, records, idName, what) {
  const known = new Set(records.map((record) => record[idName]));
  if (context.references === 'checked' && !ids.every((id) => known.has(id))) {
    throw notFound('REQUEST_INVALID', `no such ${what}`);
  }
}

function accountOf(context, address) {
  for (const wallet of context.state.wallets) {
    const account = wallet.accounts.find((each) => each.address === address);
    if (wallet.organizationId === context.organizationId && account !== undefined) return { wallet, account };
  }
  if (context.references === 'checked') throw notFound('REQUEST_INVALID', 'no such wallet account');
  return undefined;
}

/** A session's length in seconds: the login's or the profile's, or the shorter if both are given. */
function sessionSeconds(profile, expirationSeconds) {
  const given = [profile?.expirationSeconds, expirationSeconds].filter((each) => each !== undefined).map(BigInt);
  if (given.length === 0) return defaults.sessionSeconds;
  return given.reduce((smaller, each) => (each < smaller ? each : smaller));
}

function login(context, { publicKey, expirationSeconds, invalidateExisting = false, sessionProfileId }) {
  const { state, user } = context;
  const profile =
    sessionProfileId === undefined
      ? undefined
      : named(context, 'sessionProfiles', 'session profile', (each) => each.sessionProfileId === sessionProfileId);
  if (invalidateExisting) state.removeApiKeys(user, (apiKey) => apiKey.madeBy === 'login');
  const seconds = sessionSeconds(profile, expirationSeconds);
  const expiry = nowSeconds(context) + seconds;
  registerLogin(context, publicKey, seconds);
  const session = context.enclave.token({
    exp: Number(expiry),
    public_key: publicKey,
    session_type: 'SESSION_TYPE_READ_WRITE',
    session_profile_id: sessionProfileId,
    user_id: user.userId,
    organization_id: context.organizationId,
  });
  return { session };
}

/** Registers the session's key for the user, unless the key is invalid or already in use. */
function registerLogin(context, publicKey, seconds) {
  const { state, user } = context;
  if (state.byPublicKey(publicKey) !== undefined) return;
  const time = timeOf(context.nowMs);
  const apiKey = {
    apiKeyId: randomUUID(),
    apiKeyName: 'login',
    publicKey,
    curve: 'p256',
    credentialType: 'CREDENTIAL_TYPE_LOGIN',
    expirationSeconds: String(seconds),
    expiresAtMs: context.nowMs + seconds * 1000n,
    madeBy: 'login',
    createdAt: time,
    updatedAt: time,
  };
  try {
    state.addExpiringKey(user, apiKey);
  } catch {
    // The key is not a point of the curve, so nobody can stamp with it.
  }
}

/** @type {Record<string, (context: Context, parameters: any) => object>} */
export const submits = {
  oauth2_authenticate(context, { oauth2CredentialId, nonce, bearerTokenTargetPublicKey }) {
    const credential = context.state.find(
      'oauth2Credentials',
      context.organizationId,
      (each) => each.oauth2CredentialId === oauth2CredentialId,
    );
    if (credential === undefined && context.references === 'checked') {
      throw notFound('OAUTH2_CREDENTIAL_NOT_FOUND', 'no such OAuth 2.0 credential');
    }
    const token = context.enclave.token({
      iss: 'https://simulator.invalid',
      aud: credential?.clientId,
      sub: context.user.userId,
      nonce,
      exp: Number(nowSeconds(context) + defaults.sessionSeconds),
      encrypted_bearer_token: bearerTokenTargetPublicKey && context.enclave.bundle(bearerTokenTargetPublicKey),
    });
    return { oidcToken: Buffer.from(token).toString('base64') };
  },

  oauth(context, { targetPublicKey, apiKeyName, expirationSeconds, invalidateExisting = false }) {
    const { state, user, enclave } = context;
    if (invalidateExisting) state.removeApiKeys(user, (apiKey) => apiKey.madeBy === 'oauth');
    const seconds = BigInt(expirationSeconds ?? defaults.apiKeySeconds);
    const time = timeOf(context.nowMs);
    const apiKey = {
      apiKeyId: randomUUID(),
      apiKeyName: apiKeyName ?? `Oauth-${nowSeconds(context)}`,
      publicKey: enclave.newPublicKey(),
      curve: 'p256',
      credentialType: 'CREDENTIAL_TYPE_OAUTH_KEY_P256',
      expirationSeconds: String(seconds),
      expiresAtMs: context.nowMs + seconds * 1000n,
      madeBy: 'oauth',
      createdAt: time,
      updatedAt: time,
    };
    state.addExpiringKey(user, apiKey);
    return { userId: user.userId, apiKeyId: apiKey.apiKeyId, credentialBundle: enclave.bundle(targetPublicKey) };
  },

  create_session_profile(context, parameters) {
    const sessionProfileId = randomUUID();
    keep(context, 'sessionProfiles', { sessionProfileId, ...parameters });
    return { sessionProfileId };
  },

  delete_webhook_endpoint(context, { endpointId }) {
    named(context, 'webhookEndpoints', 'webhook endpoint', (each) => each.endpointId === endpointId);
    context.state.webhookEndpoints = context.state.webhookEndpoints.filter((each) => each.endpointId !== endpointId);
    return { endpointId };
  },

  create_oauth_providers(context, { userId, oauthProviders }) {
    const user = namedUser(context, userId);
    const time = timeOf(context.nowMs);
    const added = oauthProviders.map(({ providerName, oidcClaims }) => ({
      providerId: randomUUID(),
      providerName,
      issuer: oidcClaims?.iss ?? 'https://simulator.invalid',
      audience: oidcClaims?.aud ?? 'audience',
      subject: oidcClaims?.sub ?? 'subject',
      createdAt: time,
      updatedAt: time,
    }));
    user.oauthProviders.push(...added);
    return { providerIds: added.map(({ providerId }) => providerId) };
  },

  create_policies(context, { policies }) {
    const policyIds = policies.map((policy) => {
      const policyId = randomUUID();
      keep(context, 'policies', { policyId, ...policy });
      return policyId;
    });
    return { policyIds };
  },

  earn_withdraw(context, { wrapperAddress, signWith }) {
    named(context, 'earnWrappers', 'Earn wrapper', (each) => each.wrapperAddress === wrapperAddress);
    accountOf(context, signWith);
    const withdrawRequestId = randomUUID();
    keep(context, 'withdrawals', { withdrawRequestId });
    return { withdrawRequestId };
  },

  create_smart_contract_interface(context, parameters) {
    const smartContractInterfaceId = randomUUID();
    keep(context, 'smartContractInterfaces', { smartContractInterfaceId, ...parameters });
    return { smartContractInterfaceId };
  },

  stamp_login: login,

  verify_otp(context, { otpId, expirationSeconds }) {
    const flow = named(context, 'otpFlows', 'OTP flow', (each) => each.otpId === otpId);
    const seconds = BigInt(expirationSeconds ?? defaults.verificationTokenSeconds);
    const verificationToken = context.enclave.token({
      id: randomUUID(),
      exp: Number(nowSeconds(context) + seconds),
      verification_type: 'OTP_TYPE_EMAIL',
      contact: flow?.contact,
    });
    return { verificationToken };
  },

  create_oauth2_credential(context, { provider, clientId }) {
    const oauth2CredentialId = randomUUID();
    keep(context, 'oauth2Credentials', { oauth2CredentialId, provider, clientId });
    return { oauth2CredentialId };
  },

  delete_oauth_providers(context, { userId, providerIds }) {
    const user = namedUser(context, userId);
    checkAll(context, providerIds, user.oauthProviders, 'providerId', 'OAuth provider');
    user.oauthProviders = user.oauthProviders.filter(({ providerId }) => !providerIds.includes(providerId));
    return { providerIds };
  },

  delete_api_keys(context, { userId, apiKeyIds }) {
    const user = namedUser(context, userId);
    checkAll(context, apiKeyIds, user.apiKeys, 'apiKeyId', 'API key');
    context.state.removeApiKeys(user, ({ apiKeyId }) => apiKeyIds.includes(apiKeyId));
    return { apiKeyIds };
  },

  export_wallet_account(context, { address, targetPublicKey }) {
    const found = accountOf(context, address);
    // The reference has no export of a whole wallet, so exporting one account marks its wallet.
    if (found !== undefined) found.wallet.exported = true;
    return { address, exportBundle: context.enclave.exportBundle(targetPublicKey, context.organizationId) };
  },

  delete_sub_organization(context, { deleteWithoutExport = false }) {
    const { state, organizationId } = context;
    if (state.organizations.get(organizationId).parentOrganizationId === undefined) {
      throw invalidRequest([{ field: 'organizationId', description: 'is not a sub-organization' }]);
    }
    const isLeft = (record) => record.organizationId === organizationId && !record.exported;
    if (!deleteWithoutExport && [...state.wallets, ...state.privateKeys].some(isLeft)) {
      const message = 'wallets or private keys of the sub-organization have not been exported';
      throw new Refusal('FAILED_PRECONDITION', 'WALLET_ACCOUNT_NOT_EXPORTED', message);
    }
    state.organizations.delete(organizationId);
    return { subOrganizationUuid: organizationId };
  },

  update_organization_name(context, { organizationName }) {
    context.state.organizations.get(context.organizationId).organizationName = organizationName;
    return { organizationId: context.organizationId, organizationName };
  },

  update_mfa_policy(context, { userId, mfaPolicyId, ...changes }) {
    const policy = namedUser(context, userId).mfaPolicies.find((each) => each.mfaPolicyId === mfaPolicyId);
    if (policy === undefined && context.references === 'checked') {
      throw notFound('REQUEST_INVALID', 'no such MFA policy');
    }
    if (policy !== undefined) Object.assign(policy, changes, { updatedAt: timeOf(context.nowMs) });
    return { mfaPolicyId };
  },

  init_otp(context, { contact }) {
    const otpId = randomUUID();
    keep(context, 'otpFlows', { otpId, contact });
    return { otpId, otpEncryptionTargetBundle: context.enclave.bundle(context.enclave.publicKey) };
  },

  oauth_login: login,
};
