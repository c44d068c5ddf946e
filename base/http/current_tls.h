// Holds the certificate and key that a port serves, and replaces them while the port is open.
#ifndef STAMPGATE_BASE_HTTP_CURRENT_TLS_H_
#define STAMPGATE_BASE_HTTP_CURRENT_TLS_H_

#include <array>
#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/http/tls_context.h"
#include "base/http/tls_files.h"
#include "base/secret/bytes.h"
#include "base/secret/settled_file.h"
#include "base/secret/watched_file.h"
#include "base/threads/current.h"
#include "base/threads/mutex.h"

namespace stampgate {

// The served certificate and its key, which are always replaced together. Thread-safe.
class CurrentTls {
 public:
  using Clock = std::function<SettledFile::Time()>;

  // Reads the files. `on_shrunk` is called, at most once for each state of a file, when Reload waits for a file that
  // has become much shorter (see SettledFile); it must not call this object. Errors: those of MakeTlsSnapshot,
  // CheckTlsSnapshot and MakeTlsServerContext; kAborted if the files change faster than they can be read.
  static absl::StatusOr<std::unique_ptr<CurrentTls>> Load(
      TlsFiles files, TlsProtocol protocol, absl::Time now,
      std::function<void(const SettledFile& file)> on_shrunk = nullptr, Clock clock = std::chrono::steady_clock::now);

  // Returns the TLS context for new connections. A connection keeps the context with which it began.
  std::shared_ptr<boost::asio::ssl::context> context() const;

  // Returns the time at which the served certificate expires.
  absl::Time not_after() const;

  // Reads the files that have changed and are whole: see WatchedFile. `asked` is that of SettledFile::Look. If their
  // content has changed, checks it and serves the new certificate. Returns whether the content has changed. While one
  // of the files is not whole, and after an error, the port still serves the previous certificate. If the files are
  // unchanged, does not check them again. The port can therefore serve a certificate that has expired in the meantime;
  // see not_after(). Errors: those of Load.
  absl::StatusOr<bool> Reload(absl::Time now, bool asked = false);

  // Returns the time after which Reload may read a file that the last Reload has not found whole; zero if there is
  // none.
  std::chrono::nanoseconds wait() const;

 private:
  // Digests of the certificates, of the key, and of the CAs of clients, by which Reload detects a change.
  using Digest = std::array<std::array<uint8_t, 32>, 3>;

  struct Served {
    boost::asio::ssl::context context;
    absl::Time not_after;
    Digest digest;
  };

  CurrentTls(TlsFiles files, TlsProtocol protocol, std::function<void(const SettledFile& file)> on_shrunk, Clock clock);

  // Looks at all files until they are of one moment. Returns false if they change too fast.
  bool Look(bool asked) ABSL_EXCLUSIVE_LOCKS_REQUIRED(reloading_);
  // Sets `wait_`. Calls `on_shrunk_`.
  void FindWait() ABSL_EXCLUSIVE_LOCKS_REQUIRED(reloading_);
  absl::StatusOr<bool> Serve(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(reloading_);

  const TlsFiles files_;
  const TlsProtocol protocol_;
  const std::function<void(const SettledFile& file)> on_shrunk_;
  const Clock clock_;
  mutable Mutex reloading_;
  // The certificates and, if there is such a file, the CAs of clients.
  std::vector<WatchedFile<std::string>> public_ ABSL_GUARDED_BY(reloading_);
  WatchedFile<SecretBytes> key_ ABSL_GUARDED_BY(reloading_);
  std::chrono::nanoseconds wait_ ABSL_GUARDED_BY(reloading_) = {};
  // The sizes with which `on_shrunk_` was called, by path.
  std::map<std::string, off_t> reported_ ABSL_GUARDED_BY(reloading_);
  Current<Served> served_;  // null only before the first successful Reload
};

}  // namespace stampgate

#endif  // STAMPGATE_BASE_HTTP_CURRENT_TLS_H_
