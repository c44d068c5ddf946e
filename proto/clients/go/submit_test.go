package stampgate_test

import (
	"context"
	"errors"
	"regexp"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	stampgate "stampgate.dev/client"
	"stampgate.dev/client/stampgatetest"
	"stampgate.dev/client/stampgatev1"
)

const createPolicies = stampgatev1.PolicyService_CreatePolicies_FullMethodName

func activity(status stampgatev1.ActivityStatus) stampgatetest.Answer {
	return stampgatetest.OK(&stampgatev1.CreatePoliciesResponse{
		Activity: &stampgatev1.Activity{Id: "activity-1", Status: status}})
}

var (
	completed = activity(stampgatev1.ActivityStatus_ACTIVITY_STATUS_COMPLETED)
	needsVote = activity(stampgatev1.ActivityStatus_ACTIVITY_STATUS_CONSENSUS_NEEDED)
	// broken is the error of gRPC's library after the connection ended.
	broken = stampgatetest.Fail(&stampgate.Error{Code: codes.Unavailable, Message: "error reading from server: EOF"})
)

// submit makes a submit that is answered with these answers, and returns the requests that the gateway received.
func submit(t *testing.T, request *stampgatev1.CreatePoliciesRequest, answers ...stampgatetest.Answer) (
	[]*stampgatev1.CreatePoliciesRequest, *stampgatev1.CreatePoliciesResponse, error) {
	t.Helper()
	gateway := stampgatetest.New(t)
	gateway.Answer(createPolicies, answers...)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	before := proto.Clone(request)
	policies := stampgatev1.NewPolicyServiceClient(gateway.Conn)
	response, err := stampgate.Submit(ctx, policies.CreatePolicies, request)
	if !proto.Equal(before, request) {
		t.Errorf("Submit has changed the request to %v", request)
	}
	var received []*stampgatev1.CreatePoliciesRequest
	for _, each := range gateway.Requests(createPolicies) {
		received = append(received, each.(*stampgatev1.CreatePoliciesRequest))
	}
	return received, response, err
}

// checkIsNoRefusal checks that a program that looks for an *Error does not find one.
func checkIsNoRefusal(t *testing.T, err error) {
	t.Helper()
	var refused *stampgate.Error
	if errors.As(err, &refused) {
		t.Errorf("%T is mistaken for a refusal", err)
	}
}

func TestASubmitIsRepeatedWithTheSameKey(t *testing.T) {
	unknown := stampgatetest.Fail(refusal(codes.Unknown, "OUTCOME_UNKNOWN"))
	late := stampgatetest.Fail(refusal(codes.DeadlineExceeded, "OUTCOME_UNKNOWN"))
	received, response, err := submit(t, &stampgatev1.CreatePoliciesRequest{}, broken, unknown, late, completed)
	if err != nil || response.GetActivity().GetId() != "activity-1" {
		t.Fatalf("got %v, %v", response, err)
	}
	if len(received) != 4 {
		t.Fatalf("the gateway received %d requests", len(received))
	}
	key := received[0].GetIdempotencyKey()
	if !regexp.MustCompile(`^[A-Z2-7]{26}$`).MatchString(key) {
		t.Errorf("the key is %q", key)
	}
	for _, each := range received {
		if !proto.Equal(each, received[0]) {
			t.Errorf("a repetition is %v", each)
		}
	}
}

func TestTheKeyOfTheCallerIsUsed(t *testing.T) {
	request := &stampgatev1.CreatePoliciesRequest{IdempotencyKey: proto.String("mine")}
	received, _, err := submit(t, request, broken, completed)
	if err != nil || len(received) != 2 || received[1].GetIdempotencyKey() != "mine" {
		t.Errorf("got %v, %v", received, err)
	}
}

func TestARequestWithATimestampOrAStampGetsNoKeyAndIsRepeated(t *testing.T) {
	for _, request := range []*stampgatev1.CreatePoliciesRequest{
		{TimestampMs: proto.Uint64(1)},
		{ClientStamp: &stampgatev1.ClientStamp{Body: []byte("{}")}},
	} {
		received, _, err := submit(t, request, broken, completed)
		if err != nil || len(received) != 2 || received[1].IdempotencyKey != nil {
			t.Errorf("got %v, %v", received, err)
		}
	}
}

func TestARefusedSubmitIsNotRepeated(t *testing.T) {
	for _, refused := range []*stampgate.Error{
		refusal(codes.InvalidArgument, "INVALID_REQUEST"),
		refusal(codes.PermissionDenied, "DENIED_BY_POLICY"),
		refusal(codes.DeadlineExceeded, "DEADLINE_TOO_SHORT"),
		refusal(codes.Internal, "SIGNING_FAILED"),
		{Code: codes.ResourceExhausted, Reason: "QUOTA", Domain: "upstream"},
	} {
		received, _, err := submit(t, &stampgatev1.CreatePoliciesRequest{}, stampgatetest.Fail(refused))
		var got *stampgate.Error
		if !errors.As(err, &got) || got.Reason != refused.Reason || len(received) != 1 {
			t.Errorf("%s: got %v after %d requests", refused.Reason, err, len(received))
		}
	}
}

