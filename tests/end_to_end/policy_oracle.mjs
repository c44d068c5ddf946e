// Decides which calls a config allows, as the comments of the config's schema describe it. The oracle shares no code
// with the gateway, and reads the whole config for every question.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../paths.mjs';

const readVectors = (name) => JSON.parse(readFileSync(join(root, 'tests/vectors', name), 'utf8'));

/** The policy class of each method. GeneralService is in no class. */
export const CLASSES = {
  ...readVectors('policy_classes.json'),
  'GeneralService/QueryOperation': undefined,
  'GeneralService/SubmitOperation': undefined,
};

const rights = readVectors('method_rights.json');
/** The methods that classes cover whatever the config's class_grants_as_of is. */
const ALWAYS_COVERED = new Set(rights.always_covered);
/** The methods that no class covers. */
export const INTERNAL = new Set(rights.internal);
/** The methods that move amounts which no limit can check. */
export const UNLIMITED = new Set(rights.moves_unread_amount);
/** The methods that move assets to a destination which no grant can check. */
export const UNREAD_DESTINATION = new Set(rights.moves_to_unread_destination);
/** The days of the other methods, from which classes cover them. Those without a day here have the first one. */
const FIRST_DAY = '2026-09-22';
const DAYS = new Map(Object.entries(rights.since).flatMap(([day, methods]) => methods.map((method) => [method, day])));
/** The days of upstream's releases, the newest last. */
export const RELEASE_DAYS = [FIRST_DAY, ...Object.keys(rights.since)].sort();
/** The day from which classes cover all methods except the internal ones. */
export const NEWEST_DAY = RELEASE_DAYS.at(-1);

/** The methods whose requests only clients can stamp. */
export const STAMPED_BY_CLIENT = ['StampLogin', 'CreateReadOnlySession', 'CreateReadWriteSession', 'RecoverUser'].map(
  (name) => `AuthenticationService/${name}`,
);

/** Upstream's names of the chains, by the names of the enum. */
const CHAINS = {
  EARN_CHAIN_EIP155_1: 'eip155:1',
  EARN_CHAIN_EIP155_8453: 'eip155:8453',
  EARN_CHAIN_EIP155_42161: 'eip155:42161',
  EARN_CHAIN_EIP155_137: 'eip155:137',
  EARN_CHAIN_EIP155_56: 'eip155:56',
  EARN_CHAIN_EIP155_4217: 'eip155:4217',
};

/** The parameters that dangerous_fields concerns. */
const DANGEROUS_FIELDS = {
  'OrganizationService/DeleteSubOrganization': 'delete_without_export',
  'PrivateKeyService/DeletePrivateKeys': 'delete_without_export',
  'WalletService/DeleteWallets': 'delete_without_export',
  'WalletService/DeleteWalletAccounts': 'delete_without_export',
  'TvcService/CreateTvcApp': 'enable_debug_mode_deployments',
  'TvcService/CreateTvcDeployment': 'debug_mode',
  'PrivateKeyService/CreatePrivateKeys': 'external_signer_pubkey',
  'SigningService/SignRawPayload': 'external_signer_pubkey',
  'SigningService/SignRawPayloads': 'external_signer_pubkey',
  'SigningService/SignTransaction': 'external_signer_pubkey',
};

/** Whether a class of the grant covers the method. */
function classFits(grant, method, asOf = '') {
  if (!(grant.classes ?? []).includes(CLASSES[method]) || INTERNAL.has(method)) return false;
  return ALWAYS_COVERED.has(method) || (DAYS.get(method) ?? FIRST_DAY) <= asOf;
}

/** Whether a grant covers a method other than those of GeneralService, for some organizations and values. */
export function covers(grant, method, asOf) {
  if (grant.amount_limits?.length && UNLIMITED.has(method)) return false;
  if (grant.destinations?.length && UNREAD_DESTINATION.has(method)) return false;
  return (
    (grant.methods ?? []).some((name) => name.replace('stampgate.v1.', '') === method) || classFits(grant, method, asOf)
  );
}

/** Whether any grant of the caller has the method, whatever its organizations and its rules for values are. */
export function mentions({ callers, class_grants_as_of: asOf }, name, method) {
  const { grants = [] } = callers.find((each) => each.name === name);
  return grants.some((grant) => covers({ ...grant, amount_limits: [], destinations: [] }, method, asOf));
}

/**
 * @param {object} grant
 * @param {{method: string, request?: object}} question
 * @param {string} [asOf]
 */
function methodFits(grant, { method, request }, asOf) {
  if (method.startsWith('GeneralService/')) {
    const type = method === 'GeneralService/SubmitOperation' ? request.activity_type : undefined;
    return (grant.general_operations ?? []).some(
      (operation) => operation.path === request.path && operation.activity_type === type,
    );
  }
  return covers(grant, method, asOf);
}

/** The methods that name no organization, but concern all. */
const CONCERN_ALL_ORGANIZATIONS = new Set(['SubscriptionService/DeleteSubscription']);

