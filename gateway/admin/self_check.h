// A call that the process makes to its own gRPC port.
//
// gRPC 1.51 stops accepting connections for good once it has found no free descriptor. Only a new connection reveals
// this: the kernel still completes connections, and open ones still work.
#ifndef STAMPGATE_GATEWAY_ADMIN_SELF_CHECK_H_
#define STAMPGATE_GATEWAY_ADMIN_SELF_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace stampgate {

// Opens a new connection to the gRPC server that listens at `address`, in plaintext, and calls
// grpc.health.v1.Health/Check. Any health status is accepted. If the server listens on all addresses, connects to the
// loopback one. Blocks for at most `timeout`. Errors: kInvalidArgument for an address that ParseListenAddress refuses,
// kUnavailable.
absl::Status CheckPlaintextPort(const std::string& address, absl::Duration timeout);

// The same for a server that requires client certificates, which this process does not have: begins a TLS handshake,
// and succeeds when the server has sent its part and requested a certificate. SIGPIPE must be ignored.
absl::Status CheckTlsPort(const std::string& address, absl::Duration timeout);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_ADMIN_SELF_CHECK_H_
