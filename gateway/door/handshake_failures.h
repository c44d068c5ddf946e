// The TLS handshakes of callers that failed.
#ifndef STAMPGATE_GATEWAY_DOOR_HANDSHAKE_FAILURES_H_
#define STAMPGATE_GATEWAY_DOOR_HANDSHAKE_FAILURES_H_

#include <openssl/ssl.h>

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"

namespace stampgate {

// How far a handshake came.
enum class HandshakeFailure : size_t {
  kNoHello,             // the first bytes were no TLS, or no bytes arrived in time
  kHelloRefused,        // the client offered nothing that the gateway takes, such as TLS 1.1 alone, or no HTTP/2
  kNoCertificate,       // the client sent no certificate
  kCertificateRefused,  // none of the authorities' that is good now and for clients
  kUnfinished,          // the client went away or fell silent in the middle
  kNoCaller,            // the config has no caller with the identity of the client's valid certificate
};
inline constexpr size_t kHandshakeFailureCount = 6;

// From now on every connection of a TLS server that requires client certificates is counted here if its handshake has
// not ended well when it is closed. gRPC reports failed handshakes in its log alone, and there only those in which
// OpenSSL met a fault: not clients that fall silent. Thread-safe; once is enough. It must be done before the first such
// server.
absl::Status CountFailedHandshakes();

// Returns how far a handshake of a server came that has failed, or whose client has not chosen HTTP/2.
HandshakeFailure FailureOf(const SSL& ssl);

// Counts a client that has completed its handshake, but has not chosen HTTP/2. Thread-safe.
void CountWithoutHttp2();

// How many there were. Thread-safe.
int64_t FailedHandshakes(HandshakeFailure how);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_DOOR_HANDSHAKE_FAILURES_H_
