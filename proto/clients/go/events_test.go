package stampgate_test

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	stampgate "stampgate.dev/client"
	"stampgate.dev/client/stampgatetest"
	"stampgate.dev/client/stampgatev1"
)

const subscribe = stampgatev1.EventService_Subscribe_FullMethodName

// message has events with these ids, whose cursors are "after ID".
func message(cursor string, ids ...string) proto.Message {
	result := &stampgatev1.SubscribeResponse{Cursor: cursor}
	for _, id := range ids {
		result.Events = append(result.Events, &stampgatev1.Event{EventId: id, Cursor: "after " + id})
	}
	return result
}

// starts returns the cursors at which the calls started. The empty text stands for the oldest event.
func starts(gateway *stampgatetest.Gateway) []string {
	var result []string
	for _, request := range gateway.Requests(subscribe) {
		result = append(result, request.(*stampgatev1.SubscribeRequest).GetCursor())
	}
	return result
}

// read subscribes, and ends the subscription after the event "last". It returns the ids of the events, and the error.
func read(t *testing.T, gateway *stampgatetest.Gateway, store stampgate.CursorStore) (ids []string, last error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	events := stampgatev1.NewEventServiceClient(gateway.Conn)
	for event, err := range stampgate.Subscribe(ctx, events, nil, store) {
		if err != nil {
			last = err
			continue
		}
		ids = append(ids, event.GetEventId())
		if event.GetEventId() == "last" {
			cancel()
		}
	}
	return ids, last
}

