// A client with TLS for tests.
#ifndef STAMPGATE_BASE_HTTP_TEST_TLS_CLIENT_H_
#define STAMPGATE_BASE_HTTP_TEST_TLS_CLIENT_H_

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "base/http/test_client.h"

namespace stampgate {

// A TLS connection to a server, whose certificate it does not verify.
class TlsTestClient {
 public:
  struct Options {
    int version = 0;                    // the only version that it speaks, such as TLS1_2_VERSION; 0 for all
    std::string protocol = "http/1.1";  // the only protocol of its ALPN offer
  };

  // Sends `before_tls`, such as a PROXY header, when it has connected to the host and port of `url`.
  explicit TlsTestClient(const std::string& url, absl::string_view before_tls = "")
      : TlsTestClient(url, before_tls, {}) {}
  TlsTestClient(const std::string& url, absl::string_view before_tls, const Options& options);

  // Performs the handshake. Returns whether it has succeeded.
  bool Connect();

  void Send(absl::string_view bytes);

  // See HttpTestClient::ReadAnswer.
  std::string ReadAnswer();

  // Returns whether the server sent a TLS close notification before it closed the connection.
  bool EndsCleanly();

  std::string protocol() const;
  // Returns the certificate that the server presented, in PEM.
  std::string certificate() const;
  std::string version() const;

 private:
  struct Delete {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };

  HttpTestClient client_;
  const std::unique_ptr<SSL_CTX, Delete> context_;
  std::unique_ptr<SSL, Delete> ssl_;
};

}  // namespace stampgate

#endif  // STAMPGATE_BASE_HTTP_TEST_TLS_CLIENT_H_
