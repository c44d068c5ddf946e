// Creates a policy, and handles each kind of error: handle_errors [ADDRESS [ORGANIZATION [NAME]]]. Without a name, the
// gateway refuses the request, and nothing is created.
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

// printError prints what the error of a submit means.
func printError(err error) {
	var unknown *stampgate.OutcomeUnknown
	var pending *stampgate.ActivityPending
	var rejected *stampgate.ActivityRejected
	var failed *stampgate.ActivityFailed
	var refused *stampgate.Error
	switch {
	case errors.As(err, &unknown):
		// Each program must handle this case: it is no refusal. Store unknown.Request, and submit it again.
		fmt.Println("upstream may have acted: submit the same request again, with the key", unknown.Key)
	case errors.As(err, &pending):
		fmt.Println("activity", pending.Activity.GetId(), "has not ended:", pending.Activity.GetStatus())
	case errors.As(err, &rejected):
		fmt.Println("users rejected activity", rejected.Activity.GetId())
	case errors.As(err, &failed):
		fmt.Println("activity", failed.Activity.GetId(), "failed:", failed.Activity.GetFailure().GetMessage())
	case errors.As(err, &refused) && len(refused.Violations) > 0:
		for _, violation := range refused.Violations {
			fmt.Printf("%v %s: %s: %s\n", refused.Code, refused.Reason, violation.Field, violation.Description)
		}
	case errors.As(err, &refused) && refused.Domain == "upstream":
		fmt.Println("upstream refused the request:", refused)
	case errors.As(err, &refused) && refused.HasReason(stampgatev1.ErrorReason_ERROR_REASON_DENIED_BY_POLICY):
		fmt.Println("the gateway does not allow", refused.Metadata["method"], "to", refused.Metadata["caller"])
	case errors.As(err, &refused):
		fmt.Println(refused) // its code, reason, message and request id
	default:
		fmt.Println("not an error of this module:", err)
	}
}

// argument returns an argument of the program, or value if there is no such argument.
func argument(index int, value string) string {
	if index < len(os.Args) {
		return os.Args[index]
	}
	return value
}

func main() {
	conn, err := stampgate.Dial(argument(1, "127.0.0.1:7443"))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	policies := stampgatev1.NewPolicyServiceClient(conn)
	response, err := stampgate.Submit(ctx, policies.CreatePolicies, &stampgatev1.CreatePoliciesRequest{
		OrganizationId: argument(2, "11111111-2222-4333-8444-555555555555"),
		Parameters: &stampgatev1.CreatePoliciesParameters{Policies: []*stampgatev1.PolicyToCreate{{
			PolicyName: argument(3, ""), Effect: stampgatev1.Effect_EFFECT_ALLOW, Notes: proto.String(""),
		}}},
	})
	if err != nil {
		printError(err)
		os.Exit(1)
	}
	fmt.Println("created", response.GetActivity().GetResult().GetCreatePoliciesResult().GetPolicyIds()[0])
}
