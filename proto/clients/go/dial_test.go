package stampgate_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"

	stampgate "stampgate.dev/client"
	"stampgate.dev/client/stampgatev1"
)

// gatewayStub answers every submit with a completed activity, and keeps what it has received last.
type gatewayStub struct {
	stampgatev1.UnimplementedPolicyServiceServer
	deadline time.Duration
	headers  metadata.MD
}

func (s *gatewayStub) CreatePolicies(ctx context.Context, _ *stampgatev1.CreatePoliciesRequest) (
	*stampgatev1.CreatePoliciesResponse, error) {
	deadline, _ := ctx.Deadline()
	s.deadline = time.Until(deadline)
	s.headers, _ = metadata.FromIncomingContext(ctx)
	return &stampgatev1.CreatePoliciesResponse{Activity: &stampgatev1.Activity{
		Status: stampgatev1.ActivityStatus_ACTIVITY_STATUS_COMPLETED}}, nil
}

// serve starts a server on a port, and returns its address.
func serve(t testing.TB, options ...grpc.ServerOption) (*gatewayStub, *grpc.Server, string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	stub, server := &gatewayStub{}, grpc.NewServer(options...)
	stampgatev1.RegisterPolicyServiceServer(server, stub)
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	return stub, server, listener.Addr().String()
}

