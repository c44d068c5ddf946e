#include "gateway/grpc_port/handshake_failure.h"

#include <openssl/x509.h>

#include "gateway/grpc_port/caller_check.h"

namespace stampgate {

absl::string_view NameOf(HandshakeFailure failure) {
  switch (failure) {
    case HandshakeFailure::kNoHello:
      return "no_hello";
    case HandshakeFailure::kHelloRefused:
      return "hello_refused";
    case HandshakeFailure::kNoCertificate:
      return "no_certificate";
    case HandshakeFailure::kCertificateRefused:
      return "certificate_refused";
    case HandshakeFailure::kUnfinished:
      return "unfinished";
    case HandshakeFailure::kNoCaller:
      return "no_caller";
  }
  return "";
}

HandshakeFailure FailureOf(const SSL& ssl) {
  if (SSL_get_state(&ssl) == TLS_ST_BEFORE) return HandshakeFailure::kNoHello;
  if (SSL_get_verify_result(&ssl) == kNoCallerError) return HandshakeFailure::kNoCaller;
  if (SSL_get_verify_result(&ssl) != X509_V_OK) return HandshakeFailure::kCertificateRefused;
  switch (SSL_get_state(&ssl)) {
    case TLS_ST_SR_CLNT_HELLO:
    case TLS_ST_OK:
      return HandshakeFailure::kHelloRefused;
    case TLS_ST_SR_CERT:
      return SSL_get0_peer_certificate(&ssl) == nullptr ? HandshakeFailure::kNoCertificate
                                                        : HandshakeFailure::kUnfinished;
    default:
      return HandshakeFailure::kUnfinished;
  }
}

}  // namespace stampgate
