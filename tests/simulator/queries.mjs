// Implements the queries.
import { invalidRequest, notFound } from './errors.mjs';
import * as records from './records.mjs';
import { defaults } from './specification.mjs';

/**
 * One page of a list. The reference specifies no order, and no sign for the last page.
 * @param {object[]} list
 * @param {(element: object) => string} idOf
 * @param {string} what
 * @param {object} [paginationOptions] from the request
 */
function page(list, idOf, what, { limit = defaults.pageLimit, before, after } = {}) {
  const place = (cursor, field, otherwise) => {
    if (cursor === undefined) return otherwise;
    const index = list.findIndex((element) => idOf(element) === cursor);
    if (index < 0) throw invalidRequest([{ field: `paginationOptions.${field}`, description: `is no known ${what}` }]);
    return index;
  };
  const from = place(after, 'after', -1) + 1;
  const to = place(before, 'before', list.length);
  const between = list.slice(from, Math.max(from, to));
  // If the client pages backwards, the page ends just before the cursor.
  const isBackwards = before !== undefined && after === undefined;
  return isBackwards ? between.slice(-Number(limit)) : between.slice(0, Number(limit));
}

/** @type {Record<string, (context: import('./submits.mjs').Context, body: any) => object>} */
export const queries = {
  list_wallet_accounts({ state, organizationId }, { walletId, includeWalletDetails = false, paginationOptions }) {
    const wallets = state.wallets.filter(
      (wallet) => wallet.organizationId === organizationId && (walletId === undefined || wallet.walletId === walletId),
    );
    if (walletId !== undefined && wallets.length === 0) throw notFound('REQUEST_INVALID', 'no such wallet');
    const accounts = wallets.flatMap((wallet) => wallet.accounts.map((account) => ({ wallet, account })));
    return {
      accounts: page(accounts, ({ account }) => account.walletAccountId, 'account', paginationOptions).map(
        ({ wallet, account }) => records.walletAccount(account, wallet, { withDetails: includeWalletDetails }),
      ),
    };
  },

  get_wallet_account({ state, organizationId }, { walletId, address, path }) {
    const wallet = state.find('wallets', organizationId, (each) => each.walletId === walletId);
    const account = wallet?.accounts.find(
      (each) => (address === undefined || each.address === address) && (path === undefined || each.path === path),
    );
    if (account === undefined) throw notFound('REQUEST_INVALID', 'no such wallet account');
    return { account: records.walletAccount(account, wallet) };
  },

  get_authenticators({ state, organizationId }, { userId }) {
    return { authenticators: state.user(organizationId, userId).authenticators.map(records.authenticator) };
  },

  get_mfa_policies({ state, organizationId }, { userId }) {
    return { mfaPolicies: state.user(organizationId, userId).mfaPolicies.map(records.mfaPolicy) };
  },

  get_policy({ state, organizationId }, { policyId }) {
    const policy = state.find('policies', organizationId, (each) => each.policyId === policyId);
    if (policy === undefined) throw notFound('REQUEST_INVALID', 'no such policy');
    return { policy: records.policy(policy) };
  },

  list_earn_positions() {
    return { positions: [] };
  },

  get_earn_withdraw_status({ state, organizationId }, { withdrawRequestId }) {
    const isIt = (each) => each.withdrawRequestId === withdrawRequestId;
    if (state.find('withdrawals', organizationId, isIt) === undefined) {
      throw notFound('REQUEST_INVALID', 'no such withdrawal');
    }
    return { status: 'PENDING' };
  },

  get_activity({ state, organizationId }, { activityId }) {
    const activity = state.activitiesById.get(activityId);
    if (activity?.organizationId !== organizationId) throw notFound('REQUEST_INVALID', 'no such activity');
    return { activity };
  },

  /** The newest activity comes first. */
  list_activities({ state, organizationId }, { filterByStatus = [], filterByType = [], paginationOptions }) {
    const activities = [...state.activitiesById.values()]
      .reverse()
      .filter(
        (each) =>
          each.organizationId === organizationId &&
          (filterByStatus.length === 0 || filterByStatus.includes(each.status)) &&
          (filterByType.length === 0 || filterByType.includes(each.type)),
      );
    return { activities: page(activities, ({ id }) => id, 'activity', paginationOptions) };
  },

  whoami({ state, organizationId, user }) {
    const { organizationName } = state.organizations.get(organizationId);
    return { organizationId, organizationName, userId: user.userId, username: user.userName };
  },
};
