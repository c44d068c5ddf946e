// The judge's driver of the Go module: carries out the commands on standard input.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	stampgate "stampgate.dev/client"
	"stampgate.dev/client/stampgatev1"
)

type command struct {
	Do, ID, What, Method, Address, Key, Subscription string

	Request          map[string]any
	Event, Keys      any
	Wait             bool
	Events           int
	Cursor           stampgate.MemoryCursor
	DeadlineMs       time.Duration            `json:"deadline_ms"`
	MaxResponseBytes int                      `json:"max_response_bytes"`
	TokenFile        string                   `json:"token_file"`
	CursorFile       string                   `json:"cursor_file"`
	Fails            map[string]string        // by the ids of events
	ParkReason       string                   `json:"park_reason"`
	HandlerMs        time.Duration            `json:"handler_ms"`
	RetryDelayMs     time.Duration            `json:"retry_delay_ms"`
	APIKey           struct{ Private string } `json:"api_key"`
	TLS              struct{ CA, Certificate, Key string }
}

type line map[string]any

var (
	output  = json.NewEncoder(os.Stdout)
	conn    *grpc.ClientConn
	cancels = map[string]context.CancelFunc{}
	started = map[string]chan line{}
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func read[T proto.Message](value any, message T) T {
	return must(message, protojson.Unmarshal(must(json.Marshal(value)), message))
}

func text(message proto.Message) json.RawMessage {
	return must(protojson.MarshalOptions{UseProtoNames: true}.Marshal(message))
}

func empty(described protoreflect.MessageDescriptor) proto.Message {
	return must(protoregistry.GlobalTypes.FindMessageByName(described.FullName())).New().Interface()
}

// outcome returns the result, or the line of the error.
func outcome(result line, err error) line {
	switch e := err.(type) {
	case nil:
		return result
	case *stampgate.ActivityPending:
		return line{"pending": line{"id": e.Activity.GetId(), "status": e.Activity.GetStatus().String()}}
	case *stampgate.ActivityRejected:
		return line{"rejected": line{"id": e.Activity.GetId(), "status": e.Activity.GetStatus().String()}}
	case *stampgate.ActivityFailed:
		return line{"failed": line{"id": e.Activity.GetId(), "status": e.Activity.GetStatus().String()}}
	case *stampgate.OutcomeUnknown:
		return line{"outcome_unknown": line{"key": e.Key, "timestamp_ms": fmt.Sprint(e.TimestampMs),
			"fingerprint": e.Fingerprint, "request": text(e.Request)}}
	case *stampgate.Error:
		members := line{"code": code.Code(e.Code).String(), "reason": e.Reason, "domain": e.Domain, "message": e.Message,
			"metadata": e.Metadata, "violations": e.Violations, "request_id": e.RequestID}
		if e.RetryDelay != nil {
			members["retry_delay_ms"] = e.RetryDelay.Milliseconds()
		}
		return line{"error": members}
	}
	panic(err)
}

// call carries out the commands call, prepare and submit.
func (c command) call(ctx context.Context) line {
	name := "stampgate.v1." + c.Method
	described := must(protoregistry.GlobalFiles.FindDescriptorByName(
		protoreflect.FullName(strings.Replace(name, "/", ".", 1)))).(protoreflect.MethodDescriptor)
	if c.Key != "" {
		c.Request["idempotency_key"] = c.Key
	}
	if c.Wait {
		c.Request["wait_until"] = "WAIT_UNTIL_FINAL"
	}
	request, response := read(c.Request, empty(described.Input())), empty(described.Output())
	var err error
	switch c.Do {
	case "submit":
		method := func(ctx context.Context, request stampgate.SubmitRequest, options ...grpc.CallOption) (
			stampgate.SubmitResponse, error) {
			return response.(stampgate.SubmitResponse), conn.Invoke(ctx, "/"+name, request, response, options...)
		}
		submitted, err := stampgate.Submit(ctx, method, request.(stampgate.SubmitRequest))
		return outcome(line{"result": text(submitted.GetActivity().GetResult())}, err)
	case "prepare":
		request, err = stampgate.Prepare(ctx, conn, name, request, must(stampgate.APIKey(c.APIKey.Private)))
	}
	if err == nil {
		err = conn.Invoke(ctx, "/"+name, request, response)
	}
	return outcome(line{"response": text(response)}, err)
}

func (c command) subscribe(ctx context.Context, cancel context.CancelFunc) line {
	request := read(c.Request, &stampgatev1.SubscribeRequest{})
	var store stampgate.CursorStore = &c.Cursor
	if c.CursorFile != "" {
		store = stampgate.FileCursor(c.CursorFile)
	}
	for event, err := range stampgate.Subscribe(ctx, stampgatev1.NewEventServiceClient(conn), request, store) {
		switch e := err.(type) {
		case nil:
			output.Encode(line{"id": c.ID, "event": line{"event_id": event.GetEventId(), "cursor": event.GetCursor()}})
			if c.Events--; c.Events == 0 {
				cancel() // ends the loop after the cursor of this event has been saved
			}
		case *stampgate.Gap:
			output.Encode(line{"id": c.ID, "gap": line{"reason": e.Last.Reason, "cursor": e.Cursor}})
		case *stampgate.Error:
			return outcome(nil, err)
		default:
			if !errors.Is(err, context.Canceled) {
				return line{"cursor_error": err.Error()}
			}
		}
	}
	return line{"done": true}
}

func (c command) consume(ctx context.Context, cancel context.CancelFunc) line {
	handle := func(_ context.Context, delivery *stampgatev1.Delivery) error {
		id, count := delivery.GetEvent().GetEventId(), delivery.GetDeliveryCount()
		output.Encode(line{"id": c.ID, "delivery": line{"event_id": id, "count": count}})
		if c.Events--; c.Events == 0 {
			cancel()
		}
		time.Sleep(c.HandlerMs * time.Millisecond)
		switch failure := c.Fails[id]; {
		case failure == "park":
			return stampgate.Park(c.ParkReason)
		case failure == "retry" && count == 1:
			return errors.New("the handler of the case fails")
		}
		return nil
	}
	options := &stampgate.ConsumeOptions{RetryDelay: c.RetryDelayMs * time.Millisecond}
	client := stampgatev1.NewSubscriptionServiceClient(conn)
	err := stampgate.Consume(ctx, client, c.Subscription, handle, options)
	var gap *stampgate.Gap
	if errors.As(err, &gap) {
		output.Encode(line{"id": c.ID, "gap": line{"reason": gap.Last.Reason}})
	} else if !errors.Is(err, context.Canceled) {
		return outcome(nil, err)
	}
	return line{"done": true}
}

func (c command) carryOut(ctx context.Context, cancel context.CancelFunc) line {
	switch c.Do {
	case "connect":
		options := []grpc.DialOption{stampgate.DefaultDeadline(c.DeadlineMs * time.Millisecond)}
		if c.TLS.CA != "" {
			options = append(options, stampgate.TLSFiles(c.TLS.CA, c.TLS.Certificate, c.TLS.Key))
		}
		if c.TokenFile != "" {
			options = append(options, stampgate.TokenFile(c.TokenFile))
		}
		if c.MaxResponseBytes > 0 {
			options = append(options, grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(c.MaxResponseBytes)))
		}
		conn = must(stampgate.Dial(c.Address, options...))
	case "start":
		c.Do = c.What
		ended := make(chan line, 1)
		cancels[c.ID], started[c.ID] = cancel, ended
		go func() { ended <- c.carryOut(ctx, cancel) }()
	case "wait":
		return <-started[c.ID]
	case "cancel":
		cancels[c.ID]()
	case "subscribe":
		return c.subscribe(ctx, cancel)
	case "consume":
		return c.consume(ctx, cancel)
	case "verify":
		keys := read(c.Keys, &stampgatev1.GetWebhookKeySetResponse{}).GetKeys()
		return line{"valid": stampgate.Verify(read(c.Event, &stampgatev1.Event{}), keys)}
	case "close":
		conn.Close()
	default:
		return c.call(ctx)
	}
	return line{"ok": true}
}

func main() {
	commands := json.NewDecoder(os.Stdin)
	for {
		var c command
		if commands.Decode(&c) != nil {
			return
		}
		ctx, cancel := context.WithCancel(context.Background())
		if c.DeadlineMs > 0 {
			ctx, cancel = context.WithTimeout(ctx, c.DeadlineMs*time.Millisecond)
		}
		answer := c.carryOut(ctx, cancel)
		if c.ID != "" {
			answer["id"] = c.ID
		}
		output.Encode(answer)
	}
}
