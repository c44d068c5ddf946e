package stampgate

import (
	"cmp"
	"context"
	"io"

	"stampgate.dev/client/stampgatev1"
)

// Gap is the error of a subscription, or of a consumer, from which events are missing. The subscriber decides: it stops,
// or it accepts the loss, saves Cursor in its store, and subscribes again. A consumer need only consume again.
type Gap struct {
	// Last is the error of the call. Its reason is EVENTS_TRIMMED, EVENTS_LOST, EVENT_DAMAGED, CURSOR_OF_ANOTHER_LOG or
	// CURSOR_AHEAD_OF_LOG.
	Last *Error
	// Cursor is the position after the gap. Empty after CURSOR_OF_ANOTHER_LOG and CURSOR_AHEAD_OF_LOG: then subscribe
	// from a time or from an end of the log. Empty for a consumer.
	Cursor string
}

func (e *Gap) Error() string { return "the subscription has a gap: " + e.Last.Error() }

// Unwrap returns the error of the call.
func (e *Gap) Unwrap() error { return e.Last }

// resume repeats read, which makes one call that returns a stream, and returns the error of the call that cannot be
// resumed, or any other error of read. read resets the repetitions when a message arrives.
func resume(ctx context.Context, read func() error, repetitions *repetitions) error {
	for {
		err := read()
		last, isOfCall := err.(*Error)
		if !isOfCall && err != io.EOF { // A proxy may end a stream without an error.
			return err
		}
		if isOfCall && last.HasReason(stampgatev1.ErrorReason_ERROR_REASON_EVENTS_TRIMMED,
			stampgatev1.ErrorReason_ERROR_REASON_EVENTS_LOST,
			stampgatev1.ErrorReason_ERROR_REASON_EVENT_DAMAGED,
			stampgatev1.ErrorReason_ERROR_REASON_CURSOR_OF_ANOTHER_LOG,
			stampgatev1.ErrorReason_ERROR_REASON_CURSOR_AHEAD_OF_LOG) {
			return &Gap{last, cmp.Or(last.Metadata["earliest_cursor"], last.Metadata["next_cursor"])}
		}
		if !repetitions.wait(ctx, last) {
			return cmp.Or(ctx.Err(), err)
		}
	}
}
