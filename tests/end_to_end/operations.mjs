// Every typed operation of the specification: the request of a gRPC client, and the expected JSON. All of this is written
// by hand and not generated from JSON or protos, so that the tests detect a wrong name or type in the protos. The tests
// of ../clients call all operations, with inputs that are made from the schema of the simulator.
import { END_USER, ORGANIZATION, identifier } from '../simulator/testing.mjs';

/** The timestampMs of the recorded requests. */
export const RECORDED_MS = 1_755_500_000_000;

/** The P-256 public key in the recorded requests, which is not a point of the curve. */
const COMPRESSED = `02${'1f'.repeat(32)}`;
const UNCOMPRESSED = `04${'1f'.repeat(64)}`;

/**
 * @typedef {object} Operation
 * @property {string} name the name in the recorded requests
 * @property {string} method
 * @property {string} path
 * @property {object} all a request with every optional field
 * @property {object} none a request without optional fields
 * @property {object} noneJson the JSON of `none`: a query's body, or a submit's parameters
 * @property {[string, string]} [intent] a submit's intent: proto field and JSON member
 * @property {(parameters: any) => object} [newerNames] the fields of the intent that are newer names of members of the
 *   parameters, from their JSON
 * @property {[string, string, Record<string, string>] | null} [result] a submit's result: proto field and JSON member,
 *     and the JSON member of each of its fields; null if the submit has no result
 * @property {string} [type] a submit's activity type
 * @property {boolean} [stampedByClient] true if only clients stamp it, and the gateway never does
 */

/** @returns {Operation} */
function submit(name, type, method, { all, none, noneJson, appProofs = true, ...rest }) {
  const requestOf = (parameters) => ({ organization_id: ORGANIZATION, parameters });
  // For two of the operations, upstream's client libraries cannot send generateAppProofs, so the recorded requests lack
  // this member.
  const optional = { timestamp_ms: String(RECORDED_MS), ...(appProofs && { generate_app_proofs: true }) };
  const path = `/public/v1/submit/${name}`;
  const requests = { all: { ...requestOf(all), ...optional }, none: requestOf(none), noneJson };
  return { name, type, method, path, ...requests, ...rest };
}

/** @returns {Operation} */
function query(name, method, { all, none = all, noneJson }) {
  const requestOf = (fields) => ({ organization_id: ORGANIZATION, ...fields });
  return { name, method, path: `/public/v1/query/${name}`, all: requestOf(all), none: requestOf(none), noneJson };
}

/** The fingerprint of an activity that waits for votes. */
const FINGERPRINT = `sha256:${'ab'.repeat(32)}`;

/** A vote has no result of its own. */
const vote = (name, type, method, stem) =>
  submit(name, type, method, {
    all: { fingerprint: FINGERPRINT },
    none: { fingerprint: FINGERPRINT },
    noneJson: { fingerprint: FINGERPRINT },
    intent: [`${name}_intent`, `${stem}Intent`],
    result: null,
  });

