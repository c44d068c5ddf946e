package stampgate

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"stampgate.dev/client/stampgatev1"
)

const (
	maxRetryDelay  = time.Hour
	maxReasonBytes = 256
	// defaultSettleWithin is the time to settle an event if the gateway does not state it.
	defaultSettleWithin = 30 * time.Second
	// releaseLimit limits the settle that gives back what a consumer holds when it ends.
	releaseLimit = 2 * time.Second
)

// ConsumeOptions are the settings of Consume. Each zero value stands for the default.
type ConsumeOptions struct {
	// MaxUnsettled is the largest number of events that the consumer holds: the one that it handles, and the next ones.
	// 10 by default.
	MaxUnsettled uint32
	// RetryDelay is the time after which an event is delivered again when its handler has failed for the first time. It is
	// doubled each further time, up to an hour. A second by default.
	RetryDelay time.Duration
}

// Park returns an error for an event that no repetition can handle. If a handler of Consume returns it, the gateway sets
// the event aside, with the reason, and continues with the next one. Write no secret into the reason: the gateway stores
// and logs it.
func Park(reason string) error { return &parked{reason} }

type parked struct{ reason string }

func (p *parked) Error() string { return "park the event: " + p.reason }

// Consume handles the events of a shared subscription, and shares them with all its other consumers. client has a
// connection of Dial. options may be nil.
//
// Consume calls handle for one event at a time, and settles the event before the next one. If handle returns nil, the
// event is done. If it returns an error of Park, also a wrapped one, the event is parked. If it returns another error,
// the event is delivered again later, and the error is logged with slog. Handling an event twice must do no harm. For
// more events at a time, call Consume in more goroutines or processes. The events that the consumer holds are extended,
// also while handle runs.
//
// To stop, cancel ctx. The context of handle does not end with ctx: Consume waits until handle returns, settles its
// event, and returns the error of ctx. The gateway then delivers the other held events to other consumers.
//
// Consume resumes by itself if the connection breaks or the gateway restarts. The error is a *Gap if events are missing,
// after the held events are handled: the next Consume continues after the gap. It is an *Error if a repetition cannot
// help.
func Consume(ctx context.Context, client stampgatev1.SubscriptionServiceClient, subscription string,
	handle func(context.Context, *stampgatev1.Delivery) error, options *ConsumeOptions) error {
	c := &consumer{client: client, subscription: subscription, arrived: make(chan struct{}, 1),
		settleWithin: make(chan time.Duration, 1)}
	if options != nil {
		c.options = *options
	}
	c.options.MaxUnsettled = cmp.Or(c.options.MaxUnsettled, 10)
	c.options.RetryDelay = cmp.Or(c.options.RetryDelay, time.Second)

	handling := context.WithoutCancel(ctx)
	streaming, leave := context.WithCancel(handling)
	ended := make(chan error, 1)
	var group sync.WaitGroup
	group.Go(func() { ended <- resume(streaming, func() error { return c.receive(streaming) }, &c.repetitions) })
	group.Go(func() { c.extendHeld(streaming) })
	defer func() {
		leave()
		group.Wait()
		// The cancellation of the stream alone can be lost if the connection is then closed.
		c.settleHeld(handling, stampgatev1.SettleOutcome_SETTLE_OUTCOME_RETRY, releaseLimit)
	}()
	for {
		delivery, err := c.next(ctx, ended)
		if err != nil {
			return err
		}
		if c.isDoubtful() {
			err = c.confirm(ctx)
		} else {
			err = c.settle(ctx, delivery, handle(handling, delivery))
		}
		if err != nil {
			return err
		}
	}
}