func checkEqual(t *testing.T, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestASubscriptionResumesAfterTheLastEvent(t *testing.T) {
	gateway := stampgatetest.New(t)
	drain := delayed(refusal(codes.Unavailable, "SHUTTING_DOWN"), time.Millisecond)
	drain.Metadata = map[string]string{"cursor": "after drain"}
	gateway.Answer(subscribe,
		stampgatetest.Answer{Messages: []proto.Message{message("start"), message("after b", "a", "b")}, Err: broken.Err},
		stampgatetest.Answer{Messages: []proto.Message{message("start"), message("heartbeat")}, Err: broken.Err},
		stampgatetest.Fail(drain),
		stampgatetest.OK(message("start"), message("after last", "last")))
	store := stampgate.FileCursor(filepath.Join(t.TempDir(), "cursor"))
	ids, err := read(t, gateway, store)
	checkEqual(t, ids, []string{"a", "b", "last"})
	checkEqual(t, starts(gateway), []string{"", "after b", "heartbeat", "after drain"})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	cursor, err := store.Load()
	checkEqual(t, cursor, "after last")
	checkEqual(t, err, nil)
}

// ending ends its first stream without an error, as a proxy can do, and refuses the second one.
type ending struct {
	stampgatev1.UnimplementedEventServiceServer
	cursors []string
}

func (e *ending) Subscribe(request *stampgatev1.SubscribeRequest,
	stream grpc.ServerStreamingServer[stampgatev1.SubscribeResponse]) error {
	e.cursors = append(e.cursors, request.GetCursor())
	if len(e.cursors) > 1 {
		return status.Error(codes.PermissionDenied, "denied")
	}
	return stream.Send(message("after a", "a").(*stampgatev1.SubscribeResponse))
}

func TestASubscriptionResumesAfterAStreamThatEndsWithoutAnError(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	events, server := &ending{}, grpc.NewServer()
	stampgatev1.RegisterEventServiceServer(server, events)
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	conn, err := stampgate.Dial(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var last error
	client := stampgatev1.NewEventServiceClient(conn)
	for _, err := range stampgate.Subscribe(t.Context(), client, nil, new(stampgate.MemoryCursor)) {
		last = err
	}
	checkEqual(t, status.Code(last), codes.PermissionDenied)
	checkEqual(t, events.cursors, []string{"", "after a"})
}

func TestASubscriptionStartsAtTheCursorOfItsStore(t *testing.T) {
	gateway := stampgatetest.New(t)
	gateway.Answer(subscribe, stampgatetest.OK(message("x", "last")))
	store := stampgate.FileCursor(filepath.Join(t.TempDir(), "cursor"))
	if err := store.Save("saved"); err != nil {
		t.Fatal(err)
	}
	read(t, gateway, store)
	checkEqual(t, starts(gateway), []string{"saved"})
}

func TestAnEmptyFileIsAnErrorAndStartsNoSubscription(t *testing.T) {
	gateway := stampgatetest.New(t)
	store := stampgate.FileCursor(filepath.Join(t.TempDir(), "cursor"))
	for _, text := range []string{"", "\n"} {
		if err := os.WriteFile(string(store), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := read(t, gateway, store); err == nil || err.Error() != string(store)+" contains no cursor" {
			t.Errorf("got %v", err)
		}
	}
	checkEqual(t, len(starts(gateway)), 0)
}

func TestABodyThatLeavesTheLoopDoesNotSaveItsEvent(t *testing.T) {
	gateway := stampgatetest.New(t)
	gateway.Answer(subscribe, stampgatetest.OK(message("start"), message("x", "a", "b", "c")))
	store := stampgate.FileCursor(filepath.Join(t.TempDir(), "cursor"))
	events := stampgatev1.NewEventServiceClient(gateway.Conn)
	for event := range stampgate.Subscribe(t.Context(), events, nil, store) {
		if event.GetEventId() == "b" {
			break
		}
	}
	cursor, err := store.Load()
	checkEqual(t, cursor, "after a")
	checkEqual(t, err, nil)
}

func TestAGapIsATypedErrorWithTheNextCursor(t *testing.T) {
	for reason, want := range map[string]string{
		"EVENTS_TRIMMED": "earliest", "EVENTS_LOST": "next", "EVENT_DAMAGED": "next",
		"CURSOR_OF_ANOTHER_LOG": "", "CURSOR_AHEAD_OF_LOG": "",
	} {
		gateway := stampgatetest.New(t)
		sent := refusal(codes.DataLoss, reason)
		if want != "" {
			sent.Metadata = map[string]string{want + "_cursor": want}
		}
		gateway.Answer(subscribe, stampgatetest.Fail(sent))
		_, err := read(t, gateway, new(stampgate.MemoryCursor))
		var gap *stampgate.Gap
		if !errors.As(err, &gap) || gap.Cursor != want || gap.Last.Reason != reason {
			t.Errorf("%s: got %v", reason, err)
		}
		checkEqual(t, len(starts(gateway)), 1)
	}
}

func TestASubscriptionThatIsDeniedIsNotRepeated(t *testing.T) {
	gateway := stampgatetest.New(t)
	gateway.Answer(subscribe, stampgatetest.Fail(refusal(codes.PermissionDenied, "DENIED_BY_POLICY")))
	_, err := read(t, gateway, new(stampgate.MemoryCursor))
	var got *stampgate.Error
	if !errors.As(err, &got) || got.Reason != "DENIED_BY_POLICY" {
		t.Errorf("got %v", err)
	}
	checkEqual(t, len(starts(gateway)), 1)
}

type fullStore struct{ full error }

func (fullStore) Load() (string, error) { return "", nil }
func (s fullStore) Save(string) error   { return s.full }

func TestAnErrorOfTheStoreEndsTheSubscription(t *testing.T) {
	gateway := stampgatetest.New(t)
	gateway.Answer(subscribe, stampgatetest.OK(message("start"), message("x", "last")))
	full := errors.New("the disk is full")
	_, err := read(t, gateway, fullStore{full})
	checkEqual(t, err, full)
}

func TestVerifyAcceptsOnlyTheSignedEvent(t *testing.T) {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	keys := []*stampgatev1.WebhookKey{
		{Kid: "k", X: "AAAA"},
		{Kid: "k", X: base64.RawURLEncoding.EncodeToString(make([]byte, ed25519.PublicKeySize))},
		{Kid: "k", X: base64.RawURLEncoding.EncodeToString(key.Public().(ed25519.PublicKey))},
	}
	event := &stampgatev1.Event{EventId: "e", Body: []byte(`{"a":1}`), Signature: &stampgatev1.EventSignature{
		KeyId: "k", Timestamp: "01700000000000", TimestampMs: 1700000000000,
		Signature: ed25519.Sign(key, []byte(`v1.ed25519.k.01700000000000.e.{"a":1}`)),
	}}
	checkEqual(t, stampgate.Verify(event, keys), true)
	checkEqual(t, stampgate.Verify(event, keys[:2]), false)
	for name, change := range map[string]func(*stampgatev1.Event){
		"body":      func(e *stampgatev1.Event) { e.Body = []byte(`{"a":2}`) },
		"id":        func(e *stampgatev1.Event) { e.EventId = "f" },
		"time":      func(e *stampgatev1.Event) { e.Signature.Timestamp = "1700000000000" },
		"key":       func(e *stampgatev1.Event) { e.Signature.KeyId = "other" },
		"signature": func(e *stampgatev1.Event) { e.Signature.Signature[0] ^= 1 },
		"nothing":   func(e *stampgatev1.Event) { e.Signature = nil },
	} {
		changed := proto.Clone(event).(*stampgatev1.Event)
		change(changed)
		if stampgate.Verify(changed, keys) {
			t.Errorf("an event with another %s is accepted", name)
		}
	}
}
