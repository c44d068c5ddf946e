// Finds every rule of a request in the protos that is stricter than upstream's own rules, as the simulator's schema has
// them from upstream's client library for Rust. The table DELIBERATE must list exactly these rules, each with a reason.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operationInSchema } from '../simulator/operations.mjs';
import {
  jsonNameOf,
  methodAt,
  optionAt,
  optionOf,
  pathOf,
  requestTypeAt,
  textOf,
  typedPaths,
} from './typed_messages.mjs';

/** The rules that are stricter on purpose, as `Message.field` and what the field must be. */
const DELIBERATE = [
  {
    why:
      "A query names with this text what upstream reads. Upstream's types mark it as required, or state nothing about " +
      'it, and no description says what an empty text would mean.',
    rules: [
      'GetActivityRequest.activity_id: not empty',
      'GetApiKeyRequest.api_key_id: not empty',
      'GetAppStatusRequest.app_id: not empty',
      'GetAuthenticatorRequest.authenticator_id: not empty',
      'GetAuthenticatorsRequest.user_id: not empty',
      'GetBootProofRequest.ephemeral_key: not empty',
      'GetClaimEarnFeesStatusRequest.claim_request_id: not empty',
      'GetEarnClaimRewardsStatusRequest.claim_request_id: not empty',
      'GetEarnDeployStatusRequest.deploy_request_id: not empty',
      'GetEarnDepositStatusRequest.deposit_request_id: not empty',
      'GetEarnWithdrawStatusRequest.withdraw_request_id: not empty',
      'GetLatestBootProofRequest.app_name: not empty',
      'GetMfaPoliciesRequest.user_id: not empty',
      'GetMfaPolicyRequest.mfa_policy_id: not empty',
      'GetMfaPolicyRequest.user_id: not empty',
      'GetMfaStatusRequest.activity_id: not empty',
      'GetNoncesRequest.address: not empty',
      'GetOauth2CredentialRequest.oauth2_credential_id: not empty',
      'GetOnrampTransactionStatusRequest.transaction_id: not empty',
      'GetPolicyEvaluationsRequest.activity_id: not empty',
      'GetPolicyRequest.policy_id: not empty',
      'GetPrivateKeyRequest.private_key_id: not empty',
      'GetSendTransactionStatusRequest.send_transaction_status_id: not empty',
      'GetSessionProfileRequest.session_profile_id: not empty',
      'GetSmartContractInterfaceRequest.smart_contract_interface_id: not empty',
      'GetSwapStatusRequest.swap_request_id: not empty',
      'GetTvcAppRequest.tvc_app_id: not empty',
      'GetTvcDeploymentDebugLogsRequest.deployment_id: not empty',
      'GetTvcDeploymentProvisioningDetailsRequest.deployment_id: not empty',
      'GetTvcDeploymentRequest.deployment_id: not empty',
      'GetTvcManifestGenerationInfoRequest.app_id: not empty',
      'GetTvcManifestGenerationInfoRequest.qos_version: not empty',
      'GetUserRequest.user_id: not empty',
      'GetVelocityControlRequest.velocity_control_id: not empty',
      'GetWalletAccountRequest.wallet_id: not empty',
      'GetWalletAddressBalancesRequest.address: not empty',
      'GetWalletAuthenticatorsRequest.user_id: not empty',
      'GetWalletRequest.wallet_id: not empty',
      'ListAppProofsRequest.activity_id: not empty',
      'ListEarnPositionsRequest.wallet_address: not empty',
      'ListEarnRewardsRequest.wallet_address: not empty',
      'ListEarnVaultsRequest.caip19: not empty',
      'ListEmailEventsRequest.email: not empty',
      'ListEthTransactionHistoryRequest.address: not empty',
      'ListSolTransactionHistoryRequest.address: not empty',
      'ListTvcAppDeploymentsRequest.app_id: not empty',
      'ValidateTvcImageRequest.pivot_container_image_url: not empty',
    ],
  },
  {
    why:
      "Upstream's types mark the text as required, and neither a rule nor a description says that it may be " +
      "empty. An empty text is an absent one in upstream's messages, which are protobuf messages without " +
      'presence here.',
    rules: [
      'ClientSignature.message: not empty',
      'ClientSignature.public_key: not empty',
      'ClientSignature.signature: not empty',
      'CreateReadWriteSessionParameters.target_public_key: not empty',
      'CreateSessionProfileParameters.scope: not empty',
      'CreateSessionProfileParameters.session_profile_name: not empty',
      'CreateVelocityControlParameters.identifier: not empty',
      'CreateVelocityControlParameters.name: not empty',
      'DeleteVelocityControlParameters.velocity_control_id: not empty',
      'InitImportPrivateKeyParameters.user_id: not empty',
      'InitImportWalletParameters.user_id: not empty',
      'InitOtpAuthParameters.contact: not empty',
      'InitOtpParameters.contact: not empty',
      'OauthProviderToCreate.provider_name: not empty',
      'OtpAuthParameters.otp_code: not empty',
      'OtpLoginParameters.verification_token: not empty',
      'SecretToImport.secret_payload: not empty',
      'SecretToImport.target_public_key: not empty',
      'VelocityControlAggregation.threshold: not empty',
      'VelocityControlDataSourceChainAssetTransferDefinition.caip19: not empty',
      'VelocityControlDataSourceFilterActivity.activity_type: not empty',
      'VerifyOtpParameters.encrypted_otp_bundle: not empty',
    ],
  },
  {
    why:
      'The name of an app or product in a message to the user. Its rules are those of labels, which ' +
      'upstream does not publish.',
    rules: [
      'EmailAuthCustomization.app_name: not empty',
      'InitOtpAuthParameters.app_name: not empty',
      'InitOtpParameters.app_name: not empty',
    ],
  },
  {
    why:
      "Upstream's types or descriptions say that the text is a number. The gateway refuses a text that is " +
      'none before it stamps it.',
    rules: [
      'ApiKeyToCreate.expiration_seconds: a number',
      'ApiKeyToCreateV1.expiration_seconds: a number',
      'CreateReadWriteSessionParameters.expiration_seconds: a number',
      'CreateSessionProfileParameters.expiration_seconds: a number',
      'EarnDeployWrapperParameters.client_fee_bps: a number',
      'EmailAuthParameters.expiration_seconds: a number',
      'EthSendTransactionParameters.deadline: a number',
      'ExecuteSwapParameters.evm_nonce: a number',
      'ExecuteSwapV3Parameters.evm_nonce: a number',
      'InitUserEmailRecoveryParameters.expiration_seconds: a number',
      'OauthLoginParameters.expiration_seconds: a number',
      'OauthParameters.expiration_seconds: a number',
      'OtpAuthParameters.expiration_seconds: a number',
      'OtpLoginParameters.expiration_seconds: a number',
      'PaginationOptions.limit: a number',
      'StampLoginParameters.expiration_seconds: a number',
      'UpsertSwapFeeSponsorshipLimitConfigParameters.window_duration_minutes: a number',
      'UpsertSwapFixedRateLimitConfigParameters.window_duration_minutes: a number',
      'VelocityControlAggregationWindowRolling.duration: a number',
      'VelocityControlDataSourceChainAssetTransferDefinition.decimals: a number',
    ],
  },
  {
    why: "Upstream's description states this limit; the library has no rule for it.",
    rules: [
      'EarnDeployWrapperParameters.client_fee_bps: at most 4000',
      'PaginationOptions.limit: at least 1',
      'PaginationOptions.limit: at most 100',
      'VelocityControlDataSourceChainAssetTransferDefinition.decimals: at most 255',
    ],
  },
  {
    why:
      "Upstream's types for JavaScript list the values; the library has a text. A new value comes with an " +
      'update of the protos or with a file of the config.',
    rules: [
      'EarnDeployWrapperParameters.chain_caip2: a listed value',
      'EarnDepositParameters.chain_caip2: a listed value',
      'EarnWithdrawParameters.chain_caip2: a listed value',
      'EthSendRawTransactionParameters.caip2: a listed value',
      'EthSendTransactionParameters.caip2: a listed value',
      'EthUndelegate7702Parameters.caip2: a listed value',
      'GetNoncesRequest.caip2: a listed value',
      'GetWalletAddressBalancesRequest.caip2: a listed value',
      'ListEthTransactionHistoryRequest.caip2: a listed value',
      'ListSolTransactionHistoryRequest.caip2: a listed value',
      'ListSupportedAssetsRequest.caip2: a listed value',
      'SolSendTransactionParameters.caip2: a listed value',
    ],
  },
  {
    why: 'The specification says digits or MAX. A grant can limit only an amount that the gateway can read.',
    rules: ['EarnDepositParameters.assets: an amount', 'EarnWithdrawParameters.amount_value: an amount'],
  },
];

