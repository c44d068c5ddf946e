package stampgate_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	stampgate "stampgate.dev/client"
	"stampgate.dev/client/stampgatev1"
)

// faultyNetwork forwards connections to address, and resets each of them after a random number of bytes.
type faultyNetwork struct {
	listener net.Listener
	address  string
	mutex    sync.Mutex
	open     int
	resets   int
}

func (n *faultyNetwork) serve() {
	for {
		client, err := n.listener.Accept()
		if err != nil {
			return
		}
		n.count(1, 0)
		go n.forward(client)
	}
}

func (n *faultyNetwork) count(open, resets int) (nowOpen int) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.open += open
	n.resets += resets
	return n.open
}

func (n *faultyNetwork) forward(client net.Conn) {
	defer n.count(-1, 0)
	defer client.Close()
	gateway, err := net.Dial("tcp", n.address)
	if err != nil {
		return
	}
	defer gateway.Close()
	isReset := make(chan bool, 2)
	limited := func(to, from net.Conn) {
		bytes := int64(200 + rand.IntN(10_000))
		copied, _ := io.CopyN(to, from, bytes)
		isReset <- copied == bytes
	}
	go limited(gateway, client)
	go limited(client, gateway)
	if <-isReset {
		n.count(0, 1)
		client.(*net.TCPConn).SetLinger(0)
	}
}

// STAMPGATE_ADDRESS is the address of a gateway. The names of the organization are those of the submits, so that upstream's
// requests show whether each of them was carried out once.
func TestSubmitsThroughAFaultyNetworkEndWithAResultOrATypedError(t *testing.T) {
	address := os.Getenv("STAMPGATE_ADDRESS")
	if address == "" {
		t.Skip("STAMPGATE_ADDRESS is not set")
	}
	const submits, workers = 200, 8
	goroutines := runtime.NumGoroutine()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	network := &faultyNetwork{listener: listener, address: address}
	go network.serve()
	conn, err := stampgate.Dial(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	organizations := stampgatev1.NewOrganizationServiceClient(conn)
	numbers := make(chan int)
	var workersLeft sync.WaitGroup
	for range workers {
		workersLeft.Go(func() {
			for number := range numbers {
				ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
				_, err := stampgate.Submit(ctx, organizations.UpdateOrganizationName, &stampgatev1.UpdateOrganizationNameRequest{
					OrganizationId: "11111111-2222-4333-8444-555555555555",
					Parameters:     &stampgatev1.UpdateOrganizationNameParameters{OrganizationName: fmt.Sprint("submit ", number)},
				})
				cancel()
				var refused *stampgate.Error
				var unknown *stampgate.OutcomeUnknown
				switch {
				case err == nil:
					fmt.Printf("completed: submit %d\n", number)
				case errors.As(err, &refused), errors.As(err, &unknown):
					fmt.Printf("not completed: submit %d: %v\n", number, err)
				default:
					t.Errorf("submit %d ended with %v", number, err)
				}
			}
		})
	}
	for number := range submits {
		numbers <- number
	}
	close(numbers)
	workersLeft.Wait()
	conn.Close()
	listener.Close()
	checkNoneLeaked(t, goroutines)
	checkEqual(t, network.count(0, 0), 0)
	if network.resets < 20 {
		t.Errorf("the network has reset only %d connections", network.resets)
	}
	fmt.Printf("resets: %d\n", network.resets)
}
