// Holds the certificate and key that a port serves, and replaces them while the port is open.
#ifndef STAMPGATE_WEBHOOKS_HTTP_CURRENT_TLS_H_
#define STAMPGATE_WEBHOOKS_HTTP_CURRENT_TLS_H_

#include <array>
#include <boost/asio/ssl/context.hpp>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "webhooks/http/tls_context.h"
#include "webhooks/http/tls_files.h"
#include "webhooks/threads/current.h"

namespace stampgate {

// The served certificate and its key, which are always replaced together. Thread-safe.
class CurrentTls {
 public:
  // Reads the files. Errors: those of ReadTlsFiles, CheckTlsSnapshot and MakeTlsServerContext.
  static absl::StatusOr<std::unique_ptr<CurrentTls>> Load(TlsFiles files, TlsProtocol protocol, absl::Time now);

  // Returns the TLS context for new connections. A connection keeps the context with which it began.
  std::shared_ptr<boost::asio::ssl::context> context() const;

  // Returns the time at which the served certificate expires.
  absl::Time not_after() const;

  // Reads the files. If their content has changed, checks it and serves the new certificate. Returns whether the
  // content has changed. After an error, the port still serves the previous certificate. If the files are unchanged,
  // does not check them again. The port can therefore serve a certificate that has expired in the meantime; see
  // not_after(). Errors: those of Load.
  absl::StatusOr<bool> Reload(absl::Time now);

 private:
  // Digests of the certificates, of the key, and of the CAs of clients, by which Reload detects a change.
  using Digest = std::array<std::array<uint8_t, 32>, 3>;

  struct Served {
    boost::asio::ssl::context context;
    absl::Time not_after;
    Digest digest;
  };

  CurrentTls(TlsFiles files, TlsProtocol protocol) : files_(std::move(files)), protocol_(protocol) {}

  const TlsFiles files_;
  const TlsProtocol protocol_;
  std::mutex reloading_;
  Current<Served> served_;  // null only before the first successful Reload
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_HTTP_CURRENT_TLS_H_
