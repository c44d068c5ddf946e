package stampgate_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	stampgate "stampgate.dev/client"
	"stampgate.dev/client/stampgatetest"
	"stampgate.dev/client/stampgatev1"
)

// leaked waits until no more goroutines run than before, and returns the number of those that are left after the limit.
func leaked(before int, limit time.Duration) int {
	for end := time.Now().Add(limit); runtime.NumGoroutine() > before && time.Now().Before(end); {
		runtime.Gosched()
	}
	return max(0, runtime.NumGoroutine()-before)
}

func checkNoneLeaked(t *testing.T, before int) {
	t.Helper()
	if count := leaked(before, 20*time.Second); count > 0 {
		t.Errorf("%d goroutines are left", count)
	}
}

// connected returns a gateway that has a connection, and the number of goroutines.
func connected(t *testing.T) (*stampgatetest.Gateway, int) {
	gateway := stampgatetest.New(t)
	stampgatev1.NewPolicyServiceClient(gateway.Conn).GetPolicy(t.Context(), &stampgatev1.GetPolicyRequest{})
	return gateway, runtime.NumGoroutine()
}

func TestAGoroutineThatIsLeftIsCounted(t *testing.T) {
	gateway, before := connected(t)
	gateway.Answer(subscribe, stampgatetest.OK(message("start")))
	events := stampgatev1.NewEventServiceClient(gateway.Conn)
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := events.Subscribe(ctx, &stampgatev1.SubscribeRequest{})
	if err == nil {
		_, err = stream.Recv()
	}
	checkEqual(t, err, nil)
	if leaked(before, 100*time.Millisecond) == 0 {
		t.Error("a stream that is not ended leaves no goroutine")
	}
	cancel()
	checkNoneLeaked(t, before)
}

func TestNoGoroutineIsLeftAfterSubmitsThatFail(t *testing.T) {
	const submits, workers = 200, 20
	gateway, before := connected(t)
	for range submits {
		gateway.Answer(createPolicies, broken, completed)
	}
	policies := stampgatev1.NewPolicyServiceClient(gateway.Conn)
	numbers := make(chan int)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for number := range numbers {
				ctx, cancel := context.WithCancel(t.Context())
				if number%10 == 0 {
					cancel()
				}
				_, err := stampgate.Submit(ctx, policies.CreatePolicies, &stampgatev1.CreatePoliciesRequest{})
				if isCancelled := number%10 == 0; isCancelled != (err != nil) {
					t.Errorf("submit %d ended with %v", number, err)
				}
				cancel()
			}
		})
	}
	for number := range submits {
		numbers <- number
	}
	close(numbers)
	group.Wait()
	checkNoneLeaked(t, before)
}

func TestNoGoroutineIsLeftAfterASubscription(t *testing.T) {
	gateway, before := connected(t)
	gateway.Answer(subscribe,
		stampgatetest.Answer{Messages: []proto.Message{message("start")}, Err: broken.Err},
		stampgatetest.OK(message("start"), message("after last", "last")))
	_, err := read(t, gateway, new(stampgate.MemoryCursor))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	checkNoneLeaked(t, before)
	events := stampgatev1.NewEventServiceClient(gateway.Conn)
	for range stampgate.Subscribe(t.Context(), events, nil, new(stampgate.MemoryCursor)) {
		break
	}
	checkNoneLeaked(t, before)
}

func TestNoGoroutineIsLeftAfterClose(t *testing.T) {
	_, server, address := serve(t)
	before := runtime.NumGoroutine()
	for range 20 {
		conn, err := stampgate.Dial(address)
		if err != nil {
			t.Fatal(err)
		}
		policies := stampgatev1.NewPolicyServiceClient(conn)
		_, err = stampgate.Submit(t.Context(), policies.CreatePolicies, &stampgatev1.CreatePoliciesRequest{})
		checkEqual(t, err, nil)
		conn.Close()
	}
	server.GracefulStop()
	checkNoneLeaked(t, before)
}