/** The fields that are not in the body, and those that the gateway itself fills. */
const OWN = ['client_stamp', 'idempotency_key', 'timestamp_ms', 'wait_until'];

/** Every request names the organization, by which grants decide. */
const NAMED_IN_EVERY_REQUEST = 'organization_id';

const UINT64_MAX = 2n ** 64n - 1n;
/** The values of the types of integers. */
const RANGES = {
  uint32: [0n, 2n ** 32n - 1n],
  int32: [-(2n ** 31n), 2n ** 31n - 1n],
  uint64: [0n, UINT64_MAX],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
};
/** The values of the kinds of integers in the schema. */
function rangeOf({ kind, min, max }) {
  if (kind === 'integer') return [min, max];
  if (kind === 'ordinal') return [min ?? 0n, max ?? RANGES.uint32[1]];
  return kind === 'decimal' ? [min ?? 0n, max ?? UINT64_MAX] : undefined;
}

const limitOf = (field, name) => optionOf(field.options, name);

/** What a field of a request must be, and the schema does not demand. */
function* stricterRules(field, kind, { isQuery }) {
  const required = limitOf(field, 'required') ?? false;
  if (required && !kind.required) yield 'set';
  if (field.repeated) return yield* stricterList(field, kind);
  if (field.map) return;
  if (field.resolvedType?.values) return yield* stricterEnum(field, kind);
  if (field.resolvedType || field.type === 'bool') return;
  if (field.type in RANGES) return yield* stricterNumber(field, kind);
  // No request of a query has rules in the library, so that the schema only supposes that its texts must not be empty.
  const canBeEmpty = field.name !== NAMED_IN_EVERY_REQUEST && (kind.mayBeEmpty || kind.kind === 'base64' || isQuery);
  if (required && !limitOf(field, 'may_be_empty') && canBeEmpty) yield 'not empty';
  const { maxCharacters = Infinity } = kind;
  for (const name of ['max_characters', 'max_bytes']) {
    if ((limitOf(field, name) ?? Infinity) < maxCharacters) yield `${name} ${limitOf(field, name)}`;
  }
  if (limitOf(field, 'guard') === 'FIELD_GUARD_AMOUNT') yield 'an amount';
  if (limitOf(field, 'text_form') !== undefined && kind.kind !== 'any') yield 'JSON';
}

