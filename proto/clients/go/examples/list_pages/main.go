// Lists the accounts of all wallets of an organization, page by page.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"google.golang.org/protobuf/proto"

	stampgate "stampgate.dev/client"
	"stampgate.dev/client/stampgatev1"
)

const organization = "11111111-2222-4333-8444-555555555555"

func main() {
	address := "127.0.0.1:7443"
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	conn, err := stampgate.Dial(address)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	wallets := stampgatev1.NewWalletServiceClient(conn)
	request := &stampgatev1.ListWalletAccountsRequest{OrganizationId: organization}

	request.PaginationOptions = &stampgatev1.PaginationOptions{Limit: proto.Uint64(2)}
	for {
		response, err := wallets.ListWalletAccounts(context.Background(), request)
		if err != nil {
			log.Fatal(err)
		}
		for _, account := range response.GetAccounts() {
			fmt.Println(account.GetAddress())
		}
		// Only a full page suggests that more pages follow.
		accounts := response.GetAccounts()
		if uint64(len(accounts)) < request.GetPaginationOptions().GetLimit() {
			return
		}
		request.PaginationOptions.After = proto.String(accounts[len(accounts)-1].GetWalletAccountId())
	}
}
