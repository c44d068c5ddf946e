#include "webhooks/receiver/receiver.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "webhooks/http/acceptor.h"
#include "webhooks/http/current_tls.h"
#include "webhooks/receiver/connection.h"
#include "webhooks/receiver/state.h"
#include "webhooks/threads/run_handlers.h"
#include "webhooks/threads/start_thread.h"

namespace stampgate {
namespace {

using Clock = std::chrono::steady_clock;

class AsioReceiver final : public Receiver {
 public:
  explicit AsioReceiver(std::shared_ptr<ReceiverState> state) : state_(std::move(state)), acceptor_(state_->io) {}

  ~AsioReceiver() override {
    state_->io.stop();
    for (std::thread& thread : threads_) thread.join();

    // Runs the remaining handlers on this thread, the only one left, with closed sockets and a `take` that ignores
    // deliveries. This destroys the connections.
    state_->take = [](const Delivery&, Answer) {};
    acceptor_.Close();
    for (const std::shared_ptr<ConnectedPeer>& peer : state_->peers.All()) peer->Close();
    state_->io.restart();
    RunHandlers([this] { state_->io.poll(); });
  }

  absl::Status Listen() {
    if (absl::Status listening = acceptor_.Listen(state_->options.listen_address); !listening.ok()) return listening;
    url_ = absl::StrCat(state_->tls == nullptr ? "http://" : "https://", acceptor_.address());
    return absl::OkStatus();
  }

  void StartThreads() {
    acceptor_.Start([this](PeerStream::Socket socket) { Welcome(std::move(socket)); });
    for (int i = 0; i < state_->options.threads; ++i) {
      threads_.push_back(StartThread("webhooks", [this] { RunHandlers([this] { state_->io.run(); }); }));
    }
  }

  const std::string& url() const override { return url_; }

  absl::StatusOr<bool> ReloadTls(absl::Time now) override {
    if (state_->tls == nullptr) return false;
    return state_->tls->Reload(now);
  }

  PeerTable::Counts peers() const override { return state_->peers.counts(); }

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
    const auto connection = std::make_shared<HttpConnection>(*state_, std::move(socket));
    if (state_->peers.Admit(connection)) connection->Start();
  }

  const std::shared_ptr<ReceiverState> state_;
  Acceptor acceptor_;
  std::string url_;
  std::vector<std::thread> threads_;
};

absl::Status CheckOptions(const ReceiverOptions& options) {
  if (options.max_connections < 1) return absl::InvalidArgumentError("max_connections must be at least 1");
  if (options.threads < 1) return absl::InvalidArgumentError("threads must be at least 1");
  if (options.tls_certificate_file.empty() != options.tls_private_key_file.empty()) {
    return absl::InvalidArgumentError("TLS needs both a certificate file and a private key file");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Receiver>> Receiver::Start(ReceiverOptions options, TakeDelivery take) {
  if (absl::Status checked = CheckOptions(options); !checked.ok()) return checked;
  std::unique_ptr<CurrentTls> tls;
  if (!options.tls_certificate_file.empty()) {
    auto loaded = CurrentTls::Load({options.tls_certificate_file, options.tls_private_key_file}, TlsProtocol::kHttp11,
                                   absl::Now());
    if (!loaded.ok()) return loaded.status();
    tls = *std::move(loaded);
  }
  try {  // Asio's constructors throw if the system has no more descriptors or threads
    auto state = std::make_shared<ReceiverState>(std::move(options), std::move(take), std::move(tls));
    auto receiver = std::make_unique<AsioReceiver>(std::move(state));
    if (absl::Status listening = receiver->Listen(); !listening.ok()) return listening;
    receiver->StartThreads();
    return receiver;
  } catch (const std::exception& error) {
    return absl::UnavailableError(absl::StrCat("cannot start: ", error.what()));
  }
}

}  // namespace stampgate
