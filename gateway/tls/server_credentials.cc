#include "gateway/tls/server_credentials.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>

#include <list>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gateway/tls/client_certificate_filter.h"
#include "gateway/tls/no_resumption.h"
#include "webhooks/http/listen_address.h"

namespace stampgate {

// What handshakes begin with.
struct ServerTls::Served {
  TlsSnapshot snapshot;
  absl::Time not_after;
};

// gRPC's C API asks for certificates at each handshake; its C++ API has no way to say so but this class.
class ServerTls::Credentials : public grpc::ServerCredentials {
 public:
  explicit Credentials(std::shared_ptr<const Current<const Served>> served) : served_(std::move(served)) {}

  // There is nothing to add to what TLS says of the peer.
  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}

 private:
  // What gRPC has for one listening port.
  struct Port {
    const Current<const Served>& served;
    std::weak_ptr<const Served> given;  // last; it keeps no former key. With gRPC's lock for the port.
  };

  int AddPortToServer(const std::string& address, grpc_server* server) override {
    std::string single = address;
    if (!absl::StartsWith(address, "external:")) {
      const absl::StatusOr<ListenAddress> parsed = ParseListenAddress(address);
      if (!parsed.ok()) return 0;
      const bool v6 = absl::StrContains(parsed->ip, ':');
      single = absl::StrCat(v6 ? "[" : "", parsed->ip, v6 ? "]:" : ":", parsed->port);
    }
    Port* port;
    {
      const std::lock_guard lock(mutex_);
      port = &ports_.emplace_back(Port{*served_, {}});
    }
    grpc_server_credentials* credentials =
        grpc_ssl_server_credentials_create_with_options(grpc_ssl_server_credentials_create_options_using_config_fetcher(
            GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY, &Fetch, port));
    const int bound = grpc_server_add_http2_port(server, single.c_str(), credentials);
    grpc_server_credentials_release(credentials);
    return bound;
  }

  static grpc_ssl_certificate_config_reload_status Fetch(void* user_data, grpc_ssl_server_certificate_config** config) {
    Port& port = *static_cast<Port*>(user_data);
    const std::shared_ptr<const Served> served = port.served.Get();
    if (served == port.given.lock()) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    const TlsSnapshot& snapshot = served->snapshot;
    const grpc_ssl_pem_key_cert_pair pair{reinterpret_cast<const char*>(snapshot.private_key.data()),
                                          snapshot.certificates.c_str()};
    *config = grpc_ssl_server_certificate_config_create(snapshot.client_cas.c_str(), &pair, 1);
    port.given = served;
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  const std::shared_ptr<const Current<const Served>> served_;
  std::mutex mutex_;
  std::list<Port> ports_;
};

ServerTls::ServerTls(Files files, std::function<absl::Time()> now)
    : files_(std::move(files)),
      now_(std::move(now)),
      served_(std::make_shared<Current<const Served>>()),
      credentials_(std::make_shared<Credentials>(served_)) {}

ServerTls::~ServerTls() = default;

absl::StatusOr<std::unique_ptr<ServerTls>> ServerTls::Create(const Files& files, std::function<absl::Time()> now) {
  if (absl::Status status = RefuseClientsThatGrpcCannotRead(); !status.ok()) return status;
  if (absl::Status status = RefuseToResumeSessions(); !status.ok()) return status;
  std::unique_ptr<ServerTls> tls(new ServerTls(files, std::move(now)));
  const absl::StatusOr<bool> loaded = tls->Reload();
  if (!loaded.ok()) return loaded.status();
  return tls;
}

std::shared_ptr<grpc::ServerCredentials> ServerTls::credentials() const { return credentials_; }

absl::StatusOr<bool> ServerTls::Reload() {
  const std::lock_guard lock(reloading_);
  absl::StatusOr<TlsSnapshot> snapshot = ReadTlsFiles(files_);
  if (!snapshot.ok()) return snapshot.status();
  const std::shared_ptr<const Served> served = served_->Get();
  if (served != nullptr && *snapshot == served->snapshot) return false;
  const absl::StatusOr<absl::Time> not_after = CheckTlsSnapshot(*snapshot, files_, now_());
  if (!not_after.ok()) return not_after.status();
  if (absl::Status status = CheckThatGrpcCanRead(*snapshot, files_); !status.ok()) return status;
  served_->Set(std::make_shared<const Served>(Served{*std::move(snapshot), *not_after}));
  return true;
}

absl::Time ServerTls::not_after() const { return served_->Get()->not_after; }

}  // namespace stampgate
