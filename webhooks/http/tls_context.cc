#include "webhooks/http/tls_context.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <boost/asio/buffer.hpp>
#include <boost/system/system_error.hpp>
#include <utility>

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

absl::Status Unusable(const std::string& file, const std::string& reason) {
  return absl::InvalidArgumentError(absl::StrCat(file, ": ", reason));
}

// Of a certificate that cannot be read, Asio says no more than "PEM lib".
std::string Describe(const error_code& error) {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return reason == nullptr ? error.message() : reason;
}

}  // namespace

absl::StatusOr<ssl::context> MakeTlsServerContext(const TlsPair& pair, const TlsPairFiles& files) {
  try {
    ssl::context context(ssl::context::tls_server);
    SSL_CTX* native = context.native_handle();
    SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
    // A peer has no need to shake hands twice, and we none to remember it.
    SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
    SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_alpn_select_cb(native, &ChooseProtocol, nullptr);

    error_code error;
    // Without this, OpenSSL asks the terminal for a passphrase.
    context.set_password_callback([](size_t, ssl::context::password_purpose) { return std::string(); }, error);
    context.use_certificate_chain(boost::asio::buffer(pair.certificates), error);
    if (error) return Unusable(files.certificate_file, Describe(error));
    context.use_private_key(boost::asio::buffer(pair.private_key), ssl::context::pem, error);
    if (error) return Unusable(files.private_key_file, Describe(error));
    if (SSL_CTX_check_private_key(native) != 1) {
      ERR_clear_error();
      return Unusable(files.private_key_file, absl::StrCat("is not the key of ", files.certificate_file));
    }
    return context;
  } catch (const boost::system::system_error& error) {  // the constructor and nothing else, when memory is short
    return absl::ResourceExhaustedError(absl::StrCat("TLS: ", error.what()));
  }
}

absl::StatusOr<ssl::context> MakeTlsServerContext(const std::string& certificate_file,
                                                  const std::string& private_key_file) {
  const TlsPairFiles files{certificate_file, private_key_file};
  const absl::StatusOr<TlsPair> pair = ReadTlsPair(files);
  if (!pair.ok()) return pair.status();
  return MakeTlsServerContext(*pair, files);
}

}  // namespace stampgate
