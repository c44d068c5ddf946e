"""Lists all accounts of an organization, page by page: list_pages.py [ADDRESS [ORGANIZATION]]."""

import sys
from collections.abc import Iterator

import stampgate
from stampgate.v1.pagination_pb2 import PaginationOptions
from stampgate.v1.wallet_service_pb2 import ListWalletAccountsRequest
from stampgate.v1.wallet_service_pb2_grpc import WalletServiceStub
from stampgate.v1.wallets_pb2 import WalletAccount

ADDRESS = '127.0.0.1:7443'
ORGANIZATION = '11111111-2222-4333-8444-555555555555'
PAGE_SIZE = 100


def accounts(wallets: WalletServiceStub, organization: str) -> Iterator[WalletAccount]:
    page = PaginationOptions(limit=PAGE_SIZE)
    while True:
        request = ListWalletAccountsRequest(organization_id=organization, pagination_options=page)
        found = wallets.ListWalletAccounts(request).accounts
        yield from found
        if len(found) < PAGE_SIZE:
            return
        page.after = found[-1].wallet_account_id


def main(address: str = ADDRESS, organization: str = ORGANIZATION) -> None:
    with stampgate.connect(address) as channel:
        for account in accounts(WalletServiceStub(channel), organization):
            print(account.address, account.path)


if __name__ == '__main__':
    main(*sys.argv[1:])
