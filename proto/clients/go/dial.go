// Package stampgate calls a stampgate gateway: connections with settings that the gateway accepts, submits that are safe
// to repeat, errors as a type, subscriptions that resume, and end users' stamps.
//
// The package hides nothing: Dial returns a *grpc.ClientConn for the generated clients of package stampgatev1, and
// Submit and Subscribe call a method of such a client.
package stampgate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	_ "embed"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
)

// DefaultDeadline limits a unary call, and a whole Submit, if the context has no deadline.
const DefaultDeadline = 30 * time.Second

//go:embed VERSION
var version string

//go:embed service_config.json
var serviceConfig string

// Dial returns a connection to the gateway: plaintext unless the options contain TLSFiles. The options replace the
// settings of this package, and may be any of grpc's own. Calls on the connection fail with *Error.
func Dial(address string, options ...grpc.DialOption) (*grpc.ClientConn, error) {
	settings := []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(serviceConfig),
		// A service config from DNS could repeat submits.
		grpc.WithDisableServiceConfig(),
		// The gateway ends connections that send pings more often than every 30 seconds.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time: 45 * time.Second, Timeout: 15 * time.Second, PermitWithoutStream: true,
		}),
		grpc.WithUserAgent("stampgate-go/" + version),
	}
	settings = append(settings, options...)
	// As the last interceptors, these convert errors before the caller's own interceptors get them.
	settings = append(settings, grpc.WithChainUnaryInterceptor(callUnary), grpc.WithChainStreamInterceptor(callStream))
	return grpc.NewClient(address, settings...)
}

// TLSFiles makes TLS connections. Each file is PEM, and is read for each new connection, so that the files can be
// replaced at any time. certificate and key may be empty if the gateway requires no client certificate.
func TLSFiles(ca, certificate, key string) grpc.DialOption {
	return grpc.WithTransportCredentials(&tlsFiles{credentials.NewTLS(nil), ca, certificate, key})
}

type tlsFiles struct {
	credentials.TransportCredentials // for everything except handshakes
	ca, certificate, key             string
}

func (f *tlsFiles) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (
	net.Conn, credentials.AuthInfo, error) {
	config, err := f.read()
	if err != nil {
		return nil, nil, err
	}
	return credentials.NewTLS(config).ClientHandshake(ctx, authority, conn)
}

func (f *tlsFiles) Clone() credentials.TransportCredentials {
	clone := *f
	clone.TransportCredentials = f.TransportCredentials.Clone()
	return &clone
}

func (f *tlsFiles) read() (*tls.Config, error) {
	ca, err := os.ReadFile(f.ca)
	if err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	config := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	if !config.RootCAs.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("tls: %s contains no certificate", f.ca)
	}
	if f.certificate != "" {
		pair, err := tls.LoadX509KeyPair(f.certificate, f.key)
		if err != nil {
			return nil, fmt.Errorf("tls: %s and %s: %w", f.certificate, f.key, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// TokenFile sends the bearer token in this file with each call, and reads the file for each call. Requires TLSFiles.
func TokenFile(path string) grpc.DialOption {
	return Token(func(context.Context) (string, error) {
		text, err := os.ReadFile(path)
		return strings.TrimSpace(string(text)), err
	})
}

// Token sends the bearer token that source returns for each call. Requires TLSFiles.
func Token(source func(context.Context) (string, error)) grpc.DialOption {
	return grpc.WithPerRPCCredentials(tokenSource(source))
}

type tokenSource func(context.Context) (string, error)

func (s tokenSource) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	token, err := s(ctx)
	if err != nil {
		return nil, err
	}
	return map[string]string{"authorization": "Bearer " + token}, nil
}

func (tokenSource) RequireTransportSecurity() bool { return true }

func withDefaultDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, hasDeadline := ctx.Deadline(); hasDeadline {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, DefaultDeadline)
}

func callUnary(ctx context.Context, method string, request, response any, conn *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	ctx, cancel := withDefaultDeadline(ctx)
	defer cancel()
	var trailer metadata.MD
	var gateway peer.Peer // gRPC sets the address when the call has a connection.
	err := invoke(ctx, method, request, response, conn,
		append(slices.Clip(options), grpc.Trailer(&trailer), grpc.Peer(&gateway))...)
	if err == nil {
		return nil
	}
	typed := errorOf(err, trailer)
	typed.isUnsent = gateway.Addr == nil
	return typed
}

func callStream(ctx context.Context, description *grpc.StreamDesc, conn *grpc.ClientConn, method string,
	open grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
	stream, err := open(ctx, description, conn, method, options...)
	if err != nil {
		return nil, errorOf(err, nil)
	}
	return typedStream{stream}, nil
}

// typedStream converts the error that ends a stream.
type typedStream struct{ grpc.ClientStream }

func (s typedStream) RecvMsg(message any) error {
	err := s.ClientStream.RecvMsg(message)
	if err == nil || err == io.EOF {
		return err
	}
	return errorOf(err, s.Trailer())
}
