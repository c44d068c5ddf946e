#include "base/http/test_tls_client.h"

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace stampgate {

TlsTestClient::TlsTestClient(const std::string& url, absl::string_view before_tls, const Options& options)
    : client_(url), context_(SSL_CTX_new(TLS_client_method())) {
  client_.Send(before_tls);
  SSL_CTX_set_security_level(context_.get(), 0);  // without this, the client itself would refuse TLS 1.1
  if (options.version != 0) {
    SSL_CTX_set_min_proto_version(context_.get(), options.version);
    SSL_CTX_set_max_proto_version(context_.get(), options.version);
  }
  ssl_.reset(SSL_new(context_.get()));
  const std::string offer = absl::StrCat(std::string(1, static_cast<char>(options.protocol.size())), options.protocol);
  SSL_set_alpn_protos(ssl_.get(), reinterpret_cast<const unsigned char*>(offer.data()),
                      static_cast<unsigned int>(offer.size()));
  SSL_set_fd(ssl_.get(), client_.descriptor());
}

bool TlsTestClient::Connect() { return SSL_connect(ssl_.get()) == 1; }

void TlsTestClient::Send(absl::string_view bytes) {
  SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()));
}

std::string TlsTestClient::ReadAnswer() {
  std::string answer;
  char c;
  while (SSL_read(ssl_.get(), &c, 1) == 1) {
    answer += c;
    if (absl::EndsWith(answer, "\r\n\r\n")) return answer;
  }
  return "";
}

bool TlsTestClient::EndsCleanly() {
  char c;
  return SSL_read(ssl_.get(), &c, 1) == 0 && (SSL_get_shutdown(ssl_.get()) & SSL_RECEIVED_SHUTDOWN) != 0;
}

std::string TlsTestClient::protocol() const {
  const unsigned char* chosen;
  unsigned int size;
  SSL_get0_alpn_selected(ssl_.get(), &chosen, &size);
  return std::string(reinterpret_cast<const char*>(chosen), size);
}

std::string TlsTestClient::certificate() const {
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(SSL_get1_peer_certificate(ssl_.get()), &X509_free);
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_mem()), &BIO_free);
  PEM_write_bio_X509(bio.get(), certificate.get());
  char* pem;
  const long size = BIO_get_mem_data(bio.get(), &pem);
  return std::string(pem, static_cast<size_t>(size));
}

std::string TlsTestClient::version() const { return SSL_get_version(ssl_.get()); }

}  // namespace stampgate