func TestTheDelayOfRetryInfoIsHonoured(t *testing.T) {
	busy := stampgatetest.Fail(delayed(refusal(codes.ResourceExhausted, "QUOTA_EXHAUSTED"), 400*time.Millisecond))
	begin := time.Now()
	received, _, err := submit(t, &stampgatev1.CreatePoliciesRequest{}, busy, completed)
	if took := time.Since(begin); err != nil || len(received) != 2 || took < 400*time.Millisecond {
		t.Errorf("got %v after %v and %d requests", err, took, len(received))
	}
}

func TestADelayAfterTheDeadlineEndsTheSubmitAtOnce(t *testing.T) {
	busy := stampgatetest.Fail(delayed(refusal(codes.ResourceExhausted, "QUOTA_EXHAUSTED"), time.Hour))
	begin := time.Now()
	_, _, err := submit(t, &stampgatev1.CreatePoliciesRequest{}, busy)
	var got *stampgate.Error
	if took := time.Since(begin); !errors.As(err, &got) || got.Reason != "QUOTA_EXHAUSTED" || took > 5*time.Second {
		t.Errorf("got %v after %v", err, took)
	}
}

func TestAnUnknownOutcomeHasWhatARepetitionNeeds(t *testing.T) {
	last := refusal(codes.Unknown, "OUTCOME_NOT_STORED")
	last.Metadata = map[string]string{"timestamp_ms": "1700000000000", "fingerprint": "sha256:00"}
	request := &stampgatev1.CreatePoliciesRequest{OrganizationId: "o"}
	received, _, err := submit(t, request, stampgatetest.Fail(last))
	var got *stampgate.OutcomeUnknown
	if !errors.As(err, &got) || len(received) != 1 {
		t.Fatalf("got %v after %d requests", err, len(received))
	}
	if got.Key == "" || got.TimestampMs != 1700000000000 || got.Fingerprint != "sha256:00" ||
		!proto.Equal(got.Request, received[0]) {
		t.Errorf("got %+v", got)
	}
	checkIsNoRefusal(t, err)
}

func TestAKeyThatBecameUncertainIsNotRepeated(t *testing.T) {
	uncertain := delayed(refusal(codes.Unknown, "IDEMPOTENCY_KEY_UNCERTAIN"), time.Millisecond)
	received, _, err := submit(t, &stampgatev1.CreatePoliciesRequest{}, stampgatetest.Fail(uncertain), completed)
	var got *stampgate.OutcomeUnknown
	if !errors.As(err, &got) || len(received) != 1 {
		t.Errorf("got %v after %d requests", err, len(received))
	}
}

func TestARefusalAfterABrokenConnectionIsAnUnknownOutcome(t *testing.T) {
	for _, refused := range []*stampgate.Error{
		refusal(codes.PermissionDenied, "DENIED_BY_POLICY"),
		{Code: codes.PermissionDenied, Reason: "REQUEST_NOT_AUTHORIZED", Domain: "upstream"},
	} {
		_, _, err := submit(t, &stampgatev1.CreatePoliciesRequest{}, broken, stampgatetest.Fail(refused))
		var got *stampgate.OutcomeUnknown
		if !errors.As(err, &got) || got.Last.Reason != refused.Reason {
			t.Errorf("got %v", err)
		}
	}
}

func TestAKeyThatCannotBeLookedUpIsAnUnknownOutcomeOnlyAfterAnAttemptThatMayHaveActed(t *testing.T) {
	noStore := stampgatetest.Fail(delayed(refusal(codes.Unavailable, "IDEMPOTENCY_UNAVAILABLE"), time.Millisecond))
	denied := stampgatetest.Fail(refusal(codes.PermissionDenied, "DENIED_BY_POLICY"))
	_, _, err := submit(t, &stampgatev1.CreatePoliciesRequest{}, noStore, denied)
	var refused *stampgate.Error
	if !errors.As(err, &refused) {
		t.Errorf("got %v", err)
	}
	_, _, err = submit(t, &stampgatev1.CreatePoliciesRequest{}, broken, noStore, denied)
	checkIsNoRefusal(t, err)
}