function* stricterList(field, kind) {
  const { minElements = 0, maxElements = Infinity } = kind;
  if ((limitOf(field, 'min_elements') ?? 0) > minElements) yield `at least ${limitOf(field, 'min_elements')} elements`;
  if ((limitOf(field, 'max_elements') ?? Infinity) < maxElements) {
    yield `at most ${limitOf(field, 'max_elements')} elements`;
  }
  if (field.resolvedType?.values) yield* stricterEnum(field, kind.of);
}

function* stricterEnum({ resolvedType }, kind) {
  if (kind.kind !== 'enum') return yield 'a listed value';
  const ours = Object.keys(resolvedType.values).map((name) => textOf(resolvedType, name));
  const missing = kind.values.filter((value) => !ours.includes(value));
  if (missing.length > 0) yield `none of ${missing.join(', ')}`;
}

function* stricterNumber(field, kind) {
  const [least, most] = RANGES[field.type];
  const [min, max] = [BigInt(limitOf(field, 'minimum') ?? least), BigInt(limitOf(field, 'maximum') ?? most)];
  const range = rangeOf(kind);
  if (range === undefined) yield 'a number';
  const [lowest, highest] = range ?? [0n, UINT64_MAX];
  if (min > lowest) yield `at least ${min}`;
  if (max < highest) yield `at most ${max}`;
}

/** Adds the stricter rules of a message and of all messages inside it. */
function compare(type, kind, context, found) {
  for (const field of type.fieldsArray.map((each) => each.resolve())) {
    if (OWN.includes(field.name)) continue;
    const inner = kind.members[jsonNameOf(field)];
    if (inner === undefined) continue;
    for (const rule of stricterRules(field, inner, context)) found.add(`${type.name}.${field.name}: ${rule}`);
    const [message, of] = [field.resolvedType, inner.kind === 'list' ? inner.of : inner];
    if (message?.fields && of.kind === 'object') compare(message, of, context, found);
  }
  for (const name of Object.keys(kind.members)) {
    if (name === 'type' && type.name.endsWith('Request')) continue;
    const known = type.fieldsArray.some((field) => jsonNameOf(field) === name);
    if (!known) found.add(`${type.name} has no ${name}`);
  }
  const group = type.options?.['(message).at_most_one'] ?? [];
  if (group.length > 0) compareGroup(type, [group].flat(), kind, found);
}

function compareGroup(type, group, kind, found) {
  const names = group.map((name) => jsonNameOf(type.fields[name]));
  const { atMostOneOf = [] } = kind;
  if (names.some((name) => !atMostOneOf.includes(name))) found.add(`${type.name}: at most one of ${group.join(', ')}`);
}

function allStricterRules() {
  const found = new Set();
  for (const path of typedPaths.filter((each) => !each.endsWith('/jwks'))) {
    const type = optionAt(path).activity_type;
    const operation = operationInSchema(pathOf(path), type);
    assert.equal(operation.type, type, `${methodAt(path)}: the schema has no such version`);
    compare(requestTypeAt(path), operation.body, { isQuery: type === undefined }, found);
  }
  return [...found].sort();
}

test("every rule that is stricter than upstream's is in the table, and no other one", () => {
  const listed = DELIBERATE.flatMap(({ rules }) => rules);
  assert.deepEqual(allStricterRules(), listed.sort());
});
