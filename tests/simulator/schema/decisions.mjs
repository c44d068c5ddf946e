// The facts of the schema that are decided by hand, because no crate states them. Each has a reason.

/**
 * Requests of operations that are published, and for which the crate's client has no method. As for nearly all other
 * operations, the path is the request's name.
 */
export const REQUESTS_WITHOUT_METHOD = [
  'services.coordinator.public.v1.GetOrganizationRequest',
  'services.coordinator.public.v1.GetVelocityControlRequest',
  'services.coordinator.public.v1.ListVelocityControlsRequest',
  'external.activity.v1.CreateApiOnlyUsersRequest',
  'external.activity.v1.CreateVelocityControlRequest',
  'external.activity.v1.DeleteVelocityControlRequest',
  'external.activity.v1.EthSendRawTransactionRequest',
];

/**
 * Messages of the earlier crate that the later crate does not have, or has with members of another type. Upstream's
 * published operations for velocity controls use them.
 */
export const MESSAGES_OF_EARLIER_CRATE = [
  'external.activity.v1.DeleteVelocityControlRequest',
  'immutable.activity.v1.DeleteVelocityControlIntent',
  'immutable.activity.v1.DeleteVelocityControlResult',
  'external.data.v1.VelocityControlDataSourceChainAssetTransferDefinition',
  'external.data.v1.VelocityControlAggregationWindowRolling',
];

/**
 * Members that upstream has renamed without a new version, and their earlier names. The specification, the earlier crate
 * and the client libraries for JavaScript have the earlier names; the later crate and the library for Python have the
 * newer ones. Nothing that upstream publishes states how long the service takes both, so the simulator accepts a request
 * with either name, but not with both. It makes values with the earlier names.
 */
export const RENAMED = {
  'EarnClaimRewardsIntent.caip2': 'chainCaip2',
  'EarnDeployWrapperIntent.caip2': 'chainCaip2',
  'EarnDepositIntent.caip2': 'chainCaip2',
  'EarnWithdrawIntent.caip2': 'chainCaip2',
};

/** Members that upstream's published protos do not mark as required. The crate has no mark for them. */
export const OPTIONAL = [
  'CreateSmartContractInterfaceIntent.notes',
  'GetSubOrgIdsRequest.filterType',
  'GetSubOrgIdsRequest.filterValue',
  'GetTvcDeploymentDebugLogsRequest.sinceSeconds',
  'GetTvcDeploymentDebugLogsRequest.tailLines',
  'GetVerifiedSubOrgIdsRequest.filterType',
  'GetVerifiedSubOrgIdsRequest.filterValue',
  'KeyValue.key',
  'KeyValue.value',
  'ListEarnEnabledVaultsRequest.provider',
  'ListEarnVaultsRequest.provider',
  'ListEmailEventsRequest.eventType',
  'Pagination.after',
  'Pagination.before',
  'Pagination.limit',
  'SetIpAllowlistIntent.rules',
  'UpdateWalletIntent.walletName',
];

/**
 * Messages, lists and one text that upstream's published protos mark as required. Rust can omit each of them. The protos
 * are older than velocity controls and the export of secrets: for these, only the types of the client library for
 * JavaScript have the mark.
 */
export const REQUIRED = [
  'AuthenticatorParamsV2.attestation',
  'CreateTvcDeploymentIntent.pivotArgs',
  'CreateVelocityControlIntent.aggregation',
  'CreateVelocityControlIntent.dataSource',
  'EmailAuthIntentV3.emailCustomization',
  'ExportSecretsIntent.secrets',
  'ImportSecretsIntent.secrets',
  'InitUserEmailRecoveryIntentV2.emailCustomization',
  'OtpLoginIntentV2.clientSignature',
  'RecoverUserIntent.authenticator',
  'RequiredAuthenticationMethodParams.any',
  'SetOrganizationFeatureIntent.value',
  'VelocityControlAggregation.groupBy',
  'VelocityControlAggregation.window',
  'VelocityControlDataSourceChainAssetTransfer.definition',
];

/**
 * Texts for which upstream's published protos list the values, or the crate states a format. The lists of chains grow
 * without a new version, so the simulator accepts every chain of the right kind. The protos are older than the rewards of
 * Earn, which have the same values as its other requests.
 */
export const TYPES = {
  'AuthenticatorAttestationResponse.authenticatorAttachment': 'Attachment',
  'EarnClaimRewardsIntent.chainCaip2': 'ethereumChain',
  'EarnDeployWrapperIntent.chainCaip2': 'ethereumChain',
  'EarnDepositIntent.chainCaip2': 'ethereumChain',
  'EarnWithdrawIntent.chainCaip2': 'ethereumChain',
  'EthSendRawTransactionIntent.caip2': 'ethereumChain',
  'EthSendTransactionIntent.caip2': 'ethereumChain',
  'EthSendTransactionIntentV2.caip2': 'ethereumChain',
  'EthTransactionHistoryItem.status': 'TransactionStatus',
  'EthUndelegate7702Intent.caip2': 'ethereumChain',
  'GetClaimEarnFeesStatusResponse.status': 'RequestStatus',
  'GetEarnClaimRewardsStatusResponse.status': 'RequestStatus',
  'GetEarnDeployStatusResponse.status': 'RequestStatus',
  'GetEarnDepositStatusResponse.status': 'RequestStatus',
  'GetEarnWithdrawStatusResponse.status': 'RequestStatus',
  'GetNoncesRequest.caip2': 'ethereumChain',
  'GetWalletAddressBalancesRequest.caip2': 'ethereumChain',
  'ListEthTransactionHistoryRequest.caip2': 'ethereumChain',
  'ListSolTransactionHistoryRequest.caip2': 'solanaChain',
  'ListSupportedAssetsRequest.caip2': 'ethereumChain',
  'PublicKeyCredentialWithAttestation.authenticatorAttachment': 'Attachment',
  'PublicKeyCredentialWithAttestation.type': 'CredentialKind',
  'SolSendTransactionIntent.caip2': 'solanaChain',
  'SolSendTransactionIntentV2.caip2': 'solanaChain',
  'SolTransactionHistoryItem.status': 'TransactionStatus',
  'Timestamp.nanos': 'decimal',
  'Timestamp.seconds': 'decimal',
  'TransactionHistoryTransfer.direction': 'TransferDirection',
  'Vote.selection': 'VoteSelection',
};

/**
 * Texts of digits whose rules limit the number of digits. The schema has no limit for them, because of all other texts of
 * digits it states the limits of the number.
 */
export const LENGTHS = [
  'SetPaymentMethodIntent.cvv',
  'SetPaymentMethodIntent.expiryMonth',
  'SetPaymentMethodIntent.expiryYear',
  'SetPaymentMethodIntent.number',
];

/** The values that TYPES names. */
export const ENUMS = {
  Attachment: ['cross-platform', 'platform'],
  CredentialKind: ['public-key'],
  RequestStatus: ['PENDING', 'COMPLETED', 'FAILED'],
  TransactionStatus: ['CONFIRMED', 'FINALIZED'],
  TransferDirection: ['IN', 'OUT'],
  VoteSelection: ['VOTE_SELECTION_APPROVED', 'VOTE_SELECTION_REJECTED'],
};
