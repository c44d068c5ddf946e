// The certificate that a port serves; it can be replaced while the port is open.
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
#include "webhooks/http/tls_files.h"
#include "webhooks/threads/current.h"

namespace stampgate {

// Thread-safe. Certificate and key change together.
class CurrentTls {
 public:
  // Reads the files. Errors: those of ReadTlsFiles, CheckTlsSnapshot and MakeTlsServerContext.
  static absl::StatusOr<std::unique_ptr<CurrentTls>> Load(TlsFiles files, absl::Time now);

  // The context for new connections. A connection keeps the context that it began with.
  std::shared_ptr<boost::asio::ssl::context> context() const;

  // When the served certificate expires.
  absl::Time not_after() const;

  // Reads the files and, if they changed, checks and serves them. Returns whether they changed. After an error, which
  // is one of Load's, the served certificate stays. Unchanged files are not checked again: an expired certificate is
  // served until there is a better one; see not_after().
  absl::StatusOr<bool> Reload(absl::Time now);

 private:
  // Identifies certificates and a key without storing the key.
  using Digest = std::array<std::array<uint8_t, 32>, 2>;

  struct Served {
    boost::asio::ssl::context context;
    absl::Time not_after;
    Digest digest;
  };

  explicit CurrentTls(TlsFiles files) : files_(std::move(files)) {}

  const TlsFiles files_;
  std::mutex reloading_;
  Current<Served> served_;  // null only before the first Reload
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_HTTP_CURRENT_TLS_H_
