package stampgate

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"stampgate.dev/client/stampgatev1"
)

// Error is the error of a call. status.Code and status.Convert also accept it.
type Error struct {
	Code    codes.Code
	Message string
	// Reason and Domain are empty if the gateway did not make the error. The domain "stampgate" has the reasons of
	// stampgatev1.ErrorReason, and the domain "upstream" has upstream's codes.
	Reason, Domain string
	Metadata       map[string]string
	// Violations lists the faults of the request.
	Violations []*errdetails.BadRequest_FieldViolation
	// RetryDelay is the time after which a repetition can help. Nil if the error states no delay.
	RetryDelay *time.Duration
	// RequestID is the id by which the gateway's log contains the call. Empty if no gateway has responded.
	RequestID string

	received *status.Status
	isUnsent bool // whether the call found no connection, so that no byte of it was sent
}

func (e *Error) Error() string {
	text := strings.TrimSpace(e.Code.String()+" "+e.Reason) + ": " + e.Message
	for _, violation := range e.Violations {
		text += "; " + violation.Field + ": " + violation.Description
	}
	if e.RequestID != "" {
		text += " (request " + e.RequestID + ")"
	}
	return text
}

// HasReason returns whether the gateway made the error itself, for one of these reasons.
func (e *Error) HasReason(reasons ...stampgatev1.ErrorReason) bool {
	reason := stampgatev1.ErrorReason(stampgatev1.ErrorReason_value["ERROR_REASON_"+e.Reason])
	return e.Domain == "stampgate" && slices.Contains(reasons, reason)
}

// GRPCStatus returns the error as gRPC received it.
func (e *Error) GRPCStatus() *status.Status {
	if e.received == nil {
		return status.New(e.Code, e.Message)
	}
	return e.received
}

// isRepeatable returns whether a repetition of the call can help and is safe. It is not safe if the gateway's store has
// lost keys: upstream could act a second time.
func (e *Error) isRepeatable() bool {
	isFinal := e.HasReason(stampgatev1.ErrorReason_ERROR_REASON_OUTCOME_NOT_STORED,
		stampgatev1.ErrorReason_ERROR_REASON_IDEMPOTENCY_KEY_UNCERTAIN,
		stampgatev1.ErrorReason_ERROR_REASON_DEADLINE_TOO_SHORT)
	transient := []codes.Code{codes.Unavailable, codes.Unknown, codes.DeadlineExceeded}
	return !isFinal && (e.RetryDelay != nil || e.isBroken() || slices.Contains(transient, e.Code))
}

// isBroken returns whether the connection or a proxy ended the call.
func (e *Error) isBroken() bool {
	broken := []codes.Code{codes.Unavailable, codes.Unknown, codes.DeadlineExceeded, codes.Internal, codes.Canceled}
	return e.Reason == "" && slices.Contains(broken, e.Code)
}

// isTLSFailure returns whether a TLS handshake failed, for which gRPC has no code of its own. With TLS 1.3, the client
// learns after its handshake that the gateway refuses its certificate. A handshake that ends because the connection
// breaks is none, because the gateway may be starting again.
func (e *Error) isTLSFailure() bool {
	return e.isBroken() && (strings.Contains(e.Message, "tls: ") || strings.Contains(e.Message, "x509: "))
}

// mayHaveActed returns whether upstream may have carried out the attempt that ended with this error.
func (e *Error) mayHaveActed() bool {
	// A library refused a message that is too large: the request, or the response of a submit that has acted.
	isTooLarge := e.Reason == "" && e.Code == codes.ResourceExhausted
	return isTooLarge || e.isBroken() && !e.isUnsent || e.HasReason(
		stampgatev1.ErrorReason_ERROR_REASON_OUTCOME_UNKNOWN,
		stampgatev1.ErrorReason_ERROR_REASON_OUTCOME_NOT_STORED,
		stampgatev1.ErrorReason_ERROR_REASON_IDEMPOTENCY_KEY_UNCERTAIN,
		stampgatev1.ErrorReason_ERROR_REASON_ANSWER_TOO_LARGE)
}

// newError converts an error of gRPC.
func newError(err error, trailer metadata.MD) *Error {
	received := status.Convert(err)
	result := &Error{Code: received.Code(), Message: received.Message(), received: received}
	result.RequestID = strings.Join(trailer.Get("x-request-id"), "")
	for _, detail := range received.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			if detail.Domain == "stampgate" || detail.Domain == "upstream" { // A proxy can send an ErrorInfo too.
				result.Reason, result.Domain, result.Metadata = detail.Reason, detail.Domain, detail.Metadata
			}
		case *errdetails.BadRequest:
			result.Violations = detail.FieldViolations
		case *errdetails.RetryInfo:
			delay := detail.RetryDelay.AsDuration()
			result.RetryDelay = &delay
		}
	}
	return result
}

// callUnary is the interceptor that makes unary calls fail with *Error.
func callUnary(ctx context.Context, method string, request, response any, conn *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	var trailer metadata.MD
	var gateway peer.Peer // gRPC sets the address when the call has a connection.
	options = append([]grpc.CallOption{grpc.Trailer(&trailer), grpc.Peer(&gateway)}, options...)
	err := invoke(ctx, method, request, response, conn, options...)
	if err == nil {
		return nil
	}
	typed := newError(err, trailer)
	typed.isUnsent = gateway.Addr == nil
	return typed
}

// callStream is the interceptor that makes streams fail with *Error.
func callStream(ctx context.Context, description *grpc.StreamDesc, conn *grpc.ClientConn, method string,
	open grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
	stream, err := open(ctx, description, conn, method, options...)
	if err != nil {
		return nil, newError(err, nil)
	}
	return typedStream{stream}, nil
}

type typedStream struct{ grpc.ClientStream }

func (s typedStream) RecvMsg(message any) error {
	err := s.ClientStream.RecvMsg(message)
	if err == nil || err == io.EOF {
		return err
	}
	return newError(err, s.Trailer())
}