// dial returns a connection, and what its calls return.
func dial(t testing.TB, address string, options ...grpc.DialOption) func(context.Context) error {
	t.Helper()
	conn, err := stampgate.Dial(address, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	policies := stampgatev1.NewPolicyServiceClient(conn)
	return func(ctx context.Context) error {
		_, err := stampgate.Submit(ctx, policies.CreatePolicies, &stampgatev1.CreatePoliciesRequest{})
		return err
	}
}

func TestACallHasADeadlineAndTheUserAgent(t *testing.T) {
	stub, _, address := serve(t)
	conn, err := stampgate.Dial(address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	policies := stampgatev1.NewPolicyServiceClient(conn)
	if _, err := policies.CreatePolicies(t.Context(), &stampgatev1.CreatePoliciesRequest{}); err != nil {
		t.Fatal(err)
	}
	if stub.deadline < 20*time.Second || stub.deadline > 30*time.Second {
		t.Errorf("the deadline is %v", stub.deadline)
	}
	if agent := strings.Join(stub.headers.Get("user-agent"), ""); !strings.HasPrefix(agent, "stampgate-go/") {
		t.Errorf("the user agent is %q", agent)
	}
}

func TestTheDefaultDeadlineEndsACallAndASubmitWithoutOne(t *testing.T) {
	stub, _, address := serve(t)
	conn, err := stampgate.Dial(address, stampgate.DefaultDeadline(2*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	policies := stampgatev1.NewPolicyServiceClient(conn)
	long, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for ctx, limit := range map[context.Context]time.Duration{t.Context(): 2 * time.Second, long: time.Minute} {
		if _, err := policies.CreatePolicies(ctx, &stampgatev1.CreatePoliciesRequest{}); err != nil {
			t.Fatal(err)
		}
		if stub.deadline > limit || stub.deadline < limit/2 {
			t.Errorf("the deadline of a call is %v", stub.deadline)
		}
	}
	if _, err := stampgate.Submit(t.Context(), policies.CreatePolicies, &stampgatev1.CreatePoliciesRequest{}); err != nil {
		t.Fatal(err)
	}
	if stub.deadline > 2*time.Second {
		t.Errorf("the deadline of a submit is %v", stub.deadline)
	}
}

// authority is a certificate authority of a test.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t}
	der, key := a.sign(&x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	a.cert, a.key = cert, key
	return a
}

// sign returns a new certificate and its key. The first certificate of an authority is its own.
func (a *authority) sign(template *x509.Certificate) ([]byte, *ecdsa.PrivateKey) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	issuer, issuerKey := a.cert, a.key
	if issuer == nil {
		issuer, issuerKey = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, key.Public(), issuerKey)
	if err != nil {
		a.t.Fatal(err)
	}
	return der, key
}

// write writes the authority's certificate, and a client certificate with this name.
func (a *authority) write(folder, name string) {
	der, key := a.sign(&x509.Certificate{DNSNames: []string{name}, Subject: pkix.Name{CommonName: name},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{
		"ca": {Type: "CERTIFICATE", Bytes: a.cert.Raw}, "crt": {Type: "CERTIFICATE", Bytes: der},
		"key": {Type: "PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(filepath.Join(folder, file), pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
}

// serveTLS starts a server that accepts the client certificates of the authority, and appends their names to seen.
func (a *authority) serveTLS(seen *[]string) (*gatewayStub, *grpc.Server, string) {
	der, key := a.sign(&x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	return serve(a.t, grpc.Creds(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: roots,
		VerifyPeerCertificate: func(_ [][]byte, chains [][]*x509.Certificate) error {
			*seen = append(*seen, chains[0][0].Subject.CommonName)
			return nil
		},
	})))
}

func tlsFilesIn(folder string) grpc.DialOption {
	return stampgate.TLSFiles(filepath.Join(folder, "ca"), filepath.Join(folder, "crt"), filepath.Join(folder, "key"))
}

func TestReplacedTLSFilesAreUsedForTheNextConnection(t *testing.T) {
	folder := t.TempDir()
	var seen []string
	first, second := newAuthority(t), newAuthority(t)
	first.write(folder, "one")
	_, server, address := first.serveTLS(&seen)
	call := dial(t, "passthrough:///gateway", tlsFilesIn(folder), grpc.WithAuthority("127.0.0.1"),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		}))
	if err := call(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Both the authority of the gateway and the client's certificate change.
	second.write(folder, "two")
	_, _, address = second.serveTLS(&seen)
	server.Stop()
	if err := call(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkEqual(t, strings.Join(seen, " "), "one two")
}

func TestATLSFailureEndsASubmitSoonWithItsCause(t *testing.T) {
	var seen []string
	authority, stranger := newAuthority(t), newAuthority(t)
	_, _, address := authority.serveTLS(&seen)
	untrusting, untrusted, missing := t.TempDir(), t.TempDir(), t.TempDir()
	stranger.write(untrusting, "one")
	stranger.write(untrusted, "one")
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.cert.Raw})
	if err := os.WriteFile(filepath.Join(untrusted, "ca"), ca, 0o600); err != nil {
		t.Fatal(err)
	}
	for folder, cause := range map[string]string{
		untrusting: "certificate signed by unknown authority", untrusted: "remote error: tls:", missing: "no such file",
	} {
		begin := time.Now()
		err := dial(t, address, tlsFilesIn(folder))(t.Context())
		var got *stampgate.Error
		if !errors.As(err, &got) || got.Code != codes.Unavailable || !strings.Contains(got.Message, cause) {
			t.Errorf("got %v, want %q", err, cause)
		}
		if took := time.Since(begin); took > 15*time.Second {
			t.Errorf("the submit took %v", took)
		}
	}
}

func TestAGatewayThatDoesNotListenIsNoUnknownOutcome(t *testing.T) {
	_, server, address := serve(t)
	server.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	err := dial(t, address)(ctx)
	var got *stampgate.Error
	if !errors.As(err, &got) || got.Code != codes.Unavailable {
		t.Errorf("got %v", err)
	}
}

func TestANameThatIsNotFoundIsNoUnknownOutcome(t *testing.T) {
	names := manual.NewBuilderWithScheme("names")
	names.BuildCallback = func(_ resolver.Target, conn resolver.ClientConn, _ resolver.BuildOptions) {
		conn.ReportError(errors.New("no such host"))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	err := dial(t, "names:///gateway:7443", grpc.WithResolvers(names))(ctx)
	var got *stampgate.Error
	if !errors.As(err, &got) || got.Code != codes.Unavailable {
		t.Errorf("got %v", err)
	}
}

func TestAGatewayThatStopsListeningDuringASubmitIsAnUnknownOutcome(t *testing.T) {
	stop := make(chan func(), 1)
	_, server, address := serve(t, grpc.UnaryInterceptor(
		func(ctx context.Context, _ any, _ *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
			go (<-stop)()
			<-ctx.Done()
			return nil, ctx.Err()
		}))
	stop <- server.Stop
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	err := dial(t, address)(ctx)
	var got *stampgate.OutcomeUnknown
	if !errors.As(err, &got) || !strings.Contains(got.Last.Message, "connection refused") {
		t.Errorf("got %v", err)
	}
}

func TestAnInterceptorOfTheCallerMayWrapTheErrorOfASubmit(t *testing.T) {
	_, _, address := serve(t, grpc.UnaryInterceptor(
		func(context.Context, any, *grpc.UnaryServerInfo, grpc.UnaryHandler) (any, error) {
			return nil, status.Error(codes.Unavailable, "broken")
		}))
	wrap := func(ctx context.Context, method string, request, response any, conn *grpc.ClientConn,
		invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
		return fmt.Errorf("wrapped: %w", invoke(ctx, method, request, response, conn, options...))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	err := dial(t, address, grpc.WithChainUnaryInterceptor(wrap))(ctx)
	var got *stampgate.OutcomeUnknown
	if !errors.As(err, &got) || got.Last == nil {
		t.Errorf("got %v", err)
	}
}

func TestATokenIsReadForEachCallAndOnlySentOverTLS(t *testing.T) {
	folder := t.TempDir()
	var seen []string
	authority := newAuthority(t)
	authority.write(folder, "one")
	stub, _, address := authority.serveTLS(&seen)
	file := filepath.Join(folder, "token")
	call := dial(t, address, tlsFilesIn(folder), stampgate.TokenFile(file))
	for _, token := range []string{"first", "second"} {
		if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := call(t.Context()); err != nil {
			t.Fatal(err)
		}
		checkEqual(t, stub.headers.Get("authorization"), []string{"Bearer " + token})
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := call(t.Context()); err == nil {
		t.Error("a call without a token is made")
	}
	if _, err := stampgate.Dial(address, stampgate.TokenFile(file)); err == nil {
		t.Error("a token is sent without TLS")
	}
}

// benchmark measures calls over a connection of Dial or, with bare, over one without this package's settings.
func benchmark(b *testing.B, bare bool, call func(stampgatev1.PolicyServiceClient, *stampgatev1.CreatePoliciesRequest) error) {
	_, _, address := serve(b)
	conn, err := stampgate.Dial(address)
	if bare {
		conn, err = grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	}
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	policies := stampgatev1.NewPolicyServiceClient(conn)
	request := &stampgatev1.CreatePoliciesRequest{OrganizationId: "11111111-2222-4333-8444-555555555555",
		Parameters: &stampgatev1.CreatePoliciesParameters{Policies: []*stampgatev1.PolicyToCreate{{PolicyName: "one"}}}}
	begin := cpu(b)
	for b.Loop() {
		if err := call(policies, request); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((cpu(b)-begin).Nanoseconds())/float64(b.N), "cpu-ns/op")
}

// cpu returns the CPU time of this process.
func cpu(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func BenchmarkBareStub(b *testing.B) {
	benchmark(b, true, func(policies stampgatev1.PolicyServiceClient, request *stampgatev1.CreatePoliciesRequest) error {
		ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
		defer cancel()
		_, err := policies.CreatePolicies(ctx, request)
		return err
	})
}

func BenchmarkStubOfDial(b *testing.B) {
	benchmark(b, false, func(policies stampgatev1.PolicyServiceClient, request *stampgatev1.CreatePoliciesRequest) error {
		_, err := policies.CreatePolicies(b.Context(), request)
		return err
	})
}

func BenchmarkSubmit(b *testing.B) {
	benchmark(b, false, func(policies stampgatev1.PolicyServiceClient, request *stampgatev1.CreatePoliciesRequest) error {
		_, err := stampgate.Submit(b.Context(), policies.CreatePolicies, request)
		return err
	})
}
