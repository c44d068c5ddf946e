#include "webhooks/http/tls_context.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <boost/asio/buffer.hpp>
#include <boost/system/system_error.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;

constexpr unsigned char kHttp11[] = "\x08http/1.1";

int ChooseProtocol(SSL*, const unsigned char** chosen, unsigned char* chosen_size, const unsigned char* offered,
                   unsigned int offered_size, void*) {
  unsigned char* match;
  if (SSL_select_next_proto(&match, chosen_size, kHttp11, sizeof(kHttp11) - 1, offered, offered_size) !=
      OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *chosen = match;
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace

absl::StatusOr<ssl::context> MakeTlsServerContext(const TlsSnapshot& snapshot) {
  try {
    ssl::context context(ssl::context::tls_server);
    SSL_CTX* native = context.native_handle();
    SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
    // Turns off renegotiation and the resumption of TLS sessions, which peers do not need.
    SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
    SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_alpn_select_cb(native, &ChooseProtocol, nullptr);

    error_code error;
    context.use_certificate_chain(boost::asio::buffer(snapshot.certificates), error);
    // The key without its final zero byte.
    const boost::asio::const_buffer key(snapshot.private_key.data(), snapshot.private_key.size() - 1);
    if (!error) context.use_private_key(key, ssl::context::pem, error);
    ERR_clear_error();
    if (error)
      return absl::InvalidArgumentError(absl::StrCat("OpenSSL refuses the certificate or its key: ", error.message()));
    return context;
  } catch (const boost::system::system_error& error) {  // only the context's constructor throws
    return absl::ResourceExhaustedError(absl::StrCat("TLS: ", error.what()));
  }
}

}  // namespace stampgate
