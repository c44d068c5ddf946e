package stampgate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	stampgate "stampgate.dev/client"
	"stampgate.dev/client/stampgatetest"
	"stampgate.dev/client/stampgatev1"
)

const (
	consume = stampgatev1.SubscriptionService_Consume_FullMethodName
	settle  = stampgatev1.SubscriptionService_Settle_FullMethodName
)

var (
	settled = stampgatetest.OK(&stampgatev1.SettleResponse{})
	// gRPC itself repeats a settle after UNAVAILABLE, but not after this error.
	late = stampgatetest.Fail(&stampgate.Error{Code: codes.DeadlineExceeded})
)

// deliveries is a message with deliveries of these events. The token of event a is "token a".
func deliveries(count uint32, ids ...string) proto.Message {
	result := &stampgatev1.ConsumeResponse{}
	for _, id := range ids {
		result.Deliveries = append(result.Deliveries, &stampgatev1.Delivery{
			Event: &stampgatev1.Event{EventId: id}, Token: "token " + id, DeliveryCount: count})
	}
	return result
}

// stream is a call of Consume that ends with an error. Its first message states 30 seconds.
func stream(err error, messages ...proto.Message) stampgatetest.Answer {
	return streamWithin(30*time.Second, err, messages...)
}

// streamWithin is a call of Consume whose first message states the time to settle an event.
func streamWithin(within time.Duration, err error, messages ...proto.Message) stampgatetest.Answer {
	first := &stampgatev1.ConsumeResponse{SettleWithinMs: uint32(within.Milliseconds())}
	return stampgatetest.Answer{Messages: append([]proto.Message{first}, messages...), Err: err}
}

func lost(ids ...string) stampgatetest.Answer {
	response := &stampgatev1.SettleResponse{}
	for _, id := range ids {
		response.SupersededTokens = append(response.SupersededTokens, "token "+id)
	}
	return stampgatetest.OK(response)
}

func deniedCall() *stampgate.Error { return refusal(codes.PermissionDenied, "DENIED_BY_POLICY") }

// handler is the handler of a consumer that records its events.
type handler struct {
	gateway *stampgatetest.Gateway
	handle  func(context.Context, string) error // may be nil
	handled []string
}

// consume runs a consumer, and returns its error.
func (h *handler) consume(ctx context.Context, options *stampgate.ConsumeOptions) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	client := stampgatev1.NewSubscriptionServiceClient(h.gateway.Conn)
	return stampgate.Consume(ctx, client, "payouts", func(ctx context.Context, delivery *stampgatev1.Delivery) error {
		id := delivery.GetEvent().GetEventId()
		h.handled = append(h.handled, id)
		if h.handle == nil {
			return nil
		}
		return h.handle(ctx, id)
	}, options)
}

// failsForA fails for event a.
func failsForA(_ context.Context, id string) error {
	if id == "a" {
		return errors.New("no connection")
	}
	return nil
}

func checkDenied(t *testing.T, err error) {
	t.Helper()
	var got *stampgate.Error
	if !errors.As(err, &got) || got.Reason != "DENIED_BY_POLICY" {
		t.Errorf("got %v", err)
	}
}

// settles returns the outcomes and tokens of the settles.
func settles(gateway *stampgatetest.Gateway) []string {
	var result []string
	for _, request := range gateway.Requests(settle) {
		sent := request.(*stampgatev1.SettleRequest)
		outcome := strings.TrimPrefix(sent.GetOutcome().String(), "SETTLE_OUTCOME_")
		result = append(result, fmt.Sprint(outcome, sent.GetTokens()))
	}
	return result
}

