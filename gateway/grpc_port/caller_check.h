// Refuses certificates of no caller during the TLS handshake.
#ifndef STAMPGATE_GATEWAY_GRPC_PORT_CALLER_CHECK_H_
#define STAMPGATE_GATEWAY_GRPC_PORT_CALLER_CHECK_H_

#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <functional>
#include <optional>
#include <string>

#include "gateway/callers/peer.h"

namespace stampgate {

// The error of a handshake in which a CallerCheck has refused the certificate; see SSL_get_verify_result. OpenSSL then
// sends the alert bad_certificate. The checks of OpenSSL itself do not return this error, because no CA of the gateway
// has trust settings.
inline constexpr long kNoCallerError = X509_V_ERR_CERT_REJECTED;

// The check in one handshake. It must outlive the handshake. Not thread-safe.
class CallerCheck {
 public:
  // A client's certificate that OpenSSL or the check has refused.
  struct Refused {
    Peer peer;          // the owner, if the certificate is valid; otherwise a stranger
    std::string names;  // NamesForLog of the certificate
    std::string why;    // the cause, and what the operator or the issuer can do
  };

  // `is_caller` returns whether the config has a caller with this identity.
  explicit CallerCheck(const std::function<bool(const Peer&)>& is_caller) : is_caller_(is_caller) {}

  // Makes the handshake of `ssl` fail if a certificate that is valid otherwise belongs to no caller. Call it before the
  // handshake.
  void Begin(SSL* ssl);

  // Call it after the handshake if `ssl` can outlive this object.
  static void End(SSL* ssl);

  const std::optional<Refused>& refused() const { return refused_; }

 private:
  static int Verify(int is_valid, X509_STORE_CTX* store);
  bool Accepts(bool is_valid, X509_STORE_CTX* store);

  const std::function<bool(const Peer&)>& is_caller_;
  std::optional<Refused> refused_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_GRPC_PORT_CALLER_CHECK_H_