/** @type {Operation[]} */
export const submits = [
  submit('oauth2_authenticate', 'ACTIVITY_TYPE_OAUTH2_AUTHENTICATE', 'AuthenticationService/Oauth2Authenticate', {
    all: {
      oauth2_credential_id: identifier(1),
      auth_code: 'code',
      redirect_uri: 'https://app.example/cb',
      code_verifier: 'verifier',
      nonce: 'dbfff49084371caa77df52f193ce55417b26373c2c4ea18e155499f36c7de7c5',
      bearer_token_target_public_key: COMPRESSED,
    },
    none: {
      oauth2_credential_id: identifier(1),
      auth_code: 'c',
      redirect_uri: 'https://app.example/cb',
      code_verifier: 'v',
      nonce: 'n',
    },
    noneJson: {
      oauth2CredentialId: identifier(1),
      authCode: 'c',
      redirectUri: 'https://app.example/cb',
      codeVerifier: 'v',
      nonce: 'n',
    },
    intent: ['oauth2_authenticate_intent', 'oauth2AuthenticateIntent'],
    result: ['oauth2_authenticate_result', 'oauth2AuthenticateResult', { oidc_token: 'oidcToken' }],
  }),
  submit('oauth', 'ACTIVITY_TYPE_OAUTH', 'AuthenticationService/Oauth', {
    all: {
      oidc_token: 'ZXlK',
      target_public_key: UNCOMPRESSED,
      api_key_name: 'k',
      expiration_seconds: '900',
      invalidate_existing: true,
    },
    none: { oidc_token: 'ZXlK', target_public_key: UNCOMPRESSED },
    noneJson: { oidcToken: 'ZXlK', targetPublicKey: UNCOMPRESSED },
    intent: ['oauth_intent', 'oauthIntent'],
    result: [
      'oauth_result',
      'oauthResult',
      { user_id: 'userId', api_key_id: 'apiKeyId', credential_bundle: 'credentialBundle' },
    ],
  }),
  submit(
    'create_session_profile',
    'ACTIVITY_TYPE_CREATE_SESSION_PROFILE',
    'AuthenticationService/CreateSessionProfile',
    {
      appProofs: false,
      all: {
        session_profile_name: 'signing',
        scope: "activity.action == 'SIGN'",
        expiration_seconds: '600',
        notes: 'n',
      },
      none: { session_profile_name: 'p', scope: 's' },
      noneJson: { sessionProfileName: 'p', scope: 's' },
      intent: ['create_session_profile_intent', 'createSessionProfileIntent'],
      result: [
        'create_session_profile_result',
        'createSessionProfileResult',
        { session_profile_id: 'sessionProfileId' },
      ],
    },
  ),
  submit('delete_webhook_endpoint', 'ACTIVITY_TYPE_DELETE_WEBHOOK_ENDPOINT', 'WebhookService/DeleteWebhookEndpoint', {
    all: { endpoint_id: identifier(4) },
    none: { endpoint_id: identifier(4) },
    noneJson: { endpointId: identifier(4) },
    intent: ['delete_webhook_endpoint_intent', 'deleteWebhookEndpointIntent'],
    result: ['delete_webhook_endpoint_result', 'deleteWebhookEndpointResult', { endpoint_id: 'endpointId' }],
  }),
  submit('create_oauth_providers', 'ACTIVITY_TYPE_CREATE_OAUTH_PROVIDERS_V2', 'UserService/CreateOauthProviders', {
    all: {
      user_id: END_USER,
      oauth_providers: [
        { provider_name: 'Google', oidc_token: 'ZXlK' },
        { provider_name: 'Apple', oidc_claims: { iss: 'https://appleid.apple.com', sub: 's', aud: 'a' } },
      ],
    },
    none: { user_id: END_USER, oauth_providers: [{ provider_name: 'Google' }] },
    noneJson: { userId: END_USER, oauthProviders: [{ providerName: 'Google' }] },
    intent: ['create_oauth_providers_intent_v2', 'createOauthProvidersIntentV2'],
    result: ['create_oauth_providers_result_v2', 'createOauthProvidersResultV2', { provider_ids: 'providerIds' }],
  }),
  submit('create_policies', 'ACTIVITY_TYPE_CREATE_POLICIES', 'PolicyService/CreatePolicies', {
    all: {
      policies: [
        {
          policy_name: 'p',
          effect: 'EFFECT_DENY',
          condition: 'a && b < 3',
          consensus: 'true',
          notes: 'n',
          time: 'true',
        },
      ],
    },
    // The field `notes` is required, but may be empty.
    none: { policies: [{ policy_name: 'p', effect: 'EFFECT_ALLOW', notes: '' }] },
    noneJson: { policies: [{ policyName: 'p', effect: 'EFFECT_ALLOW', notes: '' }] },
    intent: ['create_policies_intent', 'createPoliciesIntent'],
    result: ['create_policies_result', 'createPoliciesResult', { policy_ids: 'policyIds' }],
  }),
  submit('earn_withdraw', 'ACTIVITY_TYPE_EARN_WITHDRAW', 'EarnService/EarnWithdraw', {
    all: {
      wrapper_address: '0x0101010101010101010101010101010101010101',
      sign_with: '0x0202020202020202020202020202020202020202',
      chain_caip2: 'EARN_CHAIN_EIP155_8453',
      amount_value: 'MAX',
      sponsor: true,
    },
    none: {
      wrapper_address: '0x0101010101010101010101010101010101010101',
      sign_with: '0x0202020202020202020202020202020202020202',
      chain_caip2: 'EARN_CHAIN_EIP155_1',
      amount_value: '340282366920938463463374607431768211456',
    },
    noneJson: {
      wrapperAddress: '0x0101010101010101010101010101010101010101',
      signWith: '0x0202020202020202020202020202020202020202',
      chainCaip2: 'eip155:1',
      amountValue: '340282366920938463463374607431768211456',
    },
    intent: ['earn_withdraw_intent', 'earnWithdrawIntent'],
    newerNames: ({ chainCaip2 }) => ({ caip2: chainCaip2 }),
    result: ['earn_withdraw_result', 'earnWithdrawResult', { withdraw_request_id: 'withdrawRequestId' }],
  }),
  submit(
    'create_smart_contract_interface',
    'ACTIVITY_TYPE_CREATE_SMART_CONTRACT_INTERFACE',
    'SmartContractService/CreateSmartContractInterface',
    {
      all: {
        smart_contract_address: '0x0303030303030303030303030303030303030303',
        smart_contract_interface: '[{"type":"function","name":"é"}]',
        type: 'SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM',
        label: 'l',
        notes: 'n',
      },
      none: {
        smart_contract_address: '0x0303030303030303030303030303030303030303',
        smart_contract_interface: '{}',
        type: 'SMART_CONTRACT_INTERFACE_TYPE_SOLANA',
        label: 'l',
      },
      noneJson: {
        smartContractAddress: '0x0303030303030303030303030303030303030303',
        smartContractInterface: '{}',
        type: 'SMART_CONTRACT_INTERFACE_TYPE_SOLANA',
        label: 'l',
      },
      intent: ['create_smart_contract_interface_intent', 'createSmartContractInterfaceIntent'],
      result: [
        'create_smart_contract_interface_result',
        'createSmartContractInterfaceResult',
        { smart_contract_interface_id: 'smartContractInterfaceId' },
      ],
    },
  ),
  submit('stamp_login', 'ACTIVITY_TYPE_STAMP_LOGIN', 'AuthenticationService/StampLogin', {
    stampedByClient: true,
    all: {
      public_key: COMPRESSED,
      expiration_seconds: '900',
      invalidate_existing: false,
      session_profile_id: identifier(3),
    },
    none: { public_key: COMPRESSED },
    noneJson: { publicKey: COMPRESSED },
    intent: ['stamp_login_intent', 'stampLoginIntent'],
    result: ['stamp_login_result', 'stampLoginResult', { session: 'session' }],
  }),
  submit('verify_otp', 'ACTIVITY_TYPE_VERIFY_OTP_V2', 'AuthenticationService/VerifyOtp', {
    all: { otp_id: identifier(8), encrypted_otp_bundle: '{"encappedPublic":"04"}', expiration_seconds: '3600' },
    none: { otp_id: identifier(8), encrypted_otp_bundle: 'b' },
    noneJson: { otpId: identifier(8), encryptedOtpBundle: 'b' },
    intent: ['verify_otp_intent_v2', 'verifyOtpIntentV2'],
    result: ['verify_otp_result', 'verifyOtpResult', { verification_token: 'verificationToken' }],
  }),
  submit(
    'create_oauth2_credential',
    'ACTIVITY_TYPE_CREATE_OAUTH2_CREDENTIAL',
    'AuthenticationService/CreateOauth2Credential',
    {
      all: { provider: 'OAUTH2_PROVIDER_DISCORD', client_id: 'c', encrypted_client_secret: 'e' },
      none: { provider: 'OAUTH2_PROVIDER_X', client_id: 'c', encrypted_client_secret: 'e' },
      noneJson: { provider: 'OAUTH2_PROVIDER_X', clientId: 'c', encryptedClientSecret: 'e' },
      intent: ['create_oauth2_credential_intent', 'createOauth2CredentialIntent'],
      result: [
        'create_oauth2_credential_result',
        'createOauth2CredentialResult',
        { oauth2_credential_id: 'oauth2CredentialId' },
      ],
    },
  ),
  submit('delete_oauth_providers', 'ACTIVITY_TYPE_DELETE_OAUTH_PROVIDERS', 'UserService/DeleteOauthProviders', {
    all: { user_id: END_USER, provider_ids: [identifier(5)] },
    none: { user_id: END_USER, provider_ids: [identifier(5), identifier(53)] },
    noneJson: { userId: END_USER, providerIds: [identifier(5), identifier(53)] },
    intent: ['delete_oauth_providers_intent', 'deleteOauthProvidersIntent'],
    result: ['delete_oauth_providers_result', 'deleteOauthProvidersResult', { provider_ids: 'providerIds' }],
  }),
  submit('delete_api_keys', 'ACTIVITY_TYPE_DELETE_API_KEYS', 'UserService/DeleteApiKeys', {
    all: { user_id: END_USER, api_key_ids: [identifier(2)] },
    none: { user_id: END_USER, api_key_ids: [identifier(41), identifier(42)] },
    noneJson: { userId: END_USER, apiKeyIds: [identifier(41), identifier(42)] },
    intent: ['delete_api_keys_intent', 'deleteApiKeysIntent'],
    result: ['delete_api_keys_result', 'deleteApiKeysResult', { api_key_ids: 'apiKeyIds' }],
  }),
  submit('export_wallet_account', 'ACTIVITY_TYPE_EXPORT_WALLET_ACCOUNT', 'WalletService/ExportWalletAccount', {
    all: { address: '0x0404040404040404040404040404040404040404', target_public_key: UNCOMPRESSED },
    none: { address: '0x0404040404040404040404040404040404040404', target_public_key: UNCOMPRESSED },
    noneJson: { address: '0x0404040404040404040404040404040404040404', targetPublicKey: UNCOMPRESSED },
    intent: ['export_wallet_account_intent', 'exportWalletAccountIntent'],
    result: [
      'export_wallet_account_result',
      'exportWalletAccountResult',
      { address: 'address', export_bundle: 'exportBundle' },
    ],
  }),
  submit(
    'delete_sub_organization',
    'ACTIVITY_TYPE_DELETE_SUB_ORGANIZATION',
    'OrganizationService/DeleteSubOrganization',
    {
      all: { delete_without_export: true },
      none: {},
      noneJson: {},
      intent: ['delete_sub_organization_intent', 'deleteSubOrganizationIntent'],
      result: [
        'delete_sub_organization_result',
        'deleteSubOrganizationResult',
        { sub_organization_uuid: 'subOrganizationUuid' },
      ],
    },
  ),
  submit(
    'update_organization_name',
    'ACTIVITY_TYPE_UPDATE_ORGANIZATION_NAME',
    'OrganizationService/UpdateOrganizationName',
    {
      all: { organization_name: 'Ünïcode & <Co>' },
      none: { organization_name: '"\\/\u0000\u001f\u007f\u2028😀' },
      noneJson: { organizationName: '"\\/\u0000\u001f\u007f\u2028😀' },
      intent: ['update_organization_name_intent', 'updateOrganizationNameIntent'],
      result: [
        'update_organization_name_result',
        'updateOrganizationNameResult',
        { organization_id: 'organizationId', organization_name: 'organizationName' },
      ],
    },
  ),
  submit('update_mfa_policy', 'ACTIVITY_TYPE_UPDATE_MFA_POLICY', 'UserService/UpdateMfaPolicy', {
    appProofs: false,
    all: {
      user_id: END_USER,
      mfa_policy_id: identifier(10),
      mfa_policy_name: 'm',
      condition: 'true',
      required_authentication_methods: [
        {
          any: [{ type: 'AUTHENTICATION_TYPE_PASSKEY', id: identifier(9) }, { type: 'AUTHENTICATION_TYPE_EMAIL_OTP' }],
        },
        { any: [{ type: 'AUTHENTICATION_TYPE_SESSION' }] },
      ],
      order: 0,
      notes: 'n',
    },
    none: { user_id: END_USER, mfa_policy_id: identifier(10) },
    noneJson: { userId: END_USER, mfaPolicyId: identifier(10) },
    intent: ['update_mfa_policy_intent', 'updateMfaPolicyIntent'],
    result: ['update_mfa_policy_result', 'updateMfaPolicyResult', { mfa_policy_id: 'mfaPolicyId' }],
  }),
  vote('approve_activity', 'ACTIVITY_TYPE_APPROVE_ACTIVITY', 'ActivityService/ApproveActivity', 'approveActivity'),
  vote('reject_activity', 'ACTIVITY_TYPE_REJECT_ACTIVITY', 'ActivityService/RejectActivity', 'rejectActivity'),
];

