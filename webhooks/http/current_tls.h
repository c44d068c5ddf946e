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
#include "webhooks/http/tls_pair.h"

namespace stampgate {

// Thread-safe. Certificate and key change together.
class CurrentTls {
 public:
  // Errors: those of MakeTlsServerContext.
  static absl::StatusOr<std::unique_ptr<CurrentTls>> Load(TlsPairFiles files);

  // What new connections are to use; whoever has it keeps it.
  std::shared_ptr<boost::asio::ssl::context> context() const;

  // When the certificate that is served expires.
  absl::Time not_after() const;

  // Reads the files, and serves what they hold if that is not what is served already. Whether it was. An error leaves
  // what is served as it is: those of Load, and kInvalidArgument for a certificate that is not valid at `now`. One
  // that is served already is not looked at again, so that it is served until there is a better one: see not_after().
  absl::StatusOr<bool> Reload(absl::Time now);

 private:
  // Tells pairs apart without keeping a key.
  using Digest = std::array<std::array<uint8_t, 32>, 2>;

  struct Served {
    boost::asio::ssl::context context;
    absl::Time not_before;
    absl::Time not_after;
    Digest digest;
  };

  explicit CurrentTls(TlsPairFiles files) : files_(std::move(files)) {}

  static Digest DigestOf(const TlsPair& pair);
  absl::StatusOr<std::shared_ptr<Served>> Make(const TlsPair& pair) const;
  std::shared_ptr<Served> served() const;

  const TlsPairFiles files_;
  std::mutex reloading_;
  mutable std::mutex mutex_;
  std::shared_ptr<Served> served_;  // never null
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_HTTP_CURRENT_TLS_H_
