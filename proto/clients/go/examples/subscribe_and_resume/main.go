// Prints all events, and continues after the last one when it is started again.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

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
		fmt.Println(event.GetEventId(), event.GetType())
	}
	return nil
}

func main() {
	conn, err := stampgate.Dial("127.0.0.1:7443")
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	events := stampgatev1.NewEventServiceClient(conn)
	cursor := stampgate.FileCursor("cursor")
	for {
		err := read(context.Background(), events, cursor)
		var gap *stampgate.Gap
		if !errors.As(err, &gap) || gap.Cursor == "" {
			log.Fatal(err)
		}
		// Events are missing. This subscriber accepts that, and continues after the gap. Another one would stop here.
		log.Print(err)
		if err := cursor.Save(gap.Cursor); err != nil {
			log.Fatal(err)
		}
	}
}
