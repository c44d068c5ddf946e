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
	Do, ID, What, Method, Address, Key, Cursor string
	Request, Event, Keys                       json.RawMessage
	Wait                                       bool
	Events                                     int
	DeadlineMs                                 time.Duration `json:"deadline_ms"`
	TokenFile                                  string        `json:"token_file"`
	CursorFile                                 string        `json:"cursor_file"`
	TLS                                        *struct{ CA, Certificate, Key string }
	APIKey                                     struct{ Private string } `json:"api_key"`
}

type line map[string]any

var (
	conn              *grpc.ClientConn
	defaultDeadlineMs time.Duration
	cancels           = map[string]context.CancelFunc{}
	outcomes          = map[string]chan line{}
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func read[T proto.Message](text json.RawMessage, message T) T {
	return must(message, protojson.Unmarshal(text, message))
}

func text(message proto.Message) json.RawMessage {
	return must(protojson.MarshalOptions{UseProtoNames: true}.Marshal(message))
}

func print(answer line) { os.Stdout.Write(append(must(json.Marshal(answer)), '\n')) }

func empty(described protoreflect.MessageDescriptor) proto.Message {
	return must(protoregistry.GlobalTypes.FindMessageByName(described.FullName())).New().Interface()
}

func errorLine(err error) line {
	ended := func(name string, activity *stampgatev1.Activity) line {
		return line{name: line{"id": activity.GetId(), "status": activity.GetStatus().String()}}
	}
	switch e := err.(type) {
	case *stampgate.ActivityPending:
		return ended("pending", e.Activity)
	case *stampgate.ActivityRejected:
		return ended("rejected", e.Activity)
	case *stampgate.ActivityFailed:
		return ended("failed", e.Activity)
	case *stampgate.OutcomeUnknown:
		return line{"outcome_unknown": line{"key": e.Key, "fingerprint": e.Fingerprint,
			"timestamp_ms": fmt.Sprint(e.TimestampMs), "request": text(e.Request)}}
	case *stampgate.Gap:
		return line{"gap": line{"reason": e.Last.Reason, "cursor": e.Cursor}}
	case *stampgate.Error:
		violations := []line{}
		for _, violation := range e.Violations {
			violations = append(violations, line{"field": violation.Field, "description": violation.Description})
		}
		result := line{"code": code.Code(e.Code).String(), "reason": e.Reason, "domain": e.Domain, "message": e.Message,
			"metadata": e.Metadata, "violations": violations, "request_id": e.RequestID}
		if e.RetryDelay != nil {
			result["retry_delay_ms"] = e.RetryDelay.Milliseconds()
		}
		return line{"error": result}
	}
	return line{"error": line{"message": err.Error()}}
}

// call carries out the commands call, submit and prepare.
func (c command) call(ctx context.Context, kind string) line {
	if c.DeadlineMs == 0 {
		c.DeadlineMs = defaultDeadlineMs
	}
	ctx, cancel := context.WithTimeout(ctx, c.DeadlineMs*time.Millisecond)
	defer cancel()
	name := "stampgate.v1." + c.Method
	found := must(protoregistry.GlobalFiles.FindDescriptorByName(
		protoreflect.FullName(strings.Replace(name, "/", ".", 1)))).(protoreflect.MethodDescriptor)
	stub := func(ctx context.Context, request proto.Message, _ ...grpc.CallOption) (proto.Message, error) {
		response := empty(found.Output())
		return response, conn.Invoke(ctx, "/"+name, request, response)
	}
	request := read(c.Request, empty(found.Input()))
	var response proto.Message
	var err error
	switch kind {
	case "call":
		response, err = stub(ctx, request)
	case "prepare":
		if request, err = stampgate.Prepare(ctx, conn, name, request, must(stampgate.APIKey(c.APIKey.Private))); err == nil {
			response, err = stub(ctx, request)
		}
	case "submit":
		options := []stampgate.SubmitOption{stampgate.Key(c.Key)}
		if c.Wait {
			options = append(options, stampgate.WaitFinal())
		}
		if response, err = stampgate.Submit(ctx, stub, request, options...); err == nil {
			activity := response.(interface{ GetActivity() *stampgatev1.Activity }).GetActivity()
			return line{"result": text(activity.GetResult())}
		}
	}
	if err != nil {
		return errorLine(err)
	}
	return line{"response": text(response)}
}

func (c command) subscribe() (last line) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	request := read(c.Request, &stampgatev1.SubscribeRequest{})
	if c.Cursor != "" {
		request.Start = &stampgatev1.SubscribeRequest_Cursor{Cursor: c.Cursor}
	}
	var store stampgate.CursorStore
	if c.CursorFile != "" {
		store = stampgate.FileCursor(c.CursorFile)
	}
	for event, err := range stampgate.Subscribe(ctx, stampgatev1.NewEventServiceClient(conn).Subscribe, request, store) {
		switch {
		case errors.Is(err, context.Canceled):
			last = line{"done": true}
		case err != nil:
			last = errorLine(err)
		default:
			print(line{"id": c.ID, "event": line{"event_id": event.GetEventId(), "cursor": event.GetCursor()}})
			if c.Events--; c.Events == 0 {
				cancel() // ends the loop after the cursor of this event has been saved
			}
		}
	}
	if _, isGap := last["gap"]; isGap {
		last["id"] = c.ID
		print(last)
		last = line{"done": true}
	}
	return last
}

func (c command) do() line {
	switch c.Do {
	case "connect":
		options := []grpc.DialOption{}
		if c.TLS != nil {
			options = append(options, stampgate.TLSFiles(c.TLS.CA, c.TLS.Certificate, c.TLS.Key))
		}
		if c.TokenFile != "" {
			options = append(options, stampgate.TokenFile(c.TokenFile))
		}
		conn, defaultDeadlineMs = must(stampgate.Dial(c.Address, options...)), c.DeadlineMs
	case "start":
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan line, 1)
		cancels[c.ID], outcomes[c.ID] = cancel, ended
		go func() { ended <- c.call(ctx, c.What) }()
	case "wait":
		return <-outcomes[c.ID]
	case "cancel":
		cancels[c.ID]()
	case "subscribe":
		return c.subscribe()
	case "verify":
		keys := stampgate.VerificationKeys(read(c.Keys, &stampgatev1.GetWebhookKeySetResponse{}))
		return line{"valid": stampgate.Verify(read(c.Event, &stampgatev1.Event{}), keys) == nil}
	case "close":
		conn.Close()
	default:
		return c.call(context.Background(), c.Do)
	}
	return line{"ok": true}
}

func main() {
	for commands := json.NewDecoder(os.Stdin); ; {
		var c command
		if err := commands.Decode(&c); err != nil {
			return
		}
		answer := c.do()
		if c.ID != "" {
			answer["id"] = c.ID
		}
		print(answer)
		if c.Do == "close" {
			return
		}
	}
}
