package stampgate

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"stampgate.dev/client/stampgatev1"
)

// minAttempt is the shortest deadline that Submit gives an attempt if the whole deadline is longer.
const minAttempt = 5 * time.Second

// SubmitOption changes a Submit.
type SubmitOption func(*submission)

// Key sets the idempotency key: 1 to 128 visible ASCII characters. Without it, Submit makes a UUID.
func Key(key string) SubmitOption { return func(s *submission) { s.key = key } }

// WaitFinal waits until the activity has ended or the context's deadline comes.
func WaitFinal() SubmitOption { return func(s *submission) { s.wait = true } }

// Submit calls method, a submit of a generated client, and repeats the call if that can help: with the same idempotency
// key, so that upstream acts at most once, within the deadline of ctx or within DefaultDeadline. It returns the response
// if the activity has completed. Otherwise the error is one of these:
//   - *ActivityPending, *ActivityRejected or *ActivityFailed, with the activity
//   - *OutcomeUnknown, with all that a repetition needs
//   - *Error: the submit was not carried out or, if the reason is ANSWER_TOO_LARGE, its response was too large
//
// A request with a timestamp or an end user's stamp gets no key, because a repetition of such a request is safe too.
// Submit does not change request.
func Submit[Request, Response proto.Message](ctx context.Context,
	method func(context.Context, Request, ...grpc.CallOption) (Response, error), request Request,
	options ...SubmitOption) (Response, error) {
	var none Response
	ctx, cancel := withDefaultDeadline(ctx)
	defer cancel()
	s := &submission{}
	for _, option := range options {
		option(s)
	}
	sent := proto.Clone(request).(Request)
	if err := s.prepare(sent.ProtoReflect()); err != nil {
		return none, err
	}
	for {
		attempt, cancel := s.withAttemptDeadline(ctx)
		response, err := method(attempt, sent)
		cancel()
		if err == nil {
			s.activity = activityIn(response)
			if err = s.outcome(); err == nil {
				return response, nil
			}
			if _, isPending := err.(*ActivityPending); !isPending || !s.wait {
				return none, err
			}
			s.last = nil
		} else if s.note(errorOf(err, nil)); !s.mayRepeat() {
			return none, s.failure(sent)
		}
		if !s.backoff.pause(ctx, s.last) {
			return none, s.failure(sent)
		}
	}
}

// submission is the state of a Submit.
type submission struct {
	key  string
	wait bool
	backoff
	last        *Error                // of the last attempt
	activity    *stampgatev1.Activity // that the gateway last returned
	isUnknown   bool                  // whether an attempt may have been carried out
	timestampMs uint64
	fingerprint string
}

// prepare sets the key and wait_until in the request.
func (s *submission) prepare(request protoreflect.Message) error {
	fields := request.Descriptor().Fields()
	key, wait := fields.ByName("idempotency_key"), fields.ByName("wait_until")
	if key == nil || wait == nil {
		return &Error{Code: codes.InvalidArgument, Message: fmt.Sprintf("%s is not the request of a submit",
			request.Descriptor().FullName())}
	}
	isSafe := request.Has(fields.ByName("timestamp_ms")) || request.Has(fields.ByName("client_stamp"))
	switch {
	case s.key != "":
		request.Set(key, protoreflect.ValueOfString(s.key))
	case request.Has(key):
		s.key = request.Get(key).String()
	case !isSafe:
		s.key = newUUID()
		request.Set(key, protoreflect.ValueOfString(s.key))
	}
	if s.wait {
		request.Set(wait, protoreflect.ValueOfEnum(stampgatev1.WaitUntil_WAIT_UNTIL_FINAL.Number()))
	}
	s.wait = request.Get(wait).Enum() == stampgatev1.WaitUntil_WAIT_UNTIL_FINAL.Number()
	return nil
}

// withAttemptDeadline leaves half of the remaining time for repetitions. A call that waits returns before its deadline.
func (s *submission) withAttemptDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, _ := ctx.Deadline()
	half := max(time.Until(deadline)/2, minAttempt)
	if s.wait {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, half)
}

