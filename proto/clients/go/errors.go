package stampgate

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"

	"stampgate.dev/client/stampgatev1"
)

// Error is the error of a call. status.Code and status.Convert also accept it.
type Error struct {
	Code    codes.Code
	Message string
	// Reason and Domain are empty if the gateway did not make the error. The domain "stampgate" has the reasons of
	// stampgatev1.ErrorReason, and the domain "upstream" has upstream's codes.
	Reason   string
	Domain   string
	Metadata map[string]string
	// Violations lists the faults of the request.
	Violations []Violation
	// RetryDelay is the time after which a repetition can help. Nil if the error states no delay.
	RetryDelay *time.Duration
	// RequestID is the id by which the gateway's log contains the call. Empty if no gateway has responded.
	RequestID string

	received *status.Status
	isUnsent bool // whether the call found no connection, so that no byte of it was sent
}

// Violation is one fault of a request.
type Violation struct{ Field, Description string }

func (e *Error) Error() string {
	text := &strings.Builder{}
	text.WriteString(code.Code(e.Code).String())
	if e.Reason != "" {
		fmt.Fprintf(text, " %s", e.Reason)
	}
	fmt.Fprintf(text, ": %s", e.Message)
	for _, violation := range e.Violations {
		fmt.Fprintf(text, "; %s: %s", violation.Field, violation.Description)
	}
	if e.RequestID != "" {
		fmt.Fprintf(text, " (request %s)", e.RequestID)
	}
	return text.String()
}

// HasReason returns whether the gateway made the error itself, for this reason.
func (e *Error) HasReason(reasons ...stampgatev1.ErrorReason) bool {
	if e.Domain != "stampgate" {
		return false
	}
	for _, reason := range reasons {
		if "ERROR_REASON_"+e.Reason == reason.String() {
			return true
		}
	}
	return false
}

// GRPCStatus returns the error as gRPC received it.
func (e *Error) GRPCStatus() *status.Status {
	if e.received == nil {
		return status.New(e.Code, e.Message)
	}
	return e.received
}

// errorOf converts an error of gRPC, unless Dial's connection has done it already.
func errorOf(err error, trailer metadata.MD) *Error {
	if typed, isTyped := err.(*Error); isTyped {
		return typed
	}
	from := status.Convert(err)
	result := &Error{Code: from.Code(), Message: from.Message(), received: from}
	if ids := trailer.Get("x-request-id"); len(ids) > 0 {
		result.RequestID = ids[0]
	}
	for _, detail := range from.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			result.Reason, result.Domain, result.Metadata = detail.Reason, detail.Domain, detail.Metadata
		case *errdetails.BadRequest:
			for _, violation := range detail.FieldViolations {
				result.Violations = append(result.Violations, Violation{violation.Field, violation.Description})
			}
		case *errdetails.RetryInfo:
			delay := detail.RetryDelay.AsDuration()
			result.RetryDelay = &delay
		}
	}
	return result
}

// OutcomeUnknown is the error of a Submit that ended before it learned whether upstream has acted. Repeat the submit
// with Request, which contains the key: upstream then acts at most once.
type OutcomeUnknown struct {
	// Request is the request as it was sent, with its idempotency key, timestamp or stamp.
	Request protoadapt.MessageV2
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
// CONSENSUS_NEEDED, AUTHENTICATORS_NEEDED, or a status that this API does not list. A Submit with the same key waits again.
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

func (e *ActivityRejected) Error() string {
	return fmt.Sprintf("activity %s was rejected", e.Activity.GetId())
}

// ActivityFailed is the error of a Submit whose activity failed. Activity.Failure contains the reason.
type ActivityFailed struct{ Activity *stampgatev1.Activity }

func (e *ActivityFailed) Error() string {
	return fmt.Sprintf("activity %s failed: %s", e.Activity.GetId(), e.Activity.GetFailure().GetMessage())
}