function organizationFits(grant, { method, request: { organization_id: id } }) {
  if (grant.all_organizations === true) return true;
  if (id === undefined) return !CONCERN_ALL_ORGANIZATIONS.has(method);
  return (grant.organizations ?? []).includes(id);
}

function amountFits(grant, amount, { chain_caip2: chain, wrapper_address: contract }) {
  if (!grant.amount_limits?.length) return true;
  if (amount !== 'MAX' && !/^(0|[1-9][0-9]{0,77})$/.test(amount)) return false;
  return grant.amount_limits.some((limit) => {
    if (limit.chain !== CHAINS[chain]) return false;
    if (limit.contract && limit.contract.toLowerCase() !== contract.toLowerCase()) return false;
    return limit.max_amount === undefined || (amount !== 'MAX' && BigInt(amount) <= BigInt(limit.max_amount));
  });
}

/** Whether a grant allows an export to a key. Tests write each key in one form only. */
const exportFits = ({ export_public_keys: keys = [] }, target) =>
  keys.length === 0 || keys.some((key) => key.toLowerCase() === target.toLowerCase());

/** The destinations that the parameters of a method state. */
const DESTINATIONS = {
  'EarnService/ClaimEarnFees': ({ wrapper_address }) => [wrapper_address],
  'EarnService/EarnClaimRewards': ({ sign_with }) => [sign_with],
  'EarnService/EarnDeployWrapper': ({ vault_address, client_fee_wallet }) => [vault_address, client_fee_wallet],
  'EarnService/EarnWithdraw': ({ sign_with }) => [sign_with],
  'SigningService/SparkPrepareTransfer': ({ transfer }) => [transfer.receiver_public_key],
  'SwapService/CreateSwapQuoteV3': ({ destination_address }) => [destination_address],
  'SwapService/ExecuteSwapV3': ({ destination_address }) => [destination_address],
  'SwapService/UpsertSwapConfig': ({ fee_receiver_wallet_address }) => [fee_receiver_wallet_address],
  'TransactionService/EthSendTransaction': ({ calls }) => calls.map(({ to }) => to),
};

/** The form in which destinations compare. */
const compared = (destination) => (destination?.startsWith('0x') ? destination.toLowerCase() : destination);

function destinationsFit({ destinations = [] }, stated) {
  if (destinations.length === 0) return true;
  return stated.length > 0 && stated.every((each) => destinations.map(compared).includes(compared(each)));
}

function valuesFit(grant, { method, request }) {
  const parameters = request.parameters ?? {};
  if (DESTINATIONS[method] && !destinationsFit(grant, DESTINATIONS[method](parameters))) return false;
  const dangerous = DANGEROUS_FIELDS[method];
  if (dangerous) return !parameters[dangerous] || (grant.dangerous_fields ?? []).includes(dangerous);
  switch (method) {
    case 'EarnService/EarnDeposit':
      return amountFits(grant, parameters.assets, parameters);
    case 'EarnService/EarnWithdraw':
      return amountFits(grant, parameters.amount_value, parameters);
    case 'PrivateKeyService/ExportPrivateKey':
    case 'WalletService/ExportWallet':
    case 'WalletService/ExportWalletAccount':
      return exportFits(grant, parameters.target_public_key);
    case 'SecretService/ExportSecrets':
      return parameters.secrets.every((secret) => exportFits(grant, secret.target_public_key));
    default:
      return true;
  }
}

/** The key that signs for an organization if the grant names no key. */
function defaultKey(keys, id) {
  const lists = keys.find(({ organizations }) => organizations?.includes(id));
  return (lists ?? keys.find((each) => each.all_organizations))?.name;
}

/**
 * The decision about a call.
 * @param {object} config `keys`, `callers` and `class_grants_as_of` as in the config file
 * @param {string} name the name of the caller
 * @param {{method: string, request: object}} question
 * @returns {{key: string | undefined} | undefined} the key that signs; undefined if the call is not allowed
 */
export function decide({ keys, callers, class_grants_as_of: asOf }, name, question) {
  const { organization_id: id } = question.request;
  const caller = callers.find((each) => each.name === name);
  const grant = (caller.grants ?? []).find(
    (each) => methodFits(each, question, asOf) && organizationFits(each, question) && valuesFit(each, question),
  );
  return grant && { key: grant.key ?? defaultKey(keys, id) };
}

/** Whether a caller may receive an event with this method: the signed data and all grants for the method decide. */
export function sees({ callers }, name, method, { organizationId, parentOrganizationId }) {
  const { grants = [] } = callers.find((each) => each.name === name);
  const fitting = grants.filter((grant) => methodFits(grant, { method }));
  const ids = fitting.flatMap(({ organizations = [] }) => organizations);
  const isAll = fitting.some((grant) => grant.all_organizations);
  return isAll || ids.includes(organizationId) || ids.includes(parentOrganizationId);
}
