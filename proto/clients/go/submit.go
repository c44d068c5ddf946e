package stampgate

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"stampgate.dev/client/stampgatev1"
)

// minAttempt is the shortest deadline that Submit gives an attempt if the whole deadline is longer.
const minAttempt = 5 * time.Second

// SubmitRequest is the request of a submit.
type SubmitRequest interface {
	proto.Message
	GetTimestampMs() uint64
	GetIdempotencyKey() string
	GetWaitUntil() stampgatev1.WaitUntil
	GetClientStamp() *stampgatev1.ClientStamp
}

// SubmitResponse is the response of every submit except GeneralService's, which contains the activity as JSON text.
type SubmitResponse interface {
	proto.Message
	GetActivity() *stampgatev1.Activity
}

// Submit calls method, a submit of a generated client on a connection of Dial, and repeats the call if that can help:
// with the same idempotency key, so that upstream acts at most once, until the deadline of ctx or, without one, within
// the DefaultDeadline of the connection. If the request has no key, timestamp or stamp, Submit sets a new key. If
// wait_until is set, Submit waits until the activity has ended. Submit does not change request.
//
// It returns the response if the activity has completed. Otherwise the error is one of these:
//   - *ActivityPending, *ActivityRejected or *ActivityFailed, with the activity
//   - *OutcomeUnknown, with all that a repetition needs
//   - *Error: this submit was refused, or never sent. If it was the first one with its key, upstream has not acted
func Submit[Request SubmitRequest, Response SubmitResponse](ctx context.Context,
	method func(context.Context, Request, ...grpc.CallOption) (Response, error), request Request,
	options ...grpc.CallOption) (Response, error) {
	sent := proto.Clone(request).(Request)
	if sent.GetIdempotencyKey() == "" && sent.GetTimestampMs() == 0 && sent.GetClientStamp() == nil {
		message := sent.ProtoReflect()
		message.Set(message.Descriptor().Fields().ByName("idempotency_key"), protoreflect.ValueOfString(rand.Text()))
	}
	s := &submission{request: sent}
	response, err := method(ctx, sent, append([]grpc.CallOption{s}, options...)...)
	if err == nil {
		s.activity = response.GetActivity()
	}
	return response, s.outcome(err)
}

// submission is the state of a Submit. As an option of its call, it makes repeatSubmit repeat the call.
type submission struct {
	grpc.EmptyCallOption
	request  SubmitRequest
	activity *stampgatev1.Activity // that the gateway last returned
	unknown  *Error                // of an attempt that upstream may have carried out
}

// repeatSubmit is the interceptor that repeats the calls of Submit.
func repeatSubmit(ctx context.Context, method string, request, response any, conn *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	attempt := func(ctx context.Context) error { return invoke(ctx, method, request, response, conn, options...) }
	for _, option := range options {
		if s, isSubmit := option.(*submission); isSubmit {
			return s.repeat(ctx, attempt, response.(SubmitResponse))
		}
	}
	return attempt(ctx)
}

// repeat makes attempts until a repetition cannot help, and returns the error of the last one.
func (s *submission) repeat(ctx context.Context, attempt func(context.Context) error, response SubmitResponse) error {
	deadline, _ := ctx.Deadline()
	for next := (repetitions{}); ; {
		// Half of the remaining time is left for repetitions, because a connection can hang.
		limited, cancel := context.WithTimeout(ctx, max(time.Until(deadline)/2, minAttempt))
		err := attempt(limited)
		cancel()
		last, _ := err.(*Error)
		if err == nil {
			s.activity = response.GetActivity()
			_, isPending := s.outcome(nil).(*ActivityPending)
			if !isPending || s.request.GetWaitUntil() != stampgatev1.WaitUntil_WAIT_UNTIL_FINAL {
				return nil
			}
		} else if last.mayHaveActed() && (s.unknown == nil || last.Metadata["fingerprint"] != "") {
			s.unknown = last
		}
		if !next.wait(ctx, last) {
			return err
		}
	}
}

// outcome returns the error of a Submit whose last attempt ended with err: nil if the activity has completed.
func (s *submission) outcome(err error) error {
	key := s.request.GetIdempotencyKey()
	var last *Error
	errors.As(err, &last) // An interceptor of the caller may have wrapped it.
	switch status := s.activity.GetStatus(); {
	case status == stampgatev1.ActivityStatus_ACTIVITY_STATUS_COMPLETED:
		return nil
	case status == stampgatev1.ActivityStatus_ACTIVITY_STATUS_FAILED:
		return &ActivityFailed{s.activity}
	case status == stampgatev1.ActivityStatus_ACTIVITY_STATUS_REJECTED:
		return &ActivityRejected{s.activity}
	case err == nil || s.activity != nil:
		return &ActivityPending{s.activity, key, last}
	case s.unknown != nil:
		// Even if the last attempt was refused, an earlier one may have been carried out.
		timestampMs, _ := strconv.ParseUint(s.unknown.Metadata["timestamp_ms"], 10, 64)
		return &OutcomeUnknown{s.request, key, timestampMs, s.unknown.Metadata["fingerprint"], last}
	default:
		return err
	}
}

// OutcomeUnknown is the error of a Submit that ended before it learned whether upstream has acted. Repeat the submit
// with Request, which contains the key, timestamp or stamp: upstream then acts at most once. With a key, do so while the
// gateway keeps it, by default for 24 hours, and otherwise within an hour.
type OutcomeUnknown struct {
	// Request is the request as it was sent, with its idempotency key, timestamp or stamp.
	Request SubmitRequest
	// Key is the idempotency key. Empty if the request has a timestamp or a stamp instead.
	Key string
	// TimestampMs and Fingerprint identify the activity that upstream may have made. Zero and empty if unknown.
	TimestampMs uint64
	Fingerprint string
	// Last is the error of the last attempt. errors.As does not find it, because it does not state the outcome.
	Last *Error
}

func (e *OutcomeUnknown) Error() string {
	return fmt.Sprintf("the outcome of the submit with the key %q is unknown: %v", e.Key, e.Last)
}

// ActivityPending is the error of a Submit whose activity has not ended: its status is CREATED, PENDING,
// CONSENSUS_NEEDED, AUTHENTICATORS_NEEDED, or a status that this API does not list. A Submit with the same key waits
// again.
type ActivityPending struct {
	Activity *stampgatev1.Activity
	Key      string
	// Last is the error that ended the wait. Nil if the wait ended with the activity.
	Last *Error
}

func (e *ActivityPending) Error() string {
	return fmt.Sprintf("activity %s is not final: %s", e.Activity.GetId(), e.Activity.GetStatus())
}

// ActivityRejected is the error of a Submit whose activity users rejected by their votes.
type ActivityRejected struct{ Activity *stampgatev1.Activity }

func (e *ActivityRejected) Error() string { return "activity " + e.Activity.GetId() + " was rejected" }

// ActivityFailed is the error of a Submit whose activity failed. Activity.Failure contains the reason.
type ActivityFailed struct{ Activity *stampgatev1.Activity }

func (e *ActivityFailed) Error() string {
	return fmt.Sprintf("activity %s failed: %s", e.Activity.GetId(), e.Activity.GetFailure().GetMessage())
}
