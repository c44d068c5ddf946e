// A caller in a pod. It uses the Go package as any application does.
//
//	caller call ADDRESS          makes a query, and a submit twice with one key; prints the caller's user id, and the
//	                             ids of the two activities
//	caller load ADDRESS RATE     makes so many calls a second, alternately queries and submits, until SIGTERM; prints
//	                             a line of JSON for each
//	caller subscribe ADDRESS     prints the id of each event of a subscription from now on, after the line "subscribed", and
//	                             at last the error that ends the subscription
//	caller connect ADDRESS       prints "connected" or why it could not connect, after it has tried for eight seconds
//	caller resolve NAME          prints "resolved" or why it could not resolve the name, in the same way
//
// The TLS files are those of the secret in /tls. A pod without them has a sidecar that makes TLS connections for it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"

	"google.golang.org/protobuf/proto"

	stampgate "stampgate.dev/client"
	"stampgate.dev/client/stampgatev1"
)

const organization = "11111111-2222-4333-8444-555555555555"

// A network plugin learns of a new pod a moment after its start. Until then, it may refuse the pod what its policies
// allow, and allow it what they refuse.
const (
	settling = 8 * time.Second
	pause    = 200 * time.Millisecond
)

type client struct {
	authentication stampgatev1.AuthenticationServiceClient
	policies       stampgatev1.PolicyServiceClient
	events         stampgatev1.EventServiceClient
}

func dial(address string) client {
	conn := must(stampgate.Dial(address))
	if _, err := os.Stat("/tls"); err == nil {
		conn = must(stampgate.Dial(address, stampgate.TLSFiles("/tls/ca.crt", "/tls/tls.crt", "/tls/tls.key")))
	}
	return client{
		stampgatev1.NewAuthenticationServiceClient(conn),
		stampgatev1.NewPolicyServiceClient(conn),
		stampgatev1.NewEventServiceClient(conn),
	}
}

func (c client) query() (*stampgatev1.WhoamiResponse, error) {
	return c.authentication.Whoami(context.Background(), &stampgatev1.WhoamiRequest{OrganizationId: organization})
}

// settled makes queries until the network plugin knows the pod. Returns the response of the first one that succeeds.
func (c client) settled() *stampgatev1.WhoamiResponse {
	for begun := time.Now(); ; time.Sleep(pause) {
		response, err := c.query()
		if err == nil {
			return response
		}
		if time.Since(begun) > settling {
			log.Fatal(err)
		}
	}
}

// submit creates a policy with this name. The key may be nil.
func (c client) submit(name string, key *string) (*stampgatev1.CreatePoliciesResponse, error) {
	return stampgate.Submit(context.Background(), c.policies.CreatePolicies, &stampgatev1.CreatePoliciesRequest{
		IdempotencyKey: key,
		OrganizationId: organization,
		Parameters: &stampgatev1.CreatePoliciesParameters{Policies: []*stampgatev1.PolicyToCreate{{
			PolicyName: name, Effect: stampgatev1.Effect_EFFECT_ALLOW, Notes: proto.String(""),
		}}},
	})
}

func call(c client) {
	self := c.settled()
	first := must(c.submit("a call", proto.String("one-key")))
	second := must(c.submit("a call", proto.String("one-key")))
	fmt.Println(self.GetUserId(), first.GetActivity().GetId(), second.GetActivity().GetId())
}

// subscribe makes one call, which no package makes again.
func subscribe(c client) {
	c.settled()
	stream := must(c.events.Subscribe(context.Background(), &stampgatev1.SubscribeRequest{
		Start: &stampgatev1.SubscribeRequest_End{End: stampgatev1.LogEnd_LOG_END_LATEST},
	}))
	must(stream.Recv())
	fmt.Println("subscribed")
	for {
		message, err := stream.Recv()
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, event := range message.GetEvents() {
			fmt.Println(event.GetEventId())
		}
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

// ended is what `load` prints for a call.
type ended struct {
	Number  int   `json:"number"`
	BeginMs int64 `json:"begin_ms"`
	EndMs   int64 `json:"end_ms"`
	// Policy is the policy that a submit creates. Empty for a query.
	Policy string `json:"policy,omitempty"`
	Error  string `json:"error,omitempty"`
	// IsUnknown is whether the submit may have been carried out despite the error.
	IsUnknown bool `json:"is_unknown,omitempty"`
}

func load(c client, perSecond int) {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	ticks := time.Tick(time.Second / time.Duration(perSecond))
	results := make(chan ended, 1000)
	var running sync.WaitGroup
	go func() {
		for number := 0; ; number++ {
			select {
			case <-stop:
				running.Wait()
				close(results)
				return
			case <-ticks:
				running.Go(func() { results <- c.one(number) })
			}
		}
	}()
	output := json.NewEncoder(os.Stdout)
	for result := range results {
		output.Encode(result)
	}
}

// one makes a call: a query if the number is even, otherwise a submit.
func (c client) one(number int) ended {
	e := ended{Number: number, BeginMs: time.Now().UnixMilli()}
	var err error
	if number%2 == 0 {
		_, err = c.query()
	} else {
		e.Policy = fmt.Sprintf("load %d", number)
		_, err = c.submit(e.Policy, nil)
	}
	e.EndMs = time.Now().UnixMilli()
	if err != nil {
		var unknown *stampgate.OutcomeUnknown
		e.Error, e.IsUnknown = err.Error(), errors.As(err, &unknown)
	}
	return e
}

// try makes attempts until the network plugin knows the pod, and prints what the last one found: the word or an error.
// No earlier one counts.
func try(word string, attempt func(context.Context) error) {
	found := ""
	for begun := time.Now(); time.Since(begun) < settling; time.Sleep(pause) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		found = word
		if err := attempt(ctx); err != nil {
			found = err.Error()
		}
		cancel()
	}
	fmt.Println(found)
}

func main() {
	switch target := os.Args[2]; os.Args[1] {
	case "call":
		call(dial(target))
	case "load":
		load(dial(target), must(strconv.Atoi(os.Args[3])))
	case "subscribe":
		subscribe(dial(target))
	case "connect":
		try("connected", func(ctx context.Context) error {
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", target)
			if err == nil {
				conn.Close()
			}
			return err
		})
	case "resolve":
		try("resolved", func(ctx context.Context) error {
			_, err := net.DefaultResolver.LookupHost(ctx, target)
			return err
		})
	}
}
