// The service's operations, transcribed by hand from its API reference. Nothing here comes from the gateway's proto
// files: the transcriptions are independent, so that a mistake in one of them makes a test fail. The other operations are
// in the folder schema.
import { schema } from './schema/kinds.mjs';

const text = { kind: 'string' };
/** A text that may be empty although its member is required. */
const note = { kind: 'string', mayBeEmpty: true };
const flag = { kind: 'boolean' };
/** A number from 0 to 2^32 - 1, written without point or exponent. */
const ordinal = { kind: 'ordinal' };
const oneOf = (...values) => ({ kind: 'enum', values });
const list = (of, limits = {}) => ({ kind: 'list', of, ...limits });
const object = (members, limits = {}) => ({ kind: 'object', members, ...limits });
/** A whole number that JSON carries as a string. */
const decimal = (limits = {}) => ({ kind: 'decimal', ...limits });
const required = (kind) => ({ ...kind, required: true });

const seconds = decimal();

const oidcClaims = object({ iss: required(text), sub: required(text), aud: required(text) });

const oauthProvider = object(
  { providerName: required(text), oidcToken: text, oidcClaims },
  // Public sources allow only one of these two members.
  { atMostOneOf: ['oidcToken', 'oidcClaims'] },
);

const policy = object({
  policyName: required(text),
  effect: required(oneOf('EFFECT_ALLOW', 'EFFECT_DENY')),
  condition: text,
  consensus: text,
  // Only public sources mention this member: an expression that limits the time in which the policy applies.
  time: text,
  notes: required(note),
});

const authenticationMethod = object({
  type: required(
    oneOf(
      'AUTHENTICATION_TYPE_EMAIL_OTP',
      'AUTHENTICATION_TYPE_SMS_OTP',
      'AUTHENTICATION_TYPE_PASSKEY',
      'AUTHENTICATION_TYPE_API_KEY',
      'AUTHENTICATION_TYPE_OAUTH',
      'AUTHENTICATION_TYPE_SESSION',
    ),
  ),
  id: text,
});

/** All submits. The function submit() adds to this list. */
const submits = [];
const queries = [];

/** The body of every submit. */
export function submitBody(type, parameters, { appProofs = true } = {}) {
  return object({
    type: required(oneOf(type)),
    timestampMs: required({ kind: 'recentTime' }),
    organizationId: required(text),
    // One of upstream's client libraries writes the envelope's generateAppProofs inside the parameters. The service
    // accepts this member, but it has no effect.
    parameters: required({ ...parameters, tolerated: ['generateAppProofs'] }),
    ...(appProofs && { generateAppProofs: flag }),
  });
}

/** A submit: `POST /public/v1/submit/<name>`. `keys` are the names of the intent and the result. */
function submit(name, type, keys, parameters, limits = {}) {
  const body = submitBody(type, object(parameters, limits));
  submits.push({ name, path: `/public/v1/submit/${name}`, type, ...keys, body });
}

/** A query: `POST /public/v1/query/<name>`. */
function query(name, members) {
  const body = object({ organizationId: required(text), ...members });
  queries.push({ name, path: `/public/v1/query/${name}`, body });
}

/** The usual names of intent and result: `<stem>Intent` and `<stem>Result`. */
const keysOf = (stem) => ({ intentKey: `${stem}Intent`, resultKey: `${stem}Result` });

submit('oauth2_authenticate', 'ACTIVITY_TYPE_OAUTH2_AUTHENTICATE', keysOf('oauth2Authenticate'), {
  oauth2CredentialId: required(text),
  authCode: required(text),
  redirectUri: required(text),
  codeVerifier: required(text),
  nonce: required(text),
  bearerTokenTargetPublicKey: text,
});

submit('oauth', 'ACTIVITY_TYPE_OAUTH', keysOf('oauth'), {
  oidcToken: required(text),
  targetPublicKey: required(text),
  apiKeyName: text,
  expirationSeconds: seconds,
  invalidateExisting: flag,
});