// consumer is what a consumer holds. Its events are handled one at a time, in the order of their arrival.
type consumer struct {
	client       stampgatev1.SubscriptionServiceClient
	subscription string
	options      ConsumeOptions
	repetitions                     // of the stream
	arrived      chan struct{}      // has an element if deliveries may have arrived
	ended        error              // why no more deliveries arrive
	settleWithin chan time.Duration // receives the time to settle an event, at the start of each stream

	mutex sync.Mutex
	held  []*stampgatev1.Delivery // in the order of arrival: the first one is handled
	// within is the time to settle an event.
	within time.Duration
	// Deliveries that arrive before doubtUntil can have been sent before the latest RETRY, which has ended those of its
	// key.
	doubtUntil  time.Time
	hasDoubtful bool
}

// receive makes one call, and receives its deliveries.
func (c *consumer) receive(ctx context.Context) error {
	stream, err := c.client.Consume(ctx, &stampgatev1.ConsumeRequest{Subscription: c.subscription,
		MaxUnsettled: &c.options.MaxUnsettled, HeldTokens: c.tokens()})
	if err != nil {
		return err
	}
	for isFirst := true; ; isFirst = false {
		response, err := stream.Recv()
		if err != nil {
			return err
		}
		c.repetitions = repetitions{}
		c.drop(response.GetSupersededTokens())
		within := cmp.Or(time.Duration(response.GetSettleWithinMs())*time.Millisecond, defaultSettleWithin)
		c.mutex.Lock()
		c.held = append(c.held, response.GetDeliveries()...)
		if len(response.GetDeliveries()) > 0 && time.Now().Before(c.doubtUntil) {
			c.hasDoubtful = true
		}
		if isFirst {
			c.within = within
		}
		c.mutex.Unlock()
		if isFirst {
			select {
			case c.settleWithin <- within:
			case <-ctx.Done():
			}
		}
		select {
		case c.arrived <- struct{}{}:
		default:
		}
	}
}

// next waits for the delivery to handle next.
func (c *consumer) next(ctx context.Context, ended <-chan error) (*stampgatev1.Delivery, error) {
	for ctx.Err() == nil {
		if first := c.first(); first != nil {
			return first, nil
		}
		if c.ended != nil {
			return nil, c.ended
		}
		select {
		case <-ctx.Done():
		case <-c.arrived:
		case c.ended = <-ended:
		}
	}
	return nil, ctx.Err()
}

// settle settles a delivery whose handler has returned failure.
func (c *consumer) settle(ctx context.Context, delivery *stampgatev1.Delivery, failure error) error {
	request := c.outcome(delivery, failure)
	isRetry := request.GetOutcome() == stampgatev1.SettleOutcome_SETTLE_OUTCOME_RETRY
	if isRetry {
		c.mutex.Lock()
		c.doubtUntil = time.Now().Add(c.within)
		c.mutex.Unlock()
	}
	superseded, err := c.repeatSettle(ctx, request)
	if err != nil {
		return err
	}
	c.drop(superseded)
	c.remove(delivery.GetToken())
	if !isRetry && len(superseded) == 0 {
		return nil
	}
	// With this event, the consumer has lost the later ones of its key.
	return c.confirm(ctx)
}

func (c *consumer) isDoubtful() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.hasDoubtful
}

// confirm drops what the consumer holds, as far as the gateway states that it is no longer valid.
func (c *consumer) confirm(ctx context.Context) error {
	c.mutex.Lock()
	c.hasDoubtful = false
	c.mutex.Unlock()
	superseded, err := c.repeatSettle(ctx, c.requestForHeld(stampgatev1.SettleOutcome_SETTLE_OUTCOME_EXTEND))
	c.drop(superseded)
	return err
}

