// Decides which calls a config allows, as the comments of the config's schema describe it. The oracle shares no code
// with the gateway, and reads the whole config for every question.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../paths.mjs';

/** The policy class of each method. GeneralService is in no class. */
export const CLASSES = {
  ...JSON.parse(readFileSync(join(root, 'tests/vectors/policy_classes.json'), 'utf8')),
  'GeneralService/QueryOperation': undefined,
  'GeneralService/SubmitOperation': undefined,
};

/** Upstream's names of the chains, by the names of the enum. */
const CHAINS = {
  EARN_CHAIN_EIP155_1: 'eip155:1',
  EARN_CHAIN_EIP155_8453: 'eip155:8453',
  EARN_CHAIN_EIP155_137: 'eip155:137',
};

function methodFits(grant, { method, request }) {
  if (method.startsWith('GeneralService/')) {
    const type = method === 'GeneralService/SubmitOperation' ? request.activity_type : undefined;
    return (grant.general_operations ?? []).some(
      (operation) => operation.path === request.path && operation.activity_type === type,
    );
  }
  const names = [method, `stampgate.v1.${method}`];
  return (grant.methods ?? []).some((name) => names.includes(name)) || (grant.classes ?? []).includes(CLASSES[method]);
}

const organizationFits = (grant, id) =>
  id === undefined || grant.all_organizations === true || (grant.organizations ?? []).includes(id);

function amountFits(grant, { amount_value: amount, chain_caip2: chain, wrapper_address: contract }) {
  if (!grant.amount_limits?.length) return true;
  if (amount !== 'MAX' && !/^(0|[1-9][0-9]{0,77})$/.test(amount)) return false;
  return grant.amount_limits.some((limit) => {
    if (limit.chain !== CHAINS[chain]) return false;
    if (limit.contract && limit.contract.toLowerCase() !== contract.toLowerCase()) return false;
    return limit.max_amount === undefined || (amount !== 'MAX' && BigInt(amount) <= BigInt(limit.max_amount));
  });
}

function valuesFit(grant, { method, request }) {
  const parameters = request.parameters ?? {};
  switch (method) {
    case 'EarnService/EarnWithdraw':
      return amountFits(grant, parameters);
    case 'OrganizationService/DeleteSubOrganization':
      return !parameters.delete_without_export || (grant.dangerous_fields ?? []).includes('delete_without_export');
    case 'WalletService/ExportWalletAccount':
      // Tests write each key in one form only.
      return (
        !grant.export_public_keys?.length ||
        grant.export_public_keys.some((key) => key.toLowerCase() === parameters.target_public_key.toLowerCase())
      );
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
 * @param {object} config `keys` and `callers` as in the config file
 * @param {string} name the name of the caller
 * @param {{method: string, request: object}} question
 * @returns {{key: string | undefined} | undefined} the key that signs; undefined if the call is not allowed
 */
export function decide({ keys, callers }, name, question) {
  const { organization_id: id } = question.request;
  const caller = callers.find((each) => each.name === name);
  const grant = (caller.grants ?? []).find(
    (each) => methodFits(each, question) && organizationFits(each, id) && valuesFit(each, question),
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
