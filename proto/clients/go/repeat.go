package stampgate

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	firstPause     = 100 * time.Millisecond
	maxPause       = 5 * time.Second
	maxTLSFailures = 3
)

// repetitions decides whether and when a call is repeated.
type repetitions struct {
	pause       time.Duration
	tlsFailures int // in succession
}

// wait waits until the call that ended with err can be repeated. err is nil if the call succeeded. Returns false if a
// repetition cannot help, or would come after the end of ctx.
func (r *repetitions) wait(ctx context.Context, err *Error) bool {
	r.pause = min(max(firstPause, 2*r.pause), maxPause)
	pause := r.pause/2 + rand.N(r.pause/2)
	if err == nil || !err.isTLSFailure() {
		r.tlsFailures = 0
	} else {
		r.tlsFailures++
		pause = time.Second // The connection is not tried again earlier.
	}
	if err != nil {
		if r.tlsFailures == maxTLSFailures || !err.isRepeatable() {
			return false
		}
		if err.RetryDelay != nil {
			pause += *err.RetryDelay
		}
	}
	if deadline, isSet := ctx.Deadline(); isSet && time.Until(deadline) <= pause {
		return false
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(pause):
		return true
	}
}
