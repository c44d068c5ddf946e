#include "webhooks/http/current_tls.h"

#include <utility>

#include "stamp/secret/sha256.h"

namespace stampgate {

absl::StatusOr<std::unique_ptr<CurrentTls>> CurrentTls::Load(TlsFiles files, TlsProtocol protocol, absl::Time now) {
  std::unique_ptr<CurrentTls> tls(new CurrentTls(std::move(files), protocol));
  if (absl::Status status = tls->Reload(now).status(); !status.ok()) return status;
  return tls;
}

std::shared_ptr<boost::asio::ssl::context> CurrentTls::context() const {
  std::shared_ptr<Served> current = served_.Get();
  boost::asio::ssl::context* context = &current->context;
  return std::shared_ptr<boost::asio::ssl::context>(std::move(current), context);
}

absl::Time CurrentTls::not_after() const { return served_.Get()->not_after; }

absl::StatusOr<bool> CurrentTls::Reload(absl::Time now) {
  const std::lock_guard reloading(reloading_);
  const absl::StatusOr<TlsSnapshot> snapshot = ReadTlsFiles(files_);
  if (!snapshot.ok()) return snapshot.status();
  const Digest digest = {Sha256(snapshot->certificates), Sha256(snapshot->private_key.text()),
                         Sha256(snapshot->client_cas)};
  if (const std::shared_ptr<Served> current = served_.Get(); current != nullptr && current->digest == digest)
    return false;
  const absl::StatusOr<absl::Time> not_after = CheckTlsSnapshot(*snapshot, files_, now);
  if (!not_after.ok()) return not_after.status();
  absl::StatusOr<boost::asio::ssl::context> context = MakeTlsServerContext(*snapshot, protocol_);
  if (!context.ok()) return context.status();
  served_.Set(std::make_shared<Served>(Served{*std::move(context), *not_after, digest}));
  return true;
}

}  // namespace stampgate
