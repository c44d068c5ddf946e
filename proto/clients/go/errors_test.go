package stampgate_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	stampgate "stampgate.dev/client"
	"stampgate.dev/client/stampgatetest"
	"stampgate.dev/client/stampgatev1"
)

func refusal(code codes.Code, reason string) *stampgate.Error {
	return &stampgate.Error{Code: code, Message: "refused", Reason: reason, Domain: "stampgate"}
}

func delayed(err *stampgate.Error, delay time.Duration) *stampgate.Error {
	err.RetryDelay = &delay
	return err
}

func TestACallFailsWithAllThatTheErrorContains(t *testing.T) {
	gateway := stampgatetest.New(t)
	sent := delayed(refusal(codes.Unavailable, "UPSTREAM_UNREACHABLE"), 1500*time.Millisecond)
	sent.Metadata = map[string]string{"http_status": "503"}
	sent.Violations = []*errdetails.BadRequest_FieldViolation{{Field: "parameters", Description: "is required"}}
	gateway.Answer(stampgatev1.PolicyService_CreatePolicies_FullMethodName, stampgatetest.Fail(sent))
	policies := stampgatev1.NewPolicyServiceClient(gateway.Conn)

	_, err := policies.CreatePolicies(t.Context(), &stampgatev1.CreatePoliciesRequest{})

	var got *stampgate.Error
	if !errors.As(err, &got) {
		t.Fatalf("got %v", err)
	}
	if received := status.Convert(err); received.Code() != codes.Unavailable || len(received.Details()) != 3 {
		t.Errorf("the status is %v", received)
	}
	checkEqual(t, got.Metadata, sent.Metadata)
	checkEqual(t, got.RetryDelay, sent.RetryDelay)
	checkEqual(t, got.Domain, sent.Domain)
	if !got.HasReason(stampgatev1.ErrorReason_ERROR_REASON_UPSTREAM_UNREACHABLE) {
		t.Error("HasReason returns false")
	}
	want := "Unavailable UPSTREAM_UNREACHABLE: refused; parameters: is required (request " + stampgatetest.RequestID + ")"
	if got.Error() != want {
		t.Errorf("the text is %q", got.Error())
	}
}

func TestAReasonOfUpstreamIsNoReasonOfTheGateway(t *testing.T) {
	err := &stampgate.Error{Code: codes.NotFound, Reason: "EVENT_NOT_FOUND", Domain: "upstream"}
	if err.HasReason(stampgatev1.ErrorReason_ERROR_REASON_EVENT_NOT_FOUND) {
		t.Error("HasReason returns true")
	}
}

func TestAStreamFailsWithATypedError(t *testing.T) {
	gateway := stampgatetest.New(t)
	gateway.Answer(stampgatev1.EventService_ReadEventBody_FullMethodName,
		stampgatetest.Fail(refusal(codes.NotFound, "EVENT_NOT_FOUND")))
	stream, err := stampgatev1.NewEventServiceClient(gateway.Conn).ReadEventBody(
		t.Context(), &stampgatev1.ReadEventBodyRequest{EventId: "e"})
	if err == nil {
		_, err = stream.Recv()
	}
	var got *stampgate.Error
	if !errors.As(err, &got) || got.Reason != "EVENT_NOT_FOUND" || got.RequestID != stampgatetest.RequestID {
		t.Errorf("got %v", err)
	}
}

func TestACancelledCallIsCancelled(t *testing.T) {
	gateway := stampgatetest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := stampgatev1.NewPolicyServiceClient(gateway.Conn).GetPolicy(ctx, &stampgatev1.GetPolicyRequest{})
	var got *stampgate.Error
	if !errors.As(err, &got) || got.Code != codes.Canceled {
		t.Errorf("got %v", err)
	}
}
