package stampgate

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"stampgate.dev/client/stampgatev1"
)

// CursorStore keeps the cursor of a subscription. Load returns the empty text if there is no cursor yet.
type CursorStore interface {
	Load() (string, error)
	Save(cursor string) error
}

// FileCursor is the path of a file that keeps the cursor of one subscription.
type FileCursor string

// Load reads the file. If there is no file, the cursor is empty.
func (f FileCursor) Load() (string, error) {
	text, err := os.ReadFile(string(f))
	if os.IsNotExist(err) {
		return "", nil
	}
	cursor := strings.TrimSpace(string(text))
	if err == nil && cursor == "" {
		err = fmt.Errorf("%s contains no cursor", f)
	}
	return cursor, err
}

// Save replaces the file by a rename. A saved cursor survives a power cut.
func (f FileCursor) Save(cursor string) error {
	next := string(f) + ".new"
	err := os.WriteFile(next, []byte(cursor), 0o600)
	if err == nil {
		err = syncPath(next, os.O_RDWR)
	}
	if err == nil {
		err = os.Rename(next, string(f))
	}
	if err == nil && runtime.GOOS != "windows" { // Windows cannot sync a folder.
		err = syncPath(filepath.Dir(string(f)), os.O_RDONLY)
	}
	return err
}

// syncPath waits until the bytes of a file, or the names in a folder, are on the disk.
func syncPath(path string, flag int) error {
	file, err := os.OpenFile(path, flag, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	return file.Sync()
}

// MemoryCursor keeps the cursor of one subscription until the program ends. Its value is the cursor at which to start.
type MemoryCursor string

// Load returns the cursor.
func (m *MemoryCursor) Load() (string, error) { return string(*m), nil }

// Save replaces the cursor.
func (m *MemoryCursor) Save(cursor string) error {
	*m = MemoryCursor(cursor)
	return nil
}

// Subscribe calls the method Subscribe of client, which has a connection of Dial, and yields the events. It resumes by
// itself if the connection breaks or the gateway restarts. An error is the last pair: *Gap, *Error, an error of the
// store, or that of ctx.
//
// The subscription starts at the cursor in store. It saves the cursor of an event when the body of the loop has ended
// for it. A body that leaves the loop does not save the cursor of its event, so that the next subscription yields the
// event again: to end the subscription after an event, cancel ctx. Heartbeats are not yielded; they advance the cursor
// too.
//
// request may be nil. Without a cursor and without a start, the subscription starts at the oldest event.
func Subscribe(ctx context.Context, client stampgatev1.EventServiceClient, request *stampgatev1.SubscribeRequest,
	store CursorStore) iter.Seq2[*stampgatev1.Event, error] {
	return func(yield func(*stampgatev1.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx) // ends the call when the body leaves the loop
		defer cancel()
		s := &subscription{client: client, store: store, request: &stampgatev1.SubscribeRequest{
			Start: &stampgatev1.SubscribeRequest_End{End: stampgatev1.LogEnd_LOG_END_EARLIEST}}}
		proto.Merge(s.request, request)
		err := resume(ctx, func() error { return s.read(ctx, yield) }, &s.repetitions)
		if err != nil {
			yield(nil, err)
		}
	}
}

type subscription struct {
	client  stampgatev1.EventServiceClient
	request *stampgatev1.SubscribeRequest
	store   CursorStore
	repetitions
}

// read makes one call, and yields its events. The error is an *Error if the call has ended. It is nil if the body has
// left the loop.
func (s *subscription) read(ctx context.Context, yield func(*stampgatev1.Event, error) bool) error {
	err := s.call(ctx, yield)
	if ended, isOfCall := err.(*Error); isOfCall && ended.Metadata["cursor"] != "" {
		return cmp.Or(s.store.Save(ended.Metadata["cursor"]), err)
	}
	return err
}

func (s *subscription) call(ctx context.Context, yield func(*stampgatev1.Event, error) bool) error {
	cursor, err := s.store.Load()
	if err != nil {
		return err
	}
	if cursor != "" {
		s.request.Start = &stampgatev1.SubscribeRequest_Cursor{Cursor: cursor}
	}
	stream, err := s.client.Subscribe(ctx, s.request)
	if err != nil {
		return err
	}
	for {
		response, err := stream.Recv()
		if err != nil {
			return err
		}
		s.repetitions = repetitions{}
		for _, event := range response.GetEvents() {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if !yield(event, nil) {
				return nil
			}
			if err := s.store.Save(event.GetCursor()); err != nil {
				return err
			}
		}
		if len(response.GetEvents()) == 0 { // a heartbeat
			if err := s.store.Save(response.GetCursor()); err != nil {
				return err
			}
		}
	}
}

// Verify returns whether upstream has signed the event with one of the keys, which WebhookService.GetWebhookKeySet
// returns. The keys must come from a source that the subscriber trusts. A valid signature does not prove that the event
// concerns your organization: check the organization too. If event.BodyOmitted is true, first set event.Body to the
// bytes that EventService.ReadEventBody returns.
func Verify(event *stampgatev1.Event, keys []*stampgatev1.WebhookKey) bool {
	signature := event.GetSignature()
	signed := fmt.Appendf(nil, "v1.ed25519.%s.%s.%s.%s",
		signature.GetKeyId(), signature.GetTimestamp(), event.GetEventId(), event.GetBody())
	return slices.ContainsFunc(keys, func(key *stampgatev1.WebhookKey) bool {
		public, err := base64.RawURLEncoding.DecodeString(key.GetX())
		return key.GetKid() == signature.GetKeyId() && err == nil && len(public) == ed25519.PublicKeySize &&
			ed25519.Verify(public, signed, signature.GetSignature())
	})
}