func (c *consumer) outcome(delivery *stampgatev1.Delivery, failure error) *stampgatev1.SettleRequest {
	request := &stampgatev1.SettleRequest{Subscription: c.subscription, Tokens: []string{delivery.GetToken()}}
	event := slog.String("event", delivery.GetEvent().GetEventId())
	var parked *parked
	switch {
	case failure == nil:
		request.Outcome = stampgatev1.SettleOutcome_SETTLE_OUTCOME_DONE
	case errors.As(failure, &parked):
		request.Outcome = stampgatev1.SettleOutcome_SETTLE_OUTCOME_PARK
		reason := parked.reason[:min(len(parked.reason), maxReasonBytes)]
		request.ParkReason = proto.String(strings.ToValidUTF8(reason, ""))
		slog.Warn("the event is parked", event, "reason", parked.reason)
	default:
		delay := min(c.options.RetryDelay, maxRetryDelay)
		for count := uint32(1); count < delivery.GetDeliveryCount() && delay < maxRetryDelay; count++ {
			delay = min(2*delay, maxRetryDelay)
		}
		request.Outcome = stampgatev1.SettleOutcome_SETTLE_OUTCOME_RETRY
		request.RetryDelayMs = proto.Uint32(uint32(delay.Milliseconds()))
		slog.Warn("the handler failed; the event is delivered again", event,
			"delivery", delivery.GetDeliveryCount(), "after", delay, "error", failure)
	}
	return request
}

// repeatSettle repeats a settle until it succeeds, and returns the tokens that are no longer valid. After the end of
// ctx, it makes one try: the events are delivered again if it fails.
func (c *consumer) repeatSettle(ctx context.Context, request *stampgatev1.SettleRequest) ([]string, error) {
	if len(request.GetTokens()) == 0 {
		return nil, nil
	}
	for next := (repetitions{}); ; {
		response, err := c.client.Settle(context.WithoutCancel(ctx), request)
		if err == nil {
			return response.GetSupersededTokens(), nil
		}
		last, isOfCall := err.(*Error)
		if !isOfCall || !next.wait(ctx, last) {
			return nil, cmp.Or(ctx.Err(), err)
		}
	}
}

// extendHeld extends what the consumer holds, again and again, until the end of ctx.
func (c *consumer) extendHeld(ctx context.Context) {
	every := defaultSettleWithin / 3 // A failed try leaves time for another one.
	timer := time.NewTimer(every)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case within := <-c.settleWithin:
			before := every
			every = within / 3
			if every >= before {
				continue // The timer is early enough.
			}
		case <-timer.C:
		}
		c.drop(c.settleHeld(ctx, stampgatev1.SettleOutcome_SETTLE_OUTCOME_EXTEND, every))
		timer.Reset(every)
	}
}

// settleHeld tries once to settle what the consumer holds, and returns the tokens that are no longer valid.
func (c *consumer) settleHeld(ctx context.Context, outcome stampgatev1.SettleOutcome, limit time.Duration) []string {
	request := c.requestForHeld(outcome)
	if len(request.GetTokens()) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	response, _ := c.client.Settle(ctx, request) // Without an answer, nothing is known to be lost.
	return response.GetSupersededTokens()
}

func (c *consumer) requestForHeld(outcome stampgatev1.SettleOutcome) *stampgatev1.SettleRequest {
	return &stampgatev1.SettleRequest{Subscription: c.subscription, Tokens: c.tokens(), Outcome: outcome}
}

func (c *consumer) tokens() []string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	tokens := make([]string, len(c.held))
	for i, delivery := range c.held {
		tokens[i] = delivery.GetToken()
	}
	return tokens
}

func (c *consumer) first() *stampgatev1.Delivery {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if len(c.held) == 0 {
		return nil
	}
	return c.held[0]
}

// drop forgets deliveries that are no longer valid: the gateway delivers their events again, or has settled them.
func (c *consumer) drop(tokens []string) {
	for _, delivery := range c.remove(tokens...) {
		slog.Warn("the consumer has lost an event, which can be delivered again",
			"event", delivery.GetEvent().GetEventId())
	}
}

// remove forgets deliveries, and returns those that were held.
func (c *consumer) remove(tokens ...string) (removed []*stampgatev1.Delivery) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.held = slices.DeleteFunc(c.held, func(delivery *stampgatev1.Delivery) bool {
		isRemoved := slices.Contains(tokens, delivery.GetToken())
		if isRemoved {
			removed = append(removed, delivery)
		}
		return isRemoved
	})
	return removed
}
