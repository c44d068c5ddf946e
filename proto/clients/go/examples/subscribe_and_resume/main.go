// Prints all events until Ctrl-C, and continues after the last one when it is started again:
// subscribe_and_resume [ADDRESS [CURSOR_FILE]].
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"

	stampgate "stampgate.dev/client"
	"stampgate.dev/client/stampgatev1"
)

// read returns the error that ends the subscription.
func read(ctx context.Context, events stampgatev1.EventServiceClient, cursor stampgate.FileCursor) error {
	for event, err := range stampgate.Subscribe(ctx, events, nil, cursor) {
		if err != nil {
			return err
		}
		// A crash before the cursor is saved repeats the event: processing it twice must do no harm.
		fmt.Println(event.GetEventId(), event.GetType(), event.GetActivity().GetStatus())
	}
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
	events := stampgatev1.NewEventServiceClient(conn)
	cursor := stampgate.FileCursor(argument(2, "go.cursor"))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	for {
		err := read(ctx, events, cursor)
		if ctx.Err() != nil {
			return // after Ctrl-C
		}
		var gap *stampgate.Gap
		if !errors.As(err, &gap) {
			log.Fatal(err)
		}
		if gap.Cursor == "" {
			log.Fatalf("%v; delete %s to begin again", gap, cursor)
		}
		// Events are missing. This subscriber accepts that, and continues after the gap. Another one would stop here.
		log.Print(gap)
		if err := cursor.Save(gap.Cursor); err != nil {
			log.Fatal(err)
		}
	}
}
