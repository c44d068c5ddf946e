#include "webhooks/receiver/receiver.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/http/acceptor.h"
#include "base/http/current_tls.h"
#include "webhooks/receiver/connection.h"
#include "webhooks/receiver/state.h"

namespace stampgate {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMinMaxBytes = 4 << 20;

class AsioReceiver final : public Receiver {
 public:
  AsioReceiver(std::shared_ptr<ReceiverState> state, std::shared_ptr<EventLoops> loops)
      : state_(std::move(state)),
        loops_(std::move(loops)),
        acceptor_(*loops_, state_->options.max_descriptor, state_->options.on_no_descriptor) {}

  ~AsioReceiver() override {
    acceptor_.Close();
    for (const std::shared_ptr<ConnectedPeer>& peer : state_->peers.All()) peer->Close();
    // A handler that runs now can displace a peer, which closes it on another loop. After two rounds all connections
    // are closed, and `take` is not called any more.
    for (int i = 0; i < 2; ++i) loops_->WaitForTasks();
  }

  absl::Status Listen() {
    ABSL_RETURN_IF_ERROR(acceptor_.Listen(state_->options.listen_address));
    url_ = absl::StrCat(state_->tls == nullptr ? "http://" : "https://", acceptor_.address());
    return absl::OkStatus();
  }

  void Accept() {
    acceptor_.Start([this](PeerStream::Socket socket) { Welcome(std::move(socket)); });
  }

  const std::string& url() const override { return url_; }

  absl::StatusOr<bool> ReloadTls(absl::Time now, bool asked) override {
    if (state_->tls == nullptr) return false;
    return state_->tls->Reload(now, asked);
  }

  std::chrono::nanoseconds tls_wait() const override {
    return state_->tls == nullptr ? std::chrono::nanoseconds::zero() : state_->tls->wait();
  }

  PeerTable::Counts peers() const override { return state_->peers.counts(Clock::now()); }

  size_t held_bytes() const override {
    const PeerTable::Counts peers = this->peers();
    return state_->bodies->held_bytes() + (peers.unproven + peers.proven) * ConnectionBytes(state_->options);
  }

  std::optional<absl::Time> certificate_not_after() const override {
    if (state_->tls == nullptr) return std::nullopt;
    return state_->tls->not_after();
  }

  void Drain(absl::Duration grace) override {
    state_->deliveries.Close();
    for (const std::shared_ptr<ConnectedPeer>& peer : state_->peers.All()) peer->CloseIfIdle();
    const absl::Duration bounded = std::clamp(grace, absl::ZeroDuration(), absl::Hours(24 * 365));
    state_->deliveries.WaitForEnd(Clock::now() + absl::ToChronoNanoseconds(bounded));
  }

 private:
  void Welcome(PeerStream::Socket socket) {
    const auto connection = std::make_shared<HttpConnection>(state_, std::move(socket));
    if (state_->peers.Admit(connection, connection->source(), Clock::now())) connection->Start();
  }

  const std::shared_ptr<ReceiverState> state_;
  const std::shared_ptr<EventLoops> loops_;
  Acceptor acceptor_;
  std::string url_;
};

absl::Status CheckOptions(const ReceiverOptions& options) {
  if (options.max_connections < 1) return absl::InvalidArgumentError("max_connections must be at least 1");
  if (options.min_bytes_per_second < 1) return absl::InvalidArgumentError("min_bytes_per_second must be at least 1");
  if (options.max_bytes < kMinMaxBytes) return absl::InvalidArgumentError("max_bytes must be at least 4 MiB");
  if (options.max_bytes / 8 < options.max_body_bytes) {
    return absl::InvalidArgumentError("max_bytes must be at least eight times max_body_bytes");
  }
  if (options.tls_certificate_file.empty() != options.tls_private_key_file.empty()) {
    return absl::InvalidArgumentError("TLS needs both a certificate file and a private key file");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Receiver>> Receiver::Start(ReceiverOptions options, std::shared_ptr<EventLoops> loops,
                                                          TakeDelivery take) {
  ABSL_RETURN_IF_ERROR(CheckOptions(options));
  std::unique_ptr<CurrentTls> tls;
  if (!options.tls_certificate_file.empty()) {
    ABSL_ASSIGN_OR_RETURN(
        auto loaded,
        CurrentTls::Load({options.tls_certificate_file, options.tls_private_key_file, "", options.secret_owners},
                         TlsProtocol::kHttp11, absl::Now(), options.on_shrunk_file, options.steady_now));
    tls = std::move(loaded);
  }
  try {  // the constructors throw if memory is short
    auto state = std::make_shared<ReceiverState>(std::move(options), std::move(take), std::move(tls));
    auto receiver = std::make_unique<AsioReceiver>(std::move(state), std::move(loops));
    ABSL_RETURN_IF_ERROR(receiver->Listen());
    receiver->Accept();
    return receiver;
  } catch (const std::exception& error) {
    return absl::UnavailableError(absl::StrCat("cannot start: ", error.what()));
  }
}

}  // namespace stampgate
