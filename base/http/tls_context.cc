#include "base/http/tls_context.h"

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

// The largest chain of certificates of a client. OpenSSL keeps the decoded chain, which needs about four times its
// bytes, as long as the connection.
constexpr long kMaxChainBytes = 16384;

// The name of each TlsProtocol, after its length.
constexpr absl::string_view kProtocols[] = {"\x08http/1.1", "\x02h2"};

// `protocol` points to an element of kProtocols.
int ChooseProtocol(SSL*, const unsigned char** chosen, unsigned char* chosen_size, const unsigned char* offered,
                   unsigned int offered_size, void* protocol) {
  const absl::string_view name = *static_cast<const absl::string_view*>(protocol);
  unsigned char* match;
  if (SSL_select_next_proto(&match, chosen_size, reinterpret_cast<const unsigned char*>(name.data()),
                            static_cast<unsigned int>(name.size()), offered, offered_size) != OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *chosen = match;
  return SSL_TLSEXT_ERR_OK;
}

// Makes the server send the subjects of its CAs, by which a client with several certificates chooses one.
void SetClientCaNames(SSL_CTX* context) {
  const STACK_OF(X509_OBJECT)* objects = X509_STORE_get0_objects(SSL_CTX_get_cert_store(context));
  for (int i = 0; i < sk_X509_OBJECT_num(objects); ++i) {
    X509* certificate = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(objects, i));
    if (certificate != nullptr) SSL_CTX_add_client_CA(context, certificate);
  }
}

}  // namespace

absl::StatusOr<ssl::context> MakeTlsServerContext(const TlsSnapshot& snapshot, TlsProtocol protocol) {
  try {
    ssl::context context(ssl::context::tls_server);
    SSL_CTX* native = context.native_handle();
    SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
    // The cipher suites of TLS 1.2: only those with forward secrecy and authenticated encryption.
    SSL_CTX_set_cipher_list(native, "ECDHE+AESGCM:ECDHE+CHACHA20");
    // Peers need neither renegotiation nor the resumption of TLS sessions. Turns off both: renegotiation by an option,
    // and resumption by no session cache, no tickets of TLS 1.2, and no tickets of TLS 1.3.
    SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
    SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(native, 0);
    SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_max_cert_list(native, kMaxChainBytes);
    SSL_CTX_set_alpn_select_cb(native, &ChooseProtocol,
                               const_cast<absl::string_view*>(&kProtocols[static_cast<size_t>(protocol)]));

    error_code error;
    context.use_certificate_chain(boost::asio::buffer(snapshot.certificates), error);
    // The key without its final zero byte.
    const boost::asio::const_buffer key(snapshot.private_key.data(), snapshot.private_key.size() - 1);
    if (!error) context.use_private_key(key, ssl::context::pem, error);
    if (!error && !snapshot.client_cas.empty()) {
      context.add_certificate_authority(boost::asio::buffer(snapshot.client_cas), error);
      context.set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
      // A CA in the file need not be a root.
      X509_STORE_set_flags(SSL_CTX_get_cert_store(native), X509_V_FLAG_PARTIAL_CHAIN);
      if (!error) SetClientCaNames(native);
    }
    ERR_clear_error();
    if (error)
      return absl::InvalidArgumentError(
          absl::StrCat("OpenSSL refuses the certificate, its key or the CAs of the clients: ", error.message()));
    return context;
  } catch (const boost::system::system_error& error) {  // only the context's constructor throws
    return absl::ResourceExhaustedError(absl::StrCat("TLS: ", error.what()));
  }
}

}  // namespace stampgate