func TestAResponseThatIsTooLargeIsAnUnknownOutcomeAndNotRepeated(t *testing.T) {
	large := refusal(codes.OutOfRange, "ANSWER_TOO_LARGE")
	large.Metadata = map[string]string{"fingerprint": "sha256:00"}
	received, _, err := submit(t, &stampgatev1.CreatePoliciesRequest{}, stampgatetest.Fail(large))
	var got *stampgate.OutcomeUnknown
	if !errors.As(err, &got) || got.Fingerprint != "sha256:00" || len(received) != 1 {
		t.Errorf("got %v after %d requests", err, len(received))
	}
	gateway := stampgatetest.New(t)
	gateway.Answer(createPolicies, completed)
	_, err = stampgate.Submit(t.Context(), stampgatev1.NewPolicyServiceClient(gateway.Conn).CreatePolicies,
		&stampgatev1.CreatePoliciesRequest{}, grpc.MaxCallRecvMsgSize(5))
	if !errors.As(err, &got) || got.Last.Code != codes.ResourceExhausted || len(gateway.Requests(createPolicies)) != 1 {
		t.Errorf("got %v", err)
	}
}

func TestAnErrorInfoOfAProxyLeavesTheOutcomeUnknown(t *testing.T) {
	ofProxy := stampgatetest.Fail(&stampgate.Error{Code: codes.Unavailable, Reason: "RESET", Domain: "proxy.example"})
	denied := stampgatetest.Fail(refusal(codes.PermissionDenied, "DENIED_BY_POLICY"))
	_, _, err := submit(t, &stampgatev1.CreatePoliciesRequest{}, ofProxy, denied)
	checkIsNoRefusal(t, err)
}

func TestASubmitDoesNotEndAfterThreeTLSFailuresThatAreNotInSuccession(t *testing.T) {
	failed := stampgatetest.Fail(&stampgate.Error{Code: codes.Unavailable, Message: "tls: bad certificate"})
	received, _, err := submit(t, &stampgatev1.CreatePoliciesRequest{}, failed, broken, failed, failed, completed)
	if err != nil || len(received) != 5 {
		t.Errorf("got %v after %d requests", err, len(received))
	}
}

func TestACancelledSubmitIsAnUnknownOutcome(t *testing.T) {
	gateway := stampgatetest.New(t)
	gateway.Answer(createPolicies, broken)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	policies := stampgatev1.NewPolicyServiceClient(gateway.Conn)
	_, err := stampgate.Submit(ctx, policies.CreatePolicies, &stampgatev1.CreatePoliciesRequest{})
	var got *stampgate.OutcomeUnknown
	if !errors.As(err, &got) {
		t.Errorf("got %v", err)
	}
}

func TestAnActivityThatHasNotCompletedIsATypedError(t *testing.T) {
	_, _, err := submit(t, &stampgatev1.CreatePoliciesRequest{}, needsVote)
	var pending *stampgate.ActivityPending
	if !errors.As(err, &pending) || pending.Activity.GetId() != "activity-1" || pending.Key == "" {
		t.Errorf("got %v", err)
	}
	checkIsNoRefusal(t, err)
	_, _, err = submit(t, &stampgatev1.CreatePoliciesRequest{},
		activity(stampgatev1.ActivityStatus_ACTIVITY_STATUS_REJECTED))
	var rejected *stampgate.ActivityRejected
	if !errors.As(err, &rejected) {
		t.Errorf("got %v", err)
	}
	checkIsNoRefusal(t, err)
	_, _, err = submit(t, &stampgatev1.CreatePoliciesRequest{},
		activity(stampgatev1.ActivityStatus_ACTIVITY_STATUS_FAILED))
	var failed *stampgate.ActivityFailed
	if !errors.As(err, &failed) {
		t.Errorf("got %v", err)
	}
	checkIsNoRefusal(t, err)
}

func TestASubmitThatWaitsIsRepeatedUntilTheActivityHasEnded(t *testing.T) {
	wait := &stampgatev1.CreatePoliciesRequest{WaitUntil: stampgatev1.WaitUntil_WAIT_UNTIL_FINAL.Enum()}
	received, _, err := submit(t, wait, needsVote, broken, needsVote, completed)
	if err != nil || len(received) != 4 {
		t.Fatalf("got %v after %d requests", err, len(received))
	}
	if received[0].GetWaitUntil() != stampgatev1.WaitUntil_WAIT_UNTIL_FINAL {
		t.Errorf("the request is %v", received[0])
	}
	// The activity is known, so that an error does not make the outcome unknown.
	denied := stampgatetest.Fail(refusal(codes.PermissionDenied, "DENIED_BY_POLICY"))
	_, _, err = submit(t, wait, needsVote, denied)
	var pending *stampgate.ActivityPending
	if !errors.As(err, &pending) || pending.Last.Reason != "DENIED_BY_POLICY" {
		t.Errorf("got %v", err)
	}
	checkIsNoRefusal(t, err)
}
