// Creates a policy at most once, whatever fails, also if this program ends and runs again within 24 hours.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

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
	policies := stampgatev1.NewPolicyServiceClient(conn)

	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	request := &stampgatev1.CreatePoliciesRequest{
		// The key of the order that this policy belongs to: the same one if the program runs again.
		IdempotencyKey: proto.String("order-4711"),
		OrganizationId: organization,
		Parameters: &stampgatev1.CreatePoliciesParameters{Policies: []*stampgatev1.PolicyToCreate{{
			PolicyName: "two of three", Effect: stampgatev1.Effect_EFFECT_ALLOW, Notes: proto.String(""),
		}}},
	}
	response, err := stampgate.Submit(ctx, policies.CreatePolicies, request)
	var unknown *stampgate.OutcomeUnknown
	if errors.As(err, &unknown) {
		// Upstream may have acted. Store unknown.Request, and submit it again later.
		log.Fatalf("repeat with the key %s: %v", unknown.Key, err)
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(response.GetActivity().GetResult().GetCreatePoliciesResult().GetPolicyIds()[0])
}
