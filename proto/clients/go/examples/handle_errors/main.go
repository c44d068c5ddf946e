// Makes calls that fail, and handles each kind of error.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	stampgate "stampgate.dev/client"
	"stampgate.dev/client/stampgatev1"
)

const organization = "11111111-2222-4333-8444-555555555555"

// explain returns what an error of a call or of a submit means.
func explain(err error) string {
	var unknown *stampgate.OutcomeUnknown
	var pending *stampgate.ActivityPending
	var rejected *stampgate.ActivityRejected
	var failed *stampgate.ActivityFailed
	var refused *stampgate.Error
	switch {
	case errors.As(err, &unknown):
		return "may have been carried out: repeat it with the key " + unknown.Key
	case errors.As(err, &pending):
		return "has not ended: " + pending.Activity.GetStatus().String()
	case errors.As(err, &rejected):
		return "was rejected by votes"
	case errors.As(err, &failed):
		return "failed: " + failed.Activity.GetFailure().GetMessage()
	case errors.As(err, &refused) && refused.HasReason(stampgatev1.ErrorReason_ERROR_REASON_INVALID_REQUEST):
		return "is faulty: " + refused.Violations[0].Field + ": " + refused.Violations[0].Description
	case errors.As(err, &refused) && refused.RetryDelay != nil:
		return fmt.Sprintf("can be repeated after %v", *refused.RetryDelay)
	case errors.As(err, &refused):
		return fmt.Sprintf("was refused: %v %s %s (request %s)", refused.Code, refused.Domain, refused.Reason, refused.RequestID)
	default:
		return "was not made: " + err.Error()
	}
}

func main() {
	conn, err := stampgate.Dial("127.0.0.1:7443")
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	ctx := context.Background()
	policies := stampgatev1.NewPolicyServiceClient(conn)

	_, err = policies.GetPolicy(ctx, &stampgatev1.GetPolicyRequest{OrganizationId: organization})
	fmt.Println("a query without a policy", explain(err))

	_, err = policies.GetPolicy(ctx, &stampgatev1.GetPolicyRequest{
		OrganizationId: organization, PolicyId: "00000000-0000-4000-8000-000000000000"})
	fmt.Println("a query for an unknown policy", explain(err))

	organizations := stampgatev1.NewOrganizationServiceClient(conn)
	_, err = stampgate.Submit(ctx, organizations.UpdateOrganizationName, &stampgatev1.UpdateOrganizationNameRequest{
		OrganizationId: organization,
		Parameters:     &stampgatev1.UpdateOrganizationNameParameters{OrganizationName: "Example Ltd"},
	})
	if err != nil {
		fmt.Println("a submit", explain(err))
	}
}
