package stampgate

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
)

const (
	firstPause     = 100 * time.Millisecond
	maxPause       = 5 * time.Second
	maxTLSFailures = 3
)

// backoff is the state of a call that is repeated.
type backoff struct {
	repetitions int
	tlsFailures int // since the last connection
}

// pause waits before a repetition, for at least the delay in err. Returns false if ctx ends first, or if a repetition
// cannot help.
func (b *backoff) pause(ctx context.Context, err *Error) bool {
	wait := min(firstPause<<min(b.repetitions, 10), maxPause)
	wait = wait/2 + rand.N(wait/2)
	b.repetitions++
	if err != nil && isTLSFailure(err) {
		if b.tlsFailures++; b.tlsFailures == maxTLSFailures {
			return false
		}
		wait = time.Second // The connection is not tried again earlier.
	} else if err != nil && !err.isUnsent {
		b.tlsFailures = 0
	}
	if err != nil && err.RetryDelay != nil {
		wait = *err.RetryDelay + rand.N(*err.RetryDelay/10+firstPause)
	}
	if deadline, hasDeadline := ctx.Deadline(); hasDeadline && time.Until(deadline) <= wait {
		return false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// isTLSFailure returns whether a TLS handshake failed, for which gRPC has no code of its own. With TLS 1.3, the client
// learns after its handshake that the gateway refuses its certificate. A handshake that ends because the connection
// breaks is none, because the gateway may be starting again.
func isTLSFailure(err *Error) bool {
	return err.Code == codes.Unavailable && err.Reason == "" &&
		(strings.Contains(err.Message, "tls: ") || strings.Contains(err.Message, "x509: "))
}
