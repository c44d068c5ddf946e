// How far a failed TLS handshake of a caller came.
#ifndef STAMPGATE_GATEWAY_GRPC_PORT_HANDSHAKE_FAILURE_H_
#define STAMPGATE_GATEWAY_GRPC_PORT_HANDSHAKE_FAILURE_H_

#include <openssl/ssl.h>

#include <cstddef>

#include "absl/strings/string_view.h"

namespace stampgate {

enum class HandshakeFailure : size_t {
  kNoHello,             // the first bytes were not TLS, or no bytes arrived in time
  kHelloRefused,        // the client offered nothing that the gateway accepts, such as TLS 1.1 alone, or no HTTP/2
  kNoCertificate,       // the client sent no certificate
  kCertificateRefused,  // no authority of the config has issued the certificate, or it is not valid now and for clients
  kUnfinished,          // the client left or stopped sending in the middle
  kNoCaller,            // the config has no caller with the identity of the client's valid certificate
};

// Returns the name of the failure for metrics and the log; empty for a number that is no failure.
absl::string_view NameOf(HandshakeFailure failure);

// Returns how far a handshake of a server came that has failed, or whose client has not chosen HTTP/2.
HandshakeFailure FailureOf(const SSL& ssl);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_GRPC_PORT_HANDSHAKE_FAILURE_H_
