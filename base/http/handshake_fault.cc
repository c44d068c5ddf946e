#include "base/http/handshake_fault.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

// An alert from the client has this number added to its code.
constexpr int kAlert = SSL_AD_REASON_OFFSET;

// Returns null for a reason of which OpenSSL's own text must suffice.
const char* TextOf(int reason) {
  switch (reason) {
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
    case SSL_R_WRONG_VERSION_NUMBER:
      return "the first bytes are not TLS: the client speaks plaintext, so make it use TLS, or a proxy before this "
             "port sends the PROXY protocol";
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_VERSION_TOO_LOW:
    case kAlert + SSL_AD_PROTOCOL_VERSION:
      return "the client and the gateway share no version of TLS: the client must use TLS 1.2 or 1.3";
    case SSL_R_NO_SHARED_CIPHER:
      return "the client and the gateway share no cipher suite: the client must offer one with ECDHE and AES-GCM or "
             "ChaCha20";
    case SSL_R_NO_SUITABLE_KEY_SHARE:
    case SSL_R_NO_SUITABLE_GROUPS:
      return "the client and the gateway share no key exchange: the client must offer X25519 or P-256";
    case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
    case SSL_R_NO_SHARED_SIGNATURE_ALGORITHMS:
      return "the client accepts no signature that the gateway's certificate can make: change the kind of the key";
    case SSL_R_NO_APPLICATION_PROTOCOL:
      return "the client offers another protocol (ALPN) than this port serves: h2 for gRPC, http/1.1 for webhooks";
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return "the client has sent no certificate: give it a certificate and key that a CA of tls.client_ca_file has "
             "issued";
    case SSL_R_BAD_SIGNATURE:
      return "the client has proven no possession of its certificate's key: its certificate and key do not match";
    case kAlert + SSL_AD_UNKNOWN_CA:
    case kAlert + SSL_AD_BAD_CERTIFICATE:
    case kAlert + SSL_AD_CERTIFICATE_UNKNOWN:
    case kAlert + SSL_AD_UNSUPPORTED_CERTIFICATE:
    case kAlert + SSL_AD_CERTIFICATE_REVOKED:
    case kAlert + SSL_AD_CERTIFICATE_EXPIRED:
      return "the client does not accept the gateway's certificate: it must trust the CA of this certificate, and "
             "connect by a name that the certificate has";
    default:
      return nullptr;
  }
}

}  // namespace

std::string HandshakeFault(unsigned long error) {
  if (error == 0) {
    return "the client has ended the connection during the handshake, was too slow, or had to give way to others";
  }
  const char* text = ERR_GET_LIB(error) == ERR_LIB_SSL ? TextOf(ERR_GET_REASON(error)) : nullptr;
  if (text != nullptr) return text;
  const char* reason = ERR_reason_error_string(error);
  return absl::StrCat("OpenSSL: ", reason == nullptr ? "unknown error" : reason);
}

}  // namespace stampgate
