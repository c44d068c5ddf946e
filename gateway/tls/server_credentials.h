// TLS of the gRPC port, with certificates on both sides, which can be replaced while it is served.
#ifndef STAMPGATE_GATEWAY_TLS_SERVER_CREDENTIALS_H_
#define STAMPGATE_GATEWAY_TLS_SERVER_CREDENTIALS_H_

#include <grpcpp/security/server_credentials.h>

#include <functional>
#include <memory>
#include <mutex>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "webhooks/http/tls_files.h"
#include "webhooks/threads/current.h"

namespace stampgate {

// Thread-safe. TLS 1.2 and 1.3, "h2" alone; a client without a certificate of one of the authorities gets no further
// than the handshake.
//
// A snapshot of the files is served whole: certificate, key and authorities change together, from one handshake to the
// next. Connections that are up stay up, under what they were accepted with. gRPC is handed the snapshot in memory,
// when it begins a handshake: nothing watches a file, and no copy of the key is written anywhere. (gRPC's watcher of
// files drops a working pair when it reads a broken one, reads the pair apart from the authorities, looks once a
// second, and would need a copy of the key in a folder of its own.) gRPC and OpenSSL keep copies of the key that are
// not wiped.
class ServerTls {
 public:
  using Files = TlsFiles;

  // `now` is called by Create and Reload. Errors: those of ReadTlsFiles, CheckTlsSnapshot,
  // CheckThatGrpcCanRead and RefuseClientsThatGrpcCannotRead, which it calls.
  static absl::StatusOr<std::unique_ptr<ServerTls>> Create(const Files& files, std::function<absl::Time()> now);

  ~ServerTls();
  ServerTls(const ServerTls&) = delete;
  ServerTls& operator=(const ServerTls&) = delete;

  // For grpc::ServerBuilder::AddListeningPort, any number of times. ServerTls outlives the servers.
  //
  // The address is one that ParseListenAddress takes, or an external acceptor's; any other cannot be listened on.
  // The server must have GRPC_ARG_ALLOW_REUSEPORT 0: with two listening sockets, two threads may begin a handshake at
  // once, and gRPC 1.51 replaces certificates without a lock.
  std::shared_ptr<grpc::ServerCredentials> credentials() const;

  // Reads the files, and serves what they hold if that is not what is served already. Whether it was. An error leaves
  // what is served as it is; they are those of Create. Files that are served already are not checked again, so that a
  // certificate that has expired since is served until there is a better one: see not_after().
  absl::StatusOr<bool> Reload();

  // When the certificate that is served expires.
  absl::Time not_after() const;

 private:
  struct Served;
  class Credentials;

  ServerTls(Files files, std::function<absl::Time()> now);

  const Files files_;
  const std::function<absl::Time()> now_;
  std::mutex reloading_;
  const std::shared_ptr<Current<const Served>> served_;  // null before the first Reload alone
  const std::shared_ptr<Credentials> credentials_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_TLS_SERVER_CREDENTIALS_H_