submit('create_session_profile', 'ACTIVITY_TYPE_CREATE_SESSION_PROFILE', keysOf('createSessionProfile'), {
  sessionProfileName: required(text),
  scope: required(text),
  expirationSeconds: seconds,
  notes: text,
});

submit('delete_webhook_endpoint', 'ACTIVITY_TYPE_DELETE_WEBHOOK_ENDPOINT', keysOf('deleteWebhookEndpoint'), {
  endpointId: required(text),
});

submit(
  'create_oauth_providers',
  'ACTIVITY_TYPE_CREATE_OAUTH_PROVIDERS_V2',
  { intentKey: 'createOauthProvidersIntentV2', resultKey: 'createOauthProvidersResultV2' },
  { userId: required(text), oauthProviders: required(list(oauthProvider)) },
);

submit('create_policies', 'ACTIVITY_TYPE_CREATE_POLICIES', keysOf('createPolicies'), {
  policies: required(list(policy)),
});

submit(
  'earn_withdraw',
  'ACTIVITY_TYPE_EARN_WITHDRAW',
  keysOf('earnWithdraw'),
  {
    wrapperAddress: required(text),
    signWith: required(text),
    chainCaip2: required(oneOf('eip155:1', 'eip155:8453', 'eip155:42161', 'eip155:137', 'eip155:56', 'eip155:4217')),
    sponsor: flag,
    amountValue: required(decimal({ orWord: 'MAX', unbounded: true })),
  },
  // Only public sources mention the newer name of the member, see schema/decisions.mjs.
  { newerNames: { caip2: 'chainCaip2' } },
);

submit(
  'create_smart_contract_interface',
  'ACTIVITY_TYPE_CREATE_SMART_CONTRACT_INTERFACE',
  keysOf('createSmartContractInterface'),
  {
    smartContractAddress: required(text),
    // The reference states "400kb". The simulator interprets this as 400,000 Unicode characters.
    smartContractInterface: required({ ...text, maxCharacters: 400_000 }),
    type: required(oneOf('SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM', 'SMART_CONTRACT_INTERFACE_TYPE_SOLANA')),
    label: required(text),
    notes: text,
  },
);

submit('stamp_login', 'ACTIVITY_TYPE_STAMP_LOGIN', keysOf('stampLogin'), {
  // Public sources allow an empty publicKey, although this member is required.
  publicKey: required(note),
  expirationSeconds: seconds,
  invalidateExisting: flag,
  sessionProfileId: text,
});

submit(
  'verify_otp',
  'ACTIVITY_TYPE_VERIFY_OTP_V2',
  { intentKey: 'verifyOtpIntentV2', resultKey: 'verifyOtpResult' },
  { otpId: required(text), encryptedOtpBundle: required(text), expirationSeconds: decimal({ max: 86_400n }) },
);

submit('create_oauth2_credential', 'ACTIVITY_TYPE_CREATE_OAUTH2_CREDENTIAL', keysOf('createOauth2Credential'), {
  provider: required(oneOf('OAUTH2_PROVIDER_X', 'OAUTH2_PROVIDER_DISCORD')),
  clientId: required(text),
  encryptedClientSecret: required(text),
});

submit('delete_oauth_providers', 'ACTIVITY_TYPE_DELETE_OAUTH_PROVIDERS', keysOf('deleteOauthProviders'), {
  userId: required(text),
  providerIds: required(list(text)),
});

submit('delete_api_keys', 'ACTIVITY_TYPE_DELETE_API_KEYS', keysOf('deleteApiKeys'), {
  userId: required(text),
  apiKeyIds: required(list(text)),
});

submit('export_wallet_account', 'ACTIVITY_TYPE_EXPORT_WALLET_ACCOUNT', keysOf('exportWalletAccount'), {
  address: required(text),
  targetPublicKey: required(text),
});

submit('delete_sub_organization', 'ACTIVITY_TYPE_DELETE_SUB_ORGANIZATION', keysOf('deleteSubOrganization'), {
  deleteWithoutExport: flag,
});

submit('update_organization_name', 'ACTIVITY_TYPE_UPDATE_ORGANIZATION_NAME', keysOf('updateOrganizationName'), {
  organizationName: required(text),
});

