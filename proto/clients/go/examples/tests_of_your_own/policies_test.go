// A unit test with the fake gateway, and a connection with TLS.
package policies

import (
	"context"
	"errors"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	stampgate "stampgate.dev/client"
	"stampgate.dev/client/stampgatetest"
	"stampgate.dev/client/stampgatev1"
)

// connect is what the program itself uses.
func connect() (*grpc.ClientConn, error) {
	conn, err := stampgate.Dial("gateway:7443",
		stampgate.TLSFiles("ca.crt", "tls.crt", "tls.key"), stampgate.TokenFile("token"))
	return conn, err
}

// nameOf returns the name of a policy, or the empty text if there is no such policy.
func nameOf(ctx context.Context, conn grpc.ClientConnInterface, policy string) (string, error) {
	response, err := stampgatev1.NewPolicyServiceClient(conn).GetPolicy(ctx, &stampgatev1.GetPolicyRequest{PolicyId: policy})
	var refused *stampgate.Error
	if errors.As(err, &refused) && refused.Code == codes.NotFound {
		return "", nil
	}
	return response.GetPolicy().GetPolicyName(), err
}

func TestNameOf(t *testing.T) {
	gateway := stampgatetest.New(t)
	gateway.Answer(stampgatev1.PolicyService_GetPolicy_FullMethodName,
		stampgatetest.Fail(&stampgate.Error{Code: codes.NotFound, Reason: "POLICY_NOT_FOUND", Domain: "upstream"}),
		stampgatetest.OK(&stampgatev1.GetPolicyResponse{Policy: &stampgatev1.Policy{PolicyName: "two of three"}}))
	for _, want := range []string{"", "two of three"} {
		got, err := nameOf(t.Context(), gateway.Conn, "policy-1")
		if got != want || err != nil {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	}
}

func TestConnect(t *testing.T) {
	conn, err := connect() // The files are read for the first call.
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}
