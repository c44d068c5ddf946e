#include "gateway/door/handshake_failures.h"

#include <openssl/crypto.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <array>
#include <atomic>

#include "gateway/door/caller_check.h"

namespace stampgate {
namespace {

std::array<std::atomic<int64_t>, kHandshakeFailureCount> failed = {};

// Called by SSL_free. The state and the result of the verification are as they were, but newer releases of OpenSSL have
// already freed what the client has negotiated.
void Count(void* parent, void* /*data*/, CRYPTO_EX_DATA* /*all*/, int /*index*/, long /*l*/, void* /*p*/) {
  const auto* ssl = static_cast<const SSL*>(parent);
  if (SSL_is_server(ssl) == 0 || (SSL_get_verify_mode(ssl) & SSL_VERIFY_FAIL_IF_NO_PEER_CERT) == 0) return;
  // A connection that fails later is in this state too.
  if (SSL_get_state(ssl) == TLS_ST_OK) return;
  ++failed[static_cast<size_t>(FailureOf(*ssl))];
}

}  // namespace

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

absl::Status CountFailedHandshakes() {
  static const int index = CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_SSL, 0, nullptr, nullptr, nullptr, &Count);
  return index >= 0 ? absl::OkStatus() : absl::ResourceExhaustedError("OpenSSL lets nobody look at connections");
}

void CountWithoutHttp2() { ++failed[static_cast<size_t>(HandshakeFailure::kHelloRefused)]; }

int64_t FailedHandshakes(HandshakeFailure how) { return failed[static_cast<size_t>(how)]; }

}  // namespace stampgate
