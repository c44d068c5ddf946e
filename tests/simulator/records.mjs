// Renders records for responses, with their members in the order of the reference.
import { credentialTypeOf } from './state.mjs';

export function walletAccount(account, wallet, { withDetails = false } = {}) {
  return {
    walletAccountId: account.walletAccountId,
    organizationId: wallet.organizationId,
    walletId: wallet.walletId,
    curve: account.curve,
    pathFormat: 'PATH_FORMAT_BIP32',
    path: account.path,
    addressFormat: account.addressFormat,
    address: account.address,
    createdAt: wallet.createdAt,
    updatedAt: wallet.updatedAt,
    publicKey: account.publicKey,
    walletDetails: withDetails ? walletDetails(wallet) : undefined,
    name: account.name,
  };
}

function walletDetails({ walletId, walletName, createdAt, updatedAt, exported, imported }) {
  return { walletId, walletName, createdAt, updatedAt, exported, imported };
}

/** The reference has `consensus` and `condition` in every policy; a policy without them has empty texts. */
export function policy({ policyId, policyName, effect, createdAt, updatedAt, notes, ...expressions }) {
  const { consensus = '', condition = '', time } = expressions;
  return { policyId, policyName, effect, createdAt, updatedAt, notes, consensus, condition, time };
}

export function mfaPolicy(record) {
  const { mfaPolicyId, mfaPolicyName, condition, requiredAuthenticationMethods, order, notes } = record;
  const { createdAt, updatedAt } = record;
  return {
    mfaPolicyId,
    mfaPolicyName,
    condition,
    requiredAuthenticationMethods,
    order,
    notes,
    createdAt,
    updatedAt,
  };
}

export function authenticator(record) {
  const { transports, attestationType, aaguid, credentialId, model, authenticatorId, authenticatorName } = record;
  const { createdAt, updatedAt, sessionProfileId } = record;
  const type = record.credentialType ?? 'CREDENTIAL_TYPE_WEBAUTHN_AUTHENTICATOR';
  return {
    transports,
    attestationType,
    aaguid,
    credentialId,
    model,
    credential: { publicKey: record.coseKey, type, sessionProfileId },
    authenticatorId,
    authenticatorName,
    createdAt,
    updatedAt,
  };
}

function apiKey(record) {
  const { apiKeyId, apiKeyName, publicKey, createdAt, updatedAt, expirationSeconds } = record;
  return {
    credential: { publicKey, type: credentialTypeOf(record) },
    apiKeyId,
    apiKeyName,
    createdAt,
    updatedAt,
    expirationSeconds,
  };
}

function oauthProvider({ providerId, providerName, issuer, audience, subject, createdAt, updatedAt }) {
  return { providerId, providerName, issuer, audience, subject, createdAt, updatedAt };
}

export function user(record) {
  const { userId, userName, userEmail, userPhoneNumber, createdAt, updatedAt } = record;
  return {
    userId,
    userName,
    userEmail,
    userPhoneNumber,
    authenticators: record.authenticators.map(authenticator),
    apiKeys: record.apiKeys.map(apiKey),
    userTags: [],
    oauthProviders: record.oauthProviders.map(oauthProvider),
    createdAt,
    updatedAt,
    mfaPolicies: record.mfaPolicies.map(mfaPolicy),
  };
}
