// A call that the process makes to its own gRPC port.
//
// gRPC 1.51 stops to accept connections for good once it has found no free descriptor, and nothing but a new connection
// shows it: the kernel still completes those, and those that are up still work.
#ifndef STAMPGATE_GATEWAY_ADMIN_SELF_CHECK_H_
#define STAMPGATE_GATEWAY_ADMIN_SELF_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace stampgate {

// Connects anew to the gRPC server that listens at `address`, in plaintext, and calls grpc.health.v1.Health/Check. Any
// status of health will do. For a server on all addresses, the loopback one is called. Blocks, no longer than
// `timeout`. Errors: kInvalidArgument for an address that ParseListenAddress does not take, kUnavailable.
absl::Status CheckPlaintextPort(const std::string& address, absl::Duration timeout);

// The same for a server that asks for client certificates, of which the process has none: begins a TLS handshake, and
// is content when the server has sent its part and wants a certificate. SIGPIPE must be ignored.
absl::Status CheckTlsPort(const std::string& address, absl::Duration timeout);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_ADMIN_SELF_CHECK_H_
