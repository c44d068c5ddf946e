// Logs an end user in with an API key. The environment variable PRIVATE_KEY contains the key: 64 hexadecimal digits.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

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
	ctx := context.Background()
	stamper, err := stampgate.APIKey(os.Getenv("PRIVATE_KEY"))
	if err != nil {
		log.Fatal(err)
	}
	login := &stampgatev1.StampLoginRequest{OrganizationId: organization,
		// The public key of the session, which usually a browser has made.
		Parameters: &stampgatev1.StampLoginParameters{PublicKey: "02" + strings.Repeat("1f", 32)}}
	stamped, err := stampgate.Prepare(ctx, conn, stampgatev1.AuthenticationService_StampLogin_FullMethodName, login, stamper)
	if err != nil {
		log.Fatal(err)
	}
	authentication := stampgatev1.NewAuthenticationServiceClient(conn)
	response, err := stampgate.Submit(ctx, authentication.StampLogin, stamped)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(response.GetActivity().GetResult().GetStampLoginResult().GetSession()) > 0)
}
