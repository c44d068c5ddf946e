// Lists the accounts of all wallets of an organization, page by page.
package main

import (
	"context"
	"fmt"
	"log"

	"google.golang.org/protobuf/proto"

	stampgate "stampgate.dev/client"
	"stampgate.dev/client/stampgatev1"
)

const organization = "11111111-2222-4333-8444-555555555555"

func main() {
	conn, err := stampgate.Dial("127.0.0.1:7443")
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	wallets := stampgatev1.NewWalletServiceClient(conn)
	page := &stampgatev1.PaginationOptions{Limit: proto.Uint64(2)}
	for {
		response, err := wallets.ListWalletAccounts(context.Background(), &stampgatev1.ListWalletAccountsRequest{
			OrganizationId: organization, PaginationOptions: page})
		if err != nil {
			log.Fatal(err)
		}
		for _, account := range response.GetAccounts() {
			fmt.Println(account.GetAddress())
			page.After = proto.String(account.GetWalletAccountId())
		}
		if uint64(len(response.GetAccounts())) < page.GetLimit() {
			return
		}
	}
}
