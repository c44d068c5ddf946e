// The parts of the schema that are newer than upstream's client libraries for JavaScript, with which the tests compare
// the simulator. By default, the simulator does not have these parts.

const PATHS = [
  'query/get_swap_sponsorship_usage',
  'query/get_tvc_manifest_generation_info',
  'query/get_wallet_authenticators',
  'submit/create_wallet_authenticators',
  'submit/delete_wallet_authenticators',
  'submit/upsert_swap_fee_sponsorship_limit_config',
  'submit/upsert_swap_fixed_rate_limit_config',
  'submit/verify_wallet_authenticator',
];

const TYPES = [
  'CREATE_FIAT_OFF_RAMP_SESSION',
  'CREATE_FIAT_ON_RAMP_SESSION',
  'CREATE_SUB_ORGANIZATION_V9',
  'CREATE_SWAP_QUOTE_V3',
  'CREATE_WALLET_AUTHENTICATORS',
  'DELETE_VELOCITY_CONTROLS',
  'DELETE_WALLET_AUTHENTICATORS',
  'EXECUTE_SWAP_V4',
  'UPSERT_SWAP_FEE_SPONSORSHIP_LIMIT_CONFIG',
  'UPSERT_SWAP_FIXED_RATE_LIMIT_CONFIG',
  'VERIFY_WALLET_AUTHENTICATOR',
];

const VALUES = [
  'AUTHENTICATION_TYPE_WALLET',
  'EARN_PROVIDER_KAMINO',
  'FEATURE_NAME_SWAP_FEE_SPONSORSHIP',
  'FEATURE_NAME_SWAP_FIXED_RATE',
];

const MEMBERS = [
  'CreatePrivateKeysIntentV2.externalSignerPubkey',
  'CreatePrivateKeysIntentV2.externalSignerWrappingKeyId',
  'CreateTvcAppIntent.region',
  'CreateTvcDeploymentIntent.qosManifest',
  'ExecuteSwapResult.feeSponsorship',
  'ExecuteSwapResult.fixedRate',
  'ExecuteSwapResult.minOutputAmount',
  'ExecuteSwapResult.outputAmount',
  'GetTvcAppsRequest.isLive',
  'Intent.createFiatOffRampSessionIntent',
  'Intent.createFiatOnRampSessionIntent',
  'Intent.createSubOrganizationIntentV9',
  'Intent.createSwapQuoteIntentV3',
  'Intent.createWalletAuthenticatorsIntent',
  'Intent.deleteVelocityControlsIntent',
  'Intent.deleteWalletAuthenticatorsIntent',
  'Intent.executeSwapIntentV4',
  'Intent.upsertSwapFeeSponsorshipLimitConfigIntent',
  'Intent.upsertSwapFixedRateLimitConfigIntent',
  'Intent.verifyWalletAuthenticatorIntent',
  'Result.createFiatOffRampSessionResult',
  'Result.createFiatOnRampSessionResult',
  'Result.createSubOrganizationResultV9',
  'Result.createSwapQuoteResultV2',
  'Result.createWalletAuthenticatorsResult',
  'Result.deleteVelocityControlsResult',
  'Result.deleteWalletAuthenticatorsResult',
  'Result.upsertSwapFeeSponsorshipLimitConfigResult',
  'Result.upsertSwapFixedRateLimitConfigResult',
  'Result.verifyWalletAuthenticatorResult',
  'SignRawPayloadIntentV2.externalSignerPubkey',
  'SignRawPayloadsIntent.externalSignerPubkey',
  'SignTransactionIntentV2.externalSignerPubkey',
  'TvcApp.region',
  'User.walletAuthenticators',
];

/** Paths of operations, activity types, enum values, and members, as `Message.member`. */
export const NEWER = new Set([
  ...PATHS.map((name) => `/public/v1/${name}`),
  ...TYPES.map((name) => `ACTIVITY_TYPE_${name}`),
  ...VALUES,
  ...MEMBERS,
]);
