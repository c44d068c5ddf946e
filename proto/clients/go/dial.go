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
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

//go:embed VERSION
var version string

//go:embed service_config.json
var serviceConfig string

// Dial returns a connection to the gateway: plaintext unless the options contain TLSFiles. The options replace the
// settings of this package, and may be any of grpc's own. Calls on the connection fail with *Error.
func Dial(address string, options ...grpc.DialOption) (*grpc.ClientConn, error) {
	reconnections := backoff.DefaultConfig
	reconnections.MaxDelay = maxPause
	settings := []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(serviceConfig),
		// A service config from DNS could repeat submits.
		grpc.WithDisableServiceConfig(),
		// The gateway ends connections that send pings more often than every 30 seconds.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time: 45 * time.Second, Timeout: 15 * time.Second, PermitWithoutStream: true,
		}),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: reconnections, MinConnectTimeout: 20 * time.Second}),
		grpc.WithUserAgent("stampgate-go/" + version),
	}
	settings = append(settings, options...)
	// These follow the caller's own interceptors, and the deadline follows the caller's DefaultDeadline.
	settings = append(settings, DefaultDeadline(30*time.Second),
		grpc.WithChainUnaryInterceptor(repeatSubmit, callUnary), grpc.WithChainStreamInterceptor(callStream))
	return grpc.NewClient(address, settings...)
}

// DefaultDeadline limits each unary call, and each whole Submit, whose context has no deadline. Without this option, the
// limit is 30 seconds.
func DefaultDeadline(limit time.Duration) grpc.DialOption {
	return grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, request, response any,
		conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
		if _, isSet := ctx.Deadline(); isSet {
			return invoke(ctx, method, request, response, conn, options...)
		}
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return invoke(ctx, method, request, response, conn, options...)
	})
}

// TLSFiles makes TLS connections. Each file is PEM, and is read for each new connection, so that the files can be
// replaced at any time. certificate and key may be empty if the gateway requires no client certificate.
func TLSFiles(ca, certificate, key string) grpc.DialOption {
	return grpc.WithTransportCredentials(tlsFiles{credentials.NewTLS(nil), ca, certificate, key})
}

type tlsFiles struct {
	credentials.TransportCredentials // for everything except handshakes
	ca, certificate, key             string
}

func (f tlsFiles) Clone() credentials.TransportCredentials { return f }

func (f tlsFiles) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (
	net.Conn, credentials.AuthInfo, error) {
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	ca, err := os.ReadFile(f.ca)
	if err == nil && !config.RootCAs.AppendCertsFromPEM(ca) {
		err = fmt.Errorf("%s contains no certificate", f.ca)
	}
	if err == nil && f.certificate != "" {
		config.Certificates = make([]tls.Certificate, 1)
		config.Certificates[0], err = tls.LoadX509KeyPair(f.certificate, f.key)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("tls: %w", err)
	}
	secured, info, err := credentials.NewTLS(config).ClientHandshake(ctx, authority, conn)
	if err != nil {
		return nil, nil, err
	}
	return tlsConn{secured}, info, nil
}

// tlsConn is a connection whose writes fail with the gateway's reason if it has refused the client's certificate. With
// TLS 1.3, the refusal comes after the client's handshake, and a write could learn only that the connection has closed.
type tlsConn struct{ net.Conn }

func (c tlsConn) Write(bytes []byte) (int, error) {
	written, err := c.Conn.Write(bytes)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		if _, cause := c.Read(make([]byte, 1)); cause != nil {
			err = cause
		}
	}
	return written, err
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
	return map[string]string{"authorization": "Bearer " + token}, err
}

func (tokenSource) RequireTransportSecurity() bool { return true }