submit('update_mfa_policy', 'ACTIVITY_TYPE_UPDATE_MFA_POLICY', keysOf('updateMfaPolicy'), {
  userId: required(text),
  mfaPolicyId: required(text),
  mfaPolicyName: text,
  condition: text,
  requiredAuthenticationMethods: list(object({ any: required(list(authenticationMethod)) })),
  order: ordinal,
  notes: text,
});

const vote = { fingerprint: required(text) };
submit('approve_activity', 'ACTIVITY_TYPE_APPROVE_ACTIVITY', keysOf('approveActivity'), vote);
submit('reject_activity', 'ACTIVITY_TYPE_REJECT_ACTIVITY', keysOf('rejectActivity'), vote);

const paginationOptions = object({ limit: decimal({ min: 1n, max: 100n }), before: text, after: text });

query('list_wallet_accounts', { walletId: text, includeWalletDetails: flag, paginationOptions });
query('get_wallet_account', { walletId: required(text), address: text, path: text });
query('get_authenticators', { userId: required(text) });
query('get_mfa_policies', { userId: required(text) });
query('get_policy', { policyId: required(text) });
query('get_activity', { activityId: required(text) });

// Operations that the reference mentions without a description; the members come from public sources.
submit(
  'init_otp',
  'ACTIVITY_TYPE_INIT_OTP_V3',
  { intentKey: 'initOtpIntentV3', resultKey: 'initOtpResultV2' },
  {
    otpType: required(oneOf('OTP_TYPE_SMS', 'OTP_TYPE_EMAIL', 'OTP_TYPE_WHATSAPP')),
    contact: required(text),
    appName: required(text),
    otpLength: { kind: 'integer', min: 6n, max: 9n },
    alphanumeric: flag,
    expirationSeconds: decimal({ max: 600n }),
    userIdentifier: text,
    emailCustomization: object({ logoUrl: text, magicLinkTemplate: text, templateVariables: text, templateId: text }),
    smsCustomization: object({ template: text }),
    sendFromEmailAddress: text,
    sendFromEmailSenderName: text,
    replyToEmailAddress: text,
  },
);
submit('oauth_login', 'ACTIVITY_TYPE_OAUTH_LOGIN', keysOf('oauthLogin'), {
  oidcToken: required(text),
  publicKey: required(note),
  expirationSeconds: seconds,
  invalidateExisting: flag,
  sessionProfileId: text,
});
query('list_earn_positions', { walletAddress: required(text) });
query('get_earn_withdraw_status', { withdrawRequestId: required(text) });
query('whoami', {});

const activityStatus = oneOf(
  'ACTIVITY_STATUS_CREATED',
  'ACTIVITY_STATUS_PENDING',
  'ACTIVITY_STATUS_COMPLETED',
  'ACTIVITY_STATUS_FAILED',
  'ACTIVITY_STATUS_CONSENSUS_NEEDED',
  'ACTIVITY_STATUS_REJECTED',
  'ACTIVITY_STATUS_AUTHENTICATORS_NEEDED',
);
query('list_activities', {
  filterByStatus: list(activityStatus),
  filterByType: list(oneOf(...schema.enums.ActivityType.slice(1))),
  paginationOptions,
});

/** Each of these operations by its path. A submit has a `type`, an `intentKey` and a `resultKey`; a query has none of them. */
export const operations = new Map([...submits, ...queries].map((operation) => [operation.path, operation]));

/** The path of the key set, the only one that clients GET. It needs no stamp. */
export const JWKS_PATH = '/public/v1/discovery/webhooks/jwks';

/** Defaults that the service applies to absent members. */
export const defaults = {
  sessionSeconds: 900n,
  apiKeySeconds: 900n,
  verificationTokenSeconds: 3600n,
  pageLimit: 10,
};

/** A request's timestampMs must be less than maxAgeMs old, and at most maxAheadMs ahead of the clock. */
export const freshness = { maxAgeMs: 3_600_000n, maxAheadMs: 300_000n };
