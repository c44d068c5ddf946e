#include "webhooks/receiver.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/wait_traits.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "webhooks/http_connection.h"
#include "webhooks/listen_address.h"
#include "webhooks/receiver_state.h"
#include "webhooks/tls_context.h"

namespace stampgate {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

// After a failure to accept, such as no descriptor left: the peer stays in the queue, and at once it would fail again.
constexpr std::chrono::milliseconds kAcceptAgain(100);

class AsioReceiver final : public Receiver {
 public:
  explicit AsioReceiver(std::shared_ptr<ReceiverState> state)
      : state_(std::move(state)), strand_(asio::make_strand(state_->io)), acceptor_(strand_), timer_(strand_) {}

  ~AsioReceiver() override {
    state_->io.stop();
    for (std::thread& thread : threads_) thread.join();

    // This is the only thread now. What still runs below finds closed sockets and nobody who takes deliveries.
    state_->take = [](const Delivery&, Answer) {};
    error_code ignored;
    acceptor_.close(ignored);
    timer_.cancel();
    for (const std::shared_ptr<Peer>& peer : state_->peers.All()) peer->Close();
    state_->io.restart();
    Run([this] { state_->io.poll(); });
  }

  absl::Status Listen(const ListenAddress& address) {
    error_code error;
    const tcp::endpoint endpoint(asio::ip::make_address(address.ip, error), address.port);
    if (!error) acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (!error) {
      const tcp::endpoint local = acceptor_.local_endpoint(error);
      const std::string host = local.address().is_v6() ? absl::StrCat("[", address.ip, "]") : address.ip;
      url_ = absl::StrCat(state_->tls.has_value() ? "https://" : "http://", host, ":", local.port());
    }
    if (error) {
      return absl::UnavailableError(
          absl::StrCat("cannot listen on ", state_->options.listen_address, ": ", error.message()));
    }
    return absl::OkStatus();
  }

  void StartThreads() {
    asio::post(strand_, [this] { Accept(); });
    // The threads inherit the mask: signals are for the main thread, and a broken pipe is an error code here.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const absl::Cleanup restore = [&before] { pthread_sigmask(SIG_SETMASK, &before, nullptr); };
    for (int i = 0; i < state_->options.threads; ++i) {
      threads_.emplace_back([this] { Run([this] { state_->io.run(); }); });
      pthread_setname_np(threads_.back().native_handle(), "webhooks");
    }
  }

  const std::string& url() const override { return url_; }

  void Drain(absl::Duration grace) override {
    state_->deliveries.Close();
    for (const std::shared_ptr<Peer>& peer : state_->peers.All()) peer->CloseIfIdle();
    const absl::Duration bounded = std::clamp(grace, absl::ZeroDuration(), absl::Hours(24 * 365));
    state_->deliveries.WaitForEnd(Clock::now() + absl::ToChronoNanoseconds(bounded));
  }

 private:
  // Nothing of ours throws, but Asio may when memory is short. The handler that threw is gone, and with it the last
  // that held its connection; the others go on.
  template <typename Body>
  static void Run(Body body) {
    while (true) {
      try {
        body();
        return;
      } catch (const std::exception&) {
      }
    }
  }

  void Accept() {
    acceptor_.async_accept(asio::make_strand(state_->io.get_executor()),
                           [this](error_code error, PeerStream::Socket socket) {
                             if (!acceptor_.is_open()) return;
                             if (!error) {
                               Welcome(std::move(socket));
                             } else if (error != asio::error::connection_aborted) {
                               AcceptLater();
                               return;
                             }
                             Accept();
                           });
  }

  void AcceptLater() {
    timer_.expires_after(kAcceptAgain);
    timer_.async_wait([this](error_code) {
      if (acceptor_.is_open()) Accept();
    });
  }

  void Welcome(PeerStream::Socket socket) {
    try {
      const auto connection = std::make_shared<HttpConnection>(*state_, std::move(socket));
      connection->progress().Await(Clock::now());
      if (state_->peers.Admit(connection, Clock::now())) connection->Start();
    } catch (const std::exception&) {  // too little memory for one more: that must not end accepting
    }
  }

  const std::shared_ptr<ReceiverState> state_;
  const asio::strand<asio::io_context::executor_type> strand_;
  asio::basic_socket_acceptor<tcp, asio::strand<asio::io_context::executor_type>> acceptor_;
  asio::basic_waitable_timer<Clock, asio::wait_traits<Clock>, asio::strand<asio::io_context::executor_type>> timer_;
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
  const absl::StatusOr<ListenAddress> address = ParseListenAddress(options.listen_address);
  if (!address.ok()) return address.status();
  std::optional<asio::ssl::context> tls;
  if (!options.tls_certificate_file.empty()) {
    auto context = MakeTlsServerContext(options.tls_certificate_file, options.tls_private_key_file);
    if (!context.ok()) return context.status();
    tls = *std::move(context);
  }
  try {  // Asio's constructors throw when there is no descriptor or no thread to be had
    auto state = std::make_shared<ReceiverState>(std::move(options), std::move(take), std::move(tls));
    auto receiver = std::make_unique<AsioReceiver>(std::move(state));
    if (absl::Status listening = receiver->Listen(*address); !listening.ok()) return listening;
    receiver->StartThreads();
    return receiver;
  } catch (const std::exception& error) {
    return absl::UnavailableError(absl::StrCat("cannot start: ", error.what()));
  }
}

}  // namespace stampgate
