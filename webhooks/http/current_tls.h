// The certificate that a port serves, which can be replaced meanwhile.
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

  // What new connections use. A connection keeps what it began with.
  std::shared_ptr<boost::asio::ssl::context> context() const;

  // When the certificate that is served expires.
  absl::Time not_after() const;

  // Reads the files, and serves what they hold if that is not what is served already. Returns whether it was. An error
  // leaves what is served as it is; they are those of Load. What is served already is not checked again, so that a
  // certificate that has expired since is served until there is a better one: see not_after().
  absl::StatusOr<bool> Reload(absl::Time now);

 private:
  // Distinguishes certificates and keys without keeping a key.
  using Digest = std::array<std::array<uint8_t, 32>, 2>;

  struct Served {
    boost::asio::ssl::context context;
    absl::Time not_after;
    Digest digest;
  };

  explicit CurrentTls(TlsFiles files) : files_(std::move(files)) {}

  const TlsFiles files_;
  std::mutex reloading_;
  Current<Served> served_;  // null before the first Reload alone
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_HTTP_CURRENT_TLS_H_
