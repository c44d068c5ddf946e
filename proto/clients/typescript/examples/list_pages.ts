// Lists all accounts of an organization's wallets, page by page.
//
//   node list_pages.ts GATEWAY ORGANIZATION
import { connect } from '@stampgate/client';
import { WalletService } from '@stampgate/client/v1';

const PAGE = 100n;

const [address = '127.0.0.1:7443', organizationId = '11111111-2222-4333-8444-555555555555'] = process.argv.slice(2);
const gateway = connect(address);
const wallets = gateway.client(WalletService);

let after: string | undefined;
for (;;) {
  const { accounts } = await wallets.listWalletAccounts({ organizationId, paginationOptions: { limit: PAGE, after } });
  for (const account of accounts) console.log(account.address, account.path);
  if (accounts.length < PAGE) break;
  after = accounts.at(-1)?.walletAccountId;
}
gateway.close();