/** @type {Operation[]} */
export const queries = [
  query('list_wallet_accounts', 'WalletService/ListWalletAccounts', {
    all: {
      wallet_id: identifier(11),
      include_wallet_details: true,
      pagination_options: { limit: '100', before: identifier(12), after: identifier(13) },
    },
    none: {},
    noneJson: { organizationId: ORGANIZATION },
  }),
  query('get_wallet_account', 'WalletService/GetWalletAccount', {
    all: {
      wallet_id: identifier(11),
      address: '0x0404040404040404040404040404040404040404',
      path: "m/44'/60'/0'/0/0",
    },
    none: { wallet_id: identifier(11) },
    noneJson: { organizationId: ORGANIZATION, walletId: identifier(11) },
  }),
  query('get_authenticators', 'UserService/GetAuthenticators', {
    all: { user_id: END_USER },
    noneJson: { organizationId: ORGANIZATION, userId: END_USER },
  }),
  query('get_mfa_policies', 'UserService/GetMfaPolicies', {
    all: { user_id: END_USER },
    noneJson: { organizationId: ORGANIZATION, userId: END_USER },
  }),
  query('get_policy', 'PolicyService/GetPolicy', {
    all: { policy_id: identifier(6) },
    noneJson: { organizationId: ORGANIZATION, policyId: identifier(6) },
  }),
  query('get_activity', 'ActivityService/GetActivity', {
    all: { activity_id: identifier(20) },
    noneJson: { organizationId: ORGANIZATION, activityId: identifier(20) },
  }),
  query('list_activities', 'ActivityService/ListActivities', {
    all: {
      filter_by_status: ['ACTIVITY_STATUS_CONSENSUS_NEEDED', 'ACTIVITY_STATUS_PENDING'],
      filter_by_type: ['ACTIVITY_TYPE_CREATE_POLICIES', 'ACTIVITY_TYPE_OAUTH'],
      pagination_options: { limit: '100', before: identifier(20), after: identifier(20) },
    },
    none: {},
    noneJson: { organizationId: ORGANIZATION },
  }),
];

export const operations = [...submits, ...queries];
