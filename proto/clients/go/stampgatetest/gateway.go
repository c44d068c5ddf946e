// Package stampgatetest has a gateway for unit tests: it runs in the test's process, has all methods of the API, records
// the requests, and returns the answers that the test has set.
package stampgatetest

import (
	"cmp"
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/durationpb"

	stampgate "stampgate.dev/client"
	"stampgate.dev/client/stampgatev1"
)

// RequestID is the request id of every call.
const RequestID = "0123456789abcdef0123456789abcdef"

// Answer is the answer to one call: messages, and then the error, which is usually a *stampgate.Error.
//
// A stream of Subscribe or Consume without an error stays open after its messages until the caller ends it.
type Answer struct {
	Messages []proto.Message
	Err      error
}

// OK answers with these messages: one, unless the method returns a stream.
func OK(messages ...proto.Message) Answer { return Answer{Messages: messages} }

// Fail answers with this error. The domain of its reason is "stampgate", unless the error has another one.
func Fail(err *stampgate.Error) Answer { return Answer{Err: err} }

// Gateway is a fake gateway.
type Gateway struct {
	// Conn is a connection to the gateway, made by stampgate.Dial.
	Conn *grpc.ClientConn

	t        testing.TB
	mutex    sync.Mutex
	answers  map[string][]Answer
	requests map[string][]proto.Message
}

// New starts a gateway that ends with the test.
func New(t testing.TB) *Gateway {
	t.Helper()
	gateway := &Gateway{t: t, answers: map[string][]Answer{}, requests: map[string][]proto.Message{}}
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer(grpc.UnknownServiceHandler(gateway.serve))
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	dial := func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }
	conn, err := stampgate.Dial("passthrough:///fake", grpc.WithContextDialer(dial))
	if err != nil {
		t.Fatal(err)
	}
	gateway.Conn = conn
	t.Cleanup(func() {
		conn.Close()
		server.Stop()
		<-served
	})
	return gateway
}

// Answer adds answers to calls of method, such as stampgatev1.PolicyService_GetPolicy_FullMethodName. Each call uses one
// answer; the last one also answers all later calls. A call of a method without answers fails with UNIMPLEMENTED.
func (g *Gateway) Answer(method string, answers ...Answer) {
	g.t.Helper()
	described := descriptorOf(method)
	if described == nil {
		g.t.Fatalf("the API has no method %s", method)
	}
	for _, answer := range answers {
		for _, message := range answer.Messages {
			if got, want := message.ProtoReflect().Descriptor().FullName(), described.Output().FullName(); got != want {
				g.t.Fatalf("%s returns %s, not %s", method, want, got)
			}
		}
	}
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.answers[method] = append(g.answers[method], answers...)
}

// Requests returns the requests that method has received, in their order.
func (g *Gateway) Requests(method string) []proto.Message {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return append([]proto.Message(nil), g.requests[method]...)
}

// descriptorOf returns nil if the API has no such method. method has the form "/stampgate.v1.Service/Method".
func descriptorOf(method string) protoreflect.MethodDescriptor {
	name := strings.ReplaceAll(strings.TrimPrefix(method, "/"), "/", ".")
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		return nil
	}
	described, _ := found.(protoreflect.MethodDescriptor)
	return described
}

func (g *Gateway) serve(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	stream.SetTrailer(metadata.Pairs("x-request-id", RequestID))
	described := descriptorOf(method)
	if described == nil {
		return status.Errorf(codes.Unimplemented, "the API has no method %s", method)
	}
	kind, err := protoregistry.GlobalTypes.FindMessageByName(described.Input().FullName())
	if err != nil {
		return err
	}
	request := kind.New().Interface()
	if err := stream.RecvMsg(request); err != nil {
		return err
	}
	answer, isSet := g.take(method, request)
	if !isSet {
		return status.Errorf(codes.Unimplemented, "the test has set no answer for %s", method)
	}
	for _, message := range answer.Messages {
		if err := stream.SendMsg(message); err != nil {
			return err
		}
	}
	isSubscription := method == stampgatev1.EventService_Subscribe_FullMethodName ||
		method == stampgatev1.SubscriptionService_Consume_FullMethodName
	if answer.Err == nil && isSubscription {
		<-stream.Context().Done()
		return stream.Context().Err()
	}
	var canned *stampgate.Error
	if errors.As(answer.Err, &canned) {
		return encode(canned)
	}
	return answer.Err
}

// encode returns the error in the form in which the gateway sends it.
func encode(e *stampgate.Error) error {
	var details []protoadapt.MessageV1
	if e.Reason != "" {
		domain := cmp.Or(e.Domain, "stampgate")
		details = append(details, &errdetails.ErrorInfo{Reason: e.Reason, Domain: domain, Metadata: e.Metadata})
	}
	if len(e.Violations) > 0 {
		details = append(details, &errdetails.BadRequest{FieldViolations: e.Violations})
	}
	if e.RetryDelay != nil {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(*e.RetryDelay)})
	}
	encoded, err := status.New(e.Code, e.Message).WithDetails(details...)
	if err != nil {
		return err
	}
	return encoded.Err()
}

func (g *Gateway) take(method string, request proto.Message) (Answer, bool) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.requests[method] = append(g.requests[method], request)
	answers := g.answers[method]
	if len(answers) == 0 {
		return Answer{}, false
	}
	if len(answers) > 1 {
		g.answers[method] = answers[1:]
	}
	return answers[0], true
}