// wait waits until the condition is true.
func wait(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !condition(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// logged collects what the package logs.
type logged struct {
	mutex sync.Mutex
	lines bytes.Buffer
}

func (l *logged) Write(line []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.lines.Write(line)
}

func (l *logged) contains(text string) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return strings.Contains(l.lines.String(), text)
}

func logs(t *testing.T) *logged {
	usual := slog.Default()
	t.Cleanup(func() { slog.SetDefault(usual) })
	result := &logged{}
	slog.SetDefault(slog.New(slog.NewTextHandler(result, nil)))
	return result
}

func TestEventsAreHandledInOrderAndEachIsSettledBeforeTheNextOne(t *testing.T) {
	h := &handler{gateway: stampgatetest.New(t)}
	h.gateway.Answer(settle, settled)
	h.gateway.Answer(consume, stream(deniedCall(), deliveries(1, "a", "b"), deliveries(1, "c")))
	var before []int
	h.handle = func(context.Context, string) error {
		before = append(before, len(settles(h.gateway)))
		return nil
	}
	checkDenied(t, h.consume(t.Context(), &stampgate.ConsumeOptions{MaxUnsettled: 3}))
	checkEqual(t, h.handled, []string{"a", "b", "c"})
	checkEqual(t, before, []int{0, 1, 2})
	checkEqual(t, settles(h.gateway), []string{"DONE[token a]", "DONE[token b]", "DONE[token c]"})
	request := h.gateway.Requests(consume)[0].(*stampgatev1.ConsumeRequest)
	checkEqual(t, request.GetSubscription(), "payouts")
	checkEqual(t, request.GetMaxUnsettled(), uint32(3))
}

func TestAConsumerResumesWithTheTokensThatItHolds(t *testing.T) {
	h := &handler{gateway: stampgatetest.New(t)}
	h.gateway.Answer(settle, settled)
	h.gateway.Answer(consume, stream(broken.Err, deliveries(1, "a", "b")), stream(deniedCall(), deliveries(1, "c")))
	h.handle = func(context.Context, string) error {
		wait(t, "the consumer resumes", func() bool { return len(h.gateway.Requests(consume)) == 2 })
		return nil
	}
	checkDenied(t, h.consume(t.Context(), nil))
	checkEqual(t, h.handled, []string{"a", "b", "c"})
	var held [][]string
	for _, request := range h.gateway.Requests(consume) {
		held = append(held, request.(*stampgatev1.ConsumeRequest).GetHeldTokens())
	}
	checkEqual(t, held, [][]string{nil, {"token a", "token b"}})
}

func TestAnEventThatAnotherConsumerCanHaveReceivedIsNotHandled(t *testing.T) {
	h, lines := &handler{gateway: stampgatetest.New(t)}, logs(t)
	h.gateway.Answer(settle, settled)
	again := &stampgatev1.ConsumeResponse{SettleWithinMs: 30_000, SupersededTokens: []string{"token b"}}
	h.gateway.Answer(consume, stream(broken.Err, deliveries(1, "a", "b")),
		stampgatetest.Answer{Messages: []proto.Message{again, deliveries(1, "c")}, Err: deniedCall()})
	h.handle = func(context.Context, string) error {
		wait(t, "the consumer drops b", func() bool { return lines.contains("event=b") })
		return nil
	}
	checkDenied(t, h.consume(t.Context(), nil))
	checkEqual(t, h.handled, []string{"a", "c"})
}

func TestASettleIsRepeatedUntilItSucceeds(t *testing.T) {
	h := &handler{gateway: stampgatetest.New(t)}
	h.gateway.Answer(settle, broken, late, settled)
	h.gateway.Answer(consume, stream(deniedCall(), deliveries(1, "a", "b")))
	checkDenied(t, h.consume(t.Context(), nil))
	const done = "DONE[token a]"
	checkEqual(t, settles(h.gateway), []string{done, done, done, "DONE[token b]"})
}

func TestASettleThatIsDeniedEndsTheConsumer(t *testing.T) {
	h := &handler{gateway: stampgatetest.New(t)}
	h.gateway.Answer(settle, stampgatetest.Fail(deniedCall()))
	h.gateway.Answer(consume, stream(nil, deliveries(1, "a", "b")))
	checkDenied(t, h.consume(t.Context(), nil))
	checkEqual(t, h.handled, []string{"a"})
}

func TestAnEventWhoseHandlerFailsIsDeliveredAgainLaterAndLater(t *testing.T) {
	for count, want := range map[uint32]uint32{1: 1_000, 2: 2_000, 5: 16_000, 1000: 3_600_000} {
		h, lines := &handler{gateway: stampgatetest.New(t)}, logs(t)
		h.gateway.Answer(settle, settled)
		h.gateway.Answer(consume, stream(deniedCall(), deliveries(count, "a")))
		h.handle = func(context.Context, string) error { return errors.New("no connection") }
		checkDenied(t, h.consume(t.Context(), nil))
		request := h.gateway.Requests(settle)[0].(*stampgatev1.SettleRequest)
		checkEqual(t, request.GetOutcome(), stampgatev1.SettleOutcome_SETTLE_OUTCOME_RETRY)
		checkEqual(t, request.GetRetryDelayMs(), want)
		checkEqual(t, lines.contains(`error="no connection"`), true)
	}
}

func TestAfterARetryTheLaterEventsOfTheKeyAreNotHandled(t *testing.T) {
	h := &handler{gateway: stampgatetest.New(t)}
	logs(t)
	h.gateway.Answer(settle, settled, late, lost("b"), settled)
	h.gateway.Answer(consume, stream(deniedCall(), deliveries(1, "a", "b", "c")))
	h.handle = failsForA
	checkDenied(t, h.consume(t.Context(), nil))
	checkEqual(t, h.handled, []string{"a", "c"})
	const check = "EXTEND[token b token c]"
	checkEqual(t, settles(h.gateway), []string{"RETRY[token a]", check, check, "DONE[token c]"})
}

func TestALaterEventOfTheKeyThatWasOnItsWayAtTheRetryIsNotHandled(t *testing.T) {
	h := &handler{gateway: stampgatetest.New(t)}
	logs(t)
	h.gateway.Answer(settle, settled, lost("b"), settled)
	h.gateway.Answer(consume, stream(&stampgate.Error{Code: codes.Unavailable}, deliveries(1, "a")),
		stream(deniedCall(), deliveries(1, "b"), deliveries(1, "c")))
	h.handle = failsForA
	checkDenied(t, h.consume(t.Context(), nil))
	checkEqual(t, h.handled, []string{"a", "c"})
}

func TestAfterAnEventIsLostTheLaterEventsOfItsKeyAreNotHandled(t *testing.T) {
	h, lines := &handler{gateway: stampgatetest.New(t)}, logs(t)
	h.gateway.Answer(settle, lost("a"), lost("b"))
	h.gateway.Answer(consume, stream(deniedCall(), deliveries(1, "a", "b")))
	checkDenied(t, h.consume(t.Context(), nil))
	checkEqual(t, h.handled, []string{"a"})
	checkEqual(t, settles(h.gateway), []string{"DONE[token a]", "EXTEND[token b]"})
	checkEqual(t, lines.contains("event=a") && lines.contains("event=b"), true)
}

func TestAnEventWhoseHandlerParksItIsParkedWithTheReason(t *testing.T) {
	h := &handler{gateway: stampgatetest.New(t)}
	logs(t)
	h.gateway.Answer(settle, settled)
	h.gateway.Answer(consume, stream(deniedCall(), deliveries(1, "a", "b")))
	h.handle = func(context.Context, string) error {
		return fmt.Errorf("the payout: %w", stampgate.Park("x"+strings.Repeat("é", 200)))
	}
	checkDenied(t, h.consume(t.Context(), nil))
	checkEqual(t, settles(h.gateway), []string{"PARK[token a]", "PARK[token b]"})
	reason := h.gateway.Requests(settle)[0].(*stampgatev1.SettleRequest).GetParkReason()
	checkEqual(t, reason, "x"+strings.Repeat("é", 127))
}

func TestAllHeldEventsAreExtendedWhileAHandlerIsSlow(t *testing.T) {
	h, lines := &handler{gateway: stampgatetest.New(t)}, logs(t)
	h.gateway.Answer(settle, late, lost("b"), settled)
	heartbeat := &stampgatev1.ConsumeResponse{}
	h.gateway.Answer(consume, streamWithin(300*time.Millisecond, deniedCall(), deliveries(1, "a", "b", "c"), heartbeat))
	h.handle = func(context.Context, string) error {
		wait(t, "the consumer drops b", func() bool { return lines.contains("event=b") })
		return nil
	}
	checkDenied(t, h.consume(t.Context(), nil))
	checkEqual(t, h.handled, []string{"a", "c"})
	const extension = "EXTEND[token a token b token c]"
	checkEqual(t, settles(h.gateway)[:2], []string{extension, extension})
}

func TestHeldEventsAreExtendedWithinTheTimeThatTheLatestStreamStates(t *testing.T) {
	h := &handler{gateway: stampgatetest.New(t)}
	h.gateway.Answer(settle, settled)
	h.gateway.Answer(consume, stream(broken.Err, deliveries(1, "a")), streamWithin(300*time.Millisecond, deniedCall()))
	h.handle = func(context.Context, string) error {
		// The second extension needs the new time too.
		wait(t, "two extensions", func() bool { return len(settles(h.gateway)) == 2 })
		return nil
	}
	checkDenied(t, h.consume(t.Context(), nil))
	checkEqual(t, settles(h.gateway), []string{"EXTEND[token a]", "EXTEND[token a]", "DONE[token a]"})
}

func TestHeldEventsAreExtendedWithin30SecondsIfTheStreamStatesNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &handler{gateway: stampgatetest.New(t)}
		h.gateway.Answer(settle, settled)
		h.gateway.Answer(consume, streamWithin(0, deniedCall(), deliveries(1, "a")))
		h.handle = func(context.Context, string) error {
			time.Sleep(10*time.Second - 1)
			synctest.Wait()
			checkEqual(t, len(settles(h.gateway)), 0)
			time.Sleep(1)
			synctest.Wait()
			checkEqual(t, settles(h.gateway), []string{"EXTEND[token a]"})
			return nil
		}
		checkDenied(t, h.consume(t.Context(), nil))
	})
}