// outcome returns nil if the activity has completed.
func (s *submission) outcome() error {
	switch s.activity.GetStatus() {
	case stampgatev1.ActivityStatus_ACTIVITY_STATUS_COMPLETED:
		return nil
	case stampgatev1.ActivityStatus_ACTIVITY_STATUS_FAILED:
		return &ActivityFailed{s.activity}
	case stampgatev1.ActivityStatus_ACTIVITY_STATUS_REJECTED:
		return &ActivityRejected{s.activity}
	default:
		return &ActivityPending{s.activity, s.key, s.last}
	}
}

// note records the error of an attempt.
func (s *submission) note(err *Error) {
	s.last = err
	s.isUnknown = s.isUnknown || mayHaveActed(err)
	if timestampMs, err := strconv.ParseUint(err.Metadata["timestamp_ms"], 10, 64); err == nil {
		s.timestampMs = timestampMs
	}
	if fingerprint := err.Metadata["fingerprint"]; fingerprint != "" {
		s.fingerprint = fingerprint
	}
}

func (s *submission) mayRepeat() bool {
	return s.last.RetryDelay != nil || s.last.Code == codes.Unavailable || s.last.Code == codes.DeadlineExceeded ||
		s.last.Code == codes.Unknown && !s.last.HasReason(stampgatev1.ErrorReason_ERROR_REASON_OUTCOME_NOT_STORED)
}

// failure returns the error of a submit that is not repeated.
func (s *submission) failure(sent proto.Message) error {
	if s.activity != nil {
		return s.outcome()
	}
	// Even if the last attempt was refused, an earlier one may have been carried out. If the request itself is faulty,
	// none was.
	isFaulty := s.last.Code == codes.InvalidArgument && s.last.Domain == "stampgate"
	if s.isUnknown && !isFaulty {
		return &OutcomeUnknown{sent, s.key, s.timestampMs, s.fingerprint, s.last}
	}
	return s.last
}

// mayHaveActed returns whether upstream may have carried out the attempt that ended with this error.
func mayHaveActed(err *Error) bool {
	if err.Reason != "" {
		return err.HasReason(stampgatev1.ErrorReason_ERROR_REASON_OUTCOME_UNKNOWN,
			stampgatev1.ErrorReason_ERROR_REASON_OUTCOME_NOT_STORED,
			stampgatev1.ErrorReason_ERROR_REASON_IDEMPOTENCY_KEY_UNCERTAIN)
	}
	switch err.Code {
	case codes.Unauthenticated, codes.PermissionDenied, codes.Unimplemented, codes.InvalidArgument,
		codes.ResourceExhausted: // gRPC, or a proxy, has refused the call.
		return false
	default:
		return !err.isUnsent
	}
}

// activityIn returns the activity of a response. In the response of GeneralService, only the members that Submit and
// its errors use are decoded.
func activityIn(response proto.Message) *stampgatev1.Activity {
	if typed, ok := response.(interface {
		GetActivity() *stampgatev1.Activity
	}); ok {
		return typed.GetActivity()
	}
	var answer struct {
		Activity struct {
			ID, OrganizationID, Status, Type, Fingerprint string
			Failure                                       struct{ Message string }
		}
	}
	if general, ok := response.(*stampgatev1.SubmitOperationResponse); ok {
		// If this fails, the activity has no status, and counts as pending.
		_ = json.Unmarshal([]byte(general.GetAnswer()), &answer)
	}
	got := answer.Activity
	return &stampgatev1.Activity{
		Id: got.ID, OrganizationId: got.OrganizationID, Type: got.Type, Fingerprint: got.Fingerprint,
		Status:  stampgatev1.ActivityStatus(stampgatev1.ActivityStatus_value[got.Status]),
		Failure: &stampgatev1.Failure{Message: got.Failure.Message},
	}
}

func newUUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
