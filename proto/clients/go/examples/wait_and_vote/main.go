// Proposes a change that needs votes, approves it, and waits until it has been carried out.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"google.golang.org/protobuf/proto"

	stampgate "stampgate.dev/client"
	"stampgate.dev/client/stampgatev1"
)

const organization = "11111111-2222-4333-8444-555555555555"

func main() {
	address := "127.0.0.1:7443"
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	conn, err := stampgate.Dial(address)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	organizations := stampgatev1.NewOrganizationServiceClient(conn)
	request := &stampgatev1.UpdateOrganizationNameRequest{
		IdempotencyKey: proto.String("rename-1"),
		OrganizationId: organization,
		Parameters:     &stampgatev1.UpdateOrganizationNameParameters{OrganizationName: "Example Ltd"},
	}

	_, err = stampgate.Submit(ctx, organizations.UpdateOrganizationName, request)
	var pending *stampgate.ActivityPending
	if !errors.As(err, &pending) {
		log.Fatalf("expected an activity that needs votes, got %v", err)
	}
	fmt.Println(pending.Activity.GetStatus())

	// A vote names the activity by its fingerprint. In production, another caller votes, after it has read the intent.
	activities := stampgatev1.NewActivityServiceClient(conn)
	_, err = stampgate.Submit(ctx, activities.ApproveActivity, &stampgatev1.ApproveActivityRequest{
		OrganizationId: organization,
		Parameters:     &stampgatev1.ApproveActivityParameters{Fingerprint: pending.Activity.GetFingerprint()},
	})
	if err != nil && !errors.As(err, &pending) { // More votes may be needed.
		log.Fatal(err)
	}

	// The same key: upstream does not act again, and the call waits for the end of the activity.
	request.WaitUntil = stampgatev1.WaitUntil_WAIT_UNTIL_FINAL.Enum()
	response, err := stampgate.Submit(ctx, organizations.UpdateOrganizationName, request)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(response.GetActivity().GetStatus())
}
