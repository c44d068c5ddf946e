// Checks that the gRPC port of this process still accepts connections.
//
// After gRPC 1.51 has found no free file descriptor for a new connection, it never accepts connections again. Only a
// request over a new connection reveals this fault: open connections still work, and the kernel still completes the TCP
// handshake of new connections.
#ifndef STAMPGATE_GATEWAY_ADMIN_SELF_CHECK_H_
#define STAMPGATE_GATEWAY_ADMIN_SELF_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace stampgate {

// Opens a new connection without TLS to the gRPC server that listens at `address`, and calls
// grpc.health.v1.Health/Check. Returns OK for any health status. If the server listens on all addresses, connects to
// the loopback address. Blocks for at most `timeout`. Errors: kInvalidArgument if ParseListenAddress refuses `address`;
// kUnavailable if the server does not respond.
absl::Status CheckPlaintextPort(const std::string& address, absl::Duration timeout);

// Does the same as CheckPlaintextPort, for a server that requires client certificates. Because this process has no
// client certificate, CheckTlsPort only begins a TLS handshake, and returns OK when the server has requested a
// certificate. The process must ignore SIGPIPE.
absl::Status CheckTlsPort(const std::string& address, absl::Duration timeout);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_ADMIN_SELF_CHECK_H_
