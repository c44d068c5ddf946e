package stampgate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
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
	return strings.TrimSpace(string(text)), err
}

// Save replaces the file in one step.
func (f FileCursor) Save(cursor string) error {
	next := string(f) + ".new"
	if err := os.WriteFile(next, []byte(cursor), 0o600); err != nil {
		return err
	}
	return os.Rename(next, string(f))
}

// Gap is the error of a subscription that cannot receive the next events. The subscriber decides: it stops, or it
// accepts the loss, saves Cursor in its store, and subscribes again.
type Gap struct {
	// Last is the error of the call. Its reason is EVENTS_TRIMMED, EVENTS_LOST, EVENT_DAMAGED, CURSOR_OF_ANOTHER_LOG or
	// CURSOR_AHEAD_OF_LOG.
	Last *Error
	// Cursor is the position after the gap. Empty after CURSOR_OF_ANOTHER_LOG and CURSOR_AHEAD_OF_LOG: then subscribe
	// from a time or from an end of the log.
	Cursor string
}

func (e *Gap) Error() string { return fmt.Sprintf("the subscription has a gap: %v", e.Last) }

// Unwrap returns the error of the call.
func (e *Gap) Unwrap() error { return e.Last }

type subscribeMethod = func(context.Context, *stampgatev1.SubscribeRequest, ...grpc.CallOption) (
	grpc.ServerStreamingClient[stampgatev1.SubscribeResponse], error)

// Subscribe calls method, EventService's Subscribe of a generated client, and yields the events. It resumes by itself if
// the connection breaks or the gateway restarts. An error is the last pair: *Gap, *Error, an error of the store, or that
// of ctx.
//
// If store is not nil, the subscription starts at its cursor, and saves the cursor of an event when the body of the loop
// has ended for it. A body that leaves the loop does not save the cursor of its event, so that the next subscription
// yields the event again: to end the subscription after an event, cancel ctx. Heartbeats are not yielded; they advance the cursor too.
//
// request may be nil. Without a cursor and without a start, the subscription starts at the oldest event.
func Subscribe(ctx context.Context, method subscribeMethod, request *stampgatev1.SubscribeRequest,
	store CursorStore) iter.Seq2[*stampgatev1.Event, error] {
	return func(yield func(*stampgatev1.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		s := &subscription{store: store, request: &stampgatev1.SubscribeRequest{}}
		if request != nil {
			s.request = proto.Clone(request).(*stampgatev1.SubscribeRequest)
		}
		if s.request.Start == nil {
			s.request.Start = &stampgatev1.SubscribeRequest_End{End: stampgatev1.LogEnd_LOG_END_EARLIEST}
		}
		err := s.load()
		for err == nil {
			err = s.resume(ctx, s.read(ctx, method, yield))
		}
		if err != errLeft {
			yield(nil, err)
		}
	}
}

var errLeft = errors.New("the body has left the loop")

type subscription struct {
	store   CursorStore
	request *stampgatev1.SubscribeRequest // starts at the last cursor
	backoff
}

func (s *subscription) load() error {
	if s.store == nil {
		return nil
	}
	cursor, err := s.store.Load()
	if err == nil && cursor != "" {
		s.request.Start = &stampgatev1.SubscribeRequest_Cursor{Cursor: cursor}
	}
	return err
}

func (s *subscription) save(cursor string) error {
	if cursor == s.request.GetCursor() {
		return nil
	}
	s.request.Start = &stampgatev1.SubscribeRequest_Cursor{Cursor: cursor}
	if s.store == nil {
		return nil
	}
	return s.store.Save(cursor)
}

// read makes one call, and yields its events. The error is an *Error if the call has ended.
func (s *subscription) read(ctx context.Context, method subscribeMethod,
	yield func(*stampgatev1.Event, error) bool) error {
	stream, err := method(ctx, s.request)
	if err != nil {
		return errorOf(err, nil)
	}
	for {
		response, err := stream.Recv()
		if err == io.EOF {
			return &Error{Code: codes.Unavailable, Message: "the gateway ended the subscription without an error"}
		}
		if err != nil {
			return errorOf(err, nil)
		}
		s.backoff = backoff{}
		for _, event := range response.GetEvents() {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if !yield(event, nil) {
				return errLeft
			}
			if err := s.save(event.GetCursor()); err != nil {
				return err
			}
		}
		if err := s.save(response.GetCursor()); err != nil {
			return err
		}
	}
}

// resume waits until the call can be repeated. Returns the error that ends the subscription.
func (s *subscription) resume(ctx context.Context, err error) error {
	last, isOfCall := err.(*Error)
	if !isOfCall {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	switch {
	case last.HasReason(stampgatev1.ErrorReason_ERROR_REASON_EVENTS_TRIMMED):
		return &Gap{last, last.Metadata["earliest_cursor"]}
	case last.HasReason(stampgatev1.ErrorReason_ERROR_REASON_EVENTS_LOST,
		stampgatev1.ErrorReason_ERROR_REASON_EVENT_DAMAGED,
		stampgatev1.ErrorReason_ERROR_REASON_CURSOR_OF_ANOTHER_LOG,
		stampgatev1.ErrorReason_ERROR_REASON_CURSOR_AHEAD_OF_LOG):
		return &Gap{last, last.Metadata["next_cursor"]}
	}
	// Without a reason, the connection or a proxy ended the call.
	isBroken := last.Reason == "" && (last.Code == codes.Unknown || last.Code == codes.Internal)
	if !isBroken && last.RetryDelay == nil && last.Code != codes.Unavailable {
		return last
	}
	if cursor := last.Metadata["cursor"]; cursor != "" {
		if err := s.save(cursor); err != nil {
			return err
		}
	}
	if !s.pause(ctx, last) {
		return cmp.Or[error](ctx.Err(), last)
	}
	return nil
}
