// Handles the events of a shared subscription until SIGTERM or Ctrl-C: consume [ADDRESS [SUBSCRIPTION]]. Run it several
// times: the programs divide the events.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"

	stampgate "stampgate.dev/client"
	"stampgate.dev/client/stampgatev1"
)

// handle prints an event. Doing this twice must do no harm. If it returns an error, the event is delivered again later.
func handle(_ context.Context, delivery *stampgatev1.Delivery) error {
	event := delivery.GetEvent()
	if event.GetType() != "ACTIVITY_UPDATES" {
		return stampgate.Park("this service handles no events of type " + event.GetType())
	}
	fmt.Println(event.GetEventId(), event.GetActivity().GetStatus())
	return nil
}

// argument returns an argument of the program, or value if there is no such argument.
func argument(index int, value string) string {
	if index < len(os.Args) {
		return os.Args[index]
	}
	return value
}

func main() {
	conn, err := stampgate.Dial(argument(1, "127.0.0.1:7443"))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	subscription := argument(2, "payouts")
	subscriptions := stampgatev1.NewSubscriptionServiceClient(conn)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	for {
		err := stampgate.Consume(ctx, subscriptions, subscription, handle, nil)
		if ctx.Err() != nil {
			return // after SIGTERM or Ctrl-C
		}
		var gap *stampgate.Gap
		if !errors.As(err, &gap) {
			log.Fatal(err)
		}
		// Events are missing. Read the current state from upstream, and continue after the gap.
		log.Print(gap)
	}
}