func TestAConsumerThatIsCancelledLetsTheHandlerReturnSettlesItsEventAndGivesTheOthersBack(t *testing.T) {
	gateway, before := connected(t)
	h := &handler{gateway: gateway}
	h.gateway.Answer(settle, settled)
	h.gateway.Answer(consume, stream(nil, deliveries(1, "a", "b")))
	ctx, cancel := context.WithCancel(t.Context())
	h.handle = func(ctx context.Context, _ string) error {
		cancel()
		return ctx.Err()
	}
	if err := h.consume(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	checkEqual(t, h.handled, []string{"a"})
	checkEqual(t, settles(h.gateway), []string{"DONE[token a]", "RETRY[token b]"})
	// The call of Consume has ended, too.
	checkNoneLeaked(t, before)
}

func TestAConsumerThatWaitsOrRepeatsASettleCanBeCancelled(t *testing.T) {
	for method, messages := range map[string][]proto.Message{consume: nil, settle: {deliveries(1, "a")}} {
		h := &handler{gateway: stampgatetest.New(t)}
		h.gateway.Answer(settle, late)
		h.gateway.Answer(consume, stream(nil, messages...))
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			wait(t, "a call", func() bool { return len(h.gateway.Requests(method)) > 0 })
			cancel()
		}()
		if err := h.consume(ctx, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
}

func TestAConsumerReportsAGapAfterItHasHandledWhatItHolds(t *testing.T) {
	for _, reason := range []string{"EVENTS_TRIMMED", "EVENTS_LOST", "EVENT_DAMAGED"} {
		h := &handler{gateway: stampgatetest.New(t)}
		h.gateway.Answer(settle, settled)
		h.gateway.Answer(consume, stream(refusal(codes.DataLoss, reason), deliveries(1, "a", "b")))
		var gap *stampgate.Gap
		if err := h.consume(t.Context(), nil); !errors.As(err, &gap) || gap.Last.Reason != reason || gap.Cursor != "" {
			t.Errorf("%s: got %v", reason, err)
		}
		checkEqual(t, h.handled, []string{"a", "b"})
	}
}
