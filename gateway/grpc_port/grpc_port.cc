#include "gateway/grpc_port/grpc_port.h"

#include <fcntl.h>
#include <grpc/grpc.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/error_code.hpp>
#include <deque>
#include <exception>
#include <future>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "base/http/acceptor.h"
#include "base/http/handshake_fault.h"
#include "base/http/listen_address.h"
#include "base/http/source.h"
#include "base/threads/mutex.h"
#include "gateway/callers/peer_registry.h"
#include "gateway/grpc_port/caller_check.h"
#include "gateway/grpc_port/connection.h"
#include "gateway/grpc_port/entrance.h"
#include "gateway/grpc_port/handshakes.h"
#include "gateway/grpc_port/open_connections.h"

namespace stampgate {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr absl::string_view kHttp2 = "h2";

// How long to wait before the next accept after a failed one.
constexpr std::chrono::milliseconds kAcceptAgain(20);

// How many refused connections stay open for a second, so that their clients can read the reason.
constexpr size_t kMaxRefused = 64;

// How often the port updates what connections hold.
constexpr std::chrono::seconds kRecount(1);

// How long a client whose identity is no caller any more may still finish its calls.
constexpr std::chrono::seconds kDismissal(4);

// How long the client of a connection that has lost its place may still finish its calls.
constexpr std::chrono::seconds kDisplacement(30);

constexpr absl::string_view kNoHttp2 =
    "the client has not offered the protocol h2 (ALPN), which gRPC needs: use a client of gRPC or HTTP/2";

constexpr absl::string_view kDismissed = "the identity of the certificate belongs to no caller any more";

// How long the destructor waits until gRPC has released the last connections.
constexpr std::chrono::seconds kConnectionsEnd(1);

// Keeps gRPC's library initialized. The callbacks of the last connections need it, also after the server has ended.
struct GrpcLibrary {
  GrpcLibrary() { grpc_init(); }
  ~GrpcLibrary() { grpc_shutdown(); }
};

// Returns the owner of the certificate; nothing if the client has sent no valid certificate or has not chosen HTTP/2.
std::optional<Peer> VerifiedPeer(SSL* ssl) {
  const unsigned char* protocol = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(ssl, &protocol, &size);
  const X509* certificate = SSL_get0_peer_certificate(ssl);
  if (protocol == nullptr || absl::string_view(reinterpret_cast<const char*>(protocol), size) != kHttp2 ||
      certificate == nullptr || SSL_get_verify_result(ssl) != X509_V_OK) {
    return std::nullopt;
  }
  return PeerOfCertificate(*certificate);
}

class PassiveGrpcPort : public GrpcPort {
 public:
  PassiveGrpcPort(const Options& options, std::shared_ptr<EventLoops> loops)
      : options_(options),
        loops_(std::move(loops)),
        open_(std::make_shared<OpenConnections>(options.max_connections)),
        memory_(std::make_shared<MemoryAccount>(options.memory)),
        handshakes_(options.max_handshakes) {
    acceptor_.emplace(io());
    timer_.emplace(io());
    recount_timer_.emplace(io());
    reserve_ = open("/dev/null", O_RDONLY | O_CLOEXEC);
  }

  ~PassiveGrpcPort() override {
    PassiveGrpcPort::StopListening();
    // Runs the handlers that use the port: those that are queued, and those that these queue.
    for (int i = 0; i < 2; ++i) loops_->WaitForTasks();
    // If gRPC runs on threads of its own, it releases the last connections later. If that takes too long, the loops
    // must never be destroyed.
    if (!open_->WaitUntilNone(kConnectionsEnd)) {
      static_cast<void>(std::make_unique<std::shared_ptr<EventLoops>>(loops_).release());
    }
    open_->ForgetClosed();
    if (reserve_ >= 0) close(reserve_);
  }

  absl::Status Bind(grpc::ServerBuilder& builder) {
    ABSL_ASSIGN_OR_RETURN(const ListenAddress address, ParseListenAddress(options_.address));
    error_code error;
    const tcp::endpoint endpoint(asio::ip::make_address(address.ip, error), address.port);
    if (!error) acceptor_->open(endpoint.protocol(), error);
    if (!error) acceptor_->set_option(asio::socket_base::reuse_address(true), error);
    if (!error && endpoint.protocol() == tcp::v6()) acceptor_->set_option(asio::ip::v6_only(false), error);
    if (!error) acceptor_->bind(endpoint, error);
    if (!error) acceptor_->listen(asio::socket_base::max_listen_connections, error);
    const tcp::endpoint local = error ? tcp::endpoint() : acceptor_->local_endpoint(error);
    if (error) {
      return absl::UnavailableError(absl::StrCat("cannot listen on ", options_.address, ": ", error.message()));
    }
    address_ = absl::StrCat(options_.address.substr(0, options_.address.rfind(':')), ":", local.port());
    entrance_ = Entrance::Create(builder);
    return absl::OkStatus();
  }

  const std::string& address() const override { return address_; }

  void Open() override {
    asio::post(io(), [this] {
      Accept();
      RecountLater();
    });
  }

  void StopListening() override {
    // Shared, because set_value may still run when wait() returns.
    const auto closed = std::make_shared<std::promise<void>>();
    asio::post(io(), [this, closed] {
      error_code ignored;
      stopped_ = true;
      acceptor_->close(ignored);
      timer_->cancel();
      recount_timer_->cancel();
      closed->set_value();
    });
    closed->get_future().wait();
    handshakes_.CloseAll();
    const std::unique_lock nobody_enters(entering_);
    open_->Stop();
  }

  absl::Status Check(absl::Duration timeout) override {
    if (loops_->WaitForTasks(timeout)) return absl::OkStatus();
    return absl::UnavailableError("a thread of the gRPC port does not respond");
  }

  Usage usage() const override {
    return {.connections = open_->size(), .handshakes = handshakes_.size(), .held_bytes = memory_->bytes()};
  }

  void DismissStrangers() override {
    if (options_.tls == nullptr) return;
    std::set<uint64_t> ids;
    for (const auto& [id, connection] : open_->TakeStrangers(options_.is_caller)) {
      connection->GoAway(kDismissed);
      connection->CloseAfter(kDismissal);
      ids.insert(id);
    }
    if (!ids.empty() && options_.on_dismissed) options_.on_dismissed(ids);
  }

  bool HaveConnections() const override { return open_->HaveOpen(); }

  void CloseConnections(const std::set<std::string>& kept) override {
    std::set<uint64_t> ids;
    for (const std::string& address : kept) {
      if (const std::optional<uint64_t> id = ConnectionIdOf(address); id.has_value()) ids.insert(*id);
    }
    open_->CloseExcept(ids);
  }

  void WaitForPeers(std::chrono::steady_clock::time_point deadline) override {
    for (const std::shared_ptr<Connection>& connection : open_->closed()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
      if (left.count() <= 0 || !connection->WaitForPeer(left)) return;
    }
  }

 private:
  // A handshake in progress, and its time limit.
  struct PendingHandshake {
    std::shared_ptr<Connection> connection;
    Connection::Socket::executor_type executor;
    std::string address;
    CallerCheck check;
    asio::steady_timer timer{executor};
    bool has_ended = false;
  };

  // The loop that accepts.
  asio::io_context& io() { return (*loops_)[0].io(); }

  // The functions below are called on the loop that accepts.

  void Accept() {
    if (stopped_) return;
    asio::io_context& next = (*loops_)[next_++ % loops_->size()].io();
    acceptor_->async_accept(next, [this](error_code error, Connection::Socket socket) {
      if (stopped_) return;
      if (!error && socket.native_handle() >= options_.max_descriptor) {
        socket.close(error);
        if (options_.on_no_descriptor) options_.on_no_descriptor();
        return AcceptLater();
      }
      if (!error) {
        AdmitOrDrop(std::move(socket));
      } else if (IsShortOfDescriptors(error)) {
        DropOne();
        if (options_.on_no_descriptor) options_.on_no_descriptor();
        return AcceptLater();
      } else if (error != asio::error::connection_aborted) {
        return AcceptLater();
      }
      Accept();
    });
  }

  // Resets count as held memory for some seconds, also if no further bytes of the connection arrive.
  void RecountLater() {
    if (stopped_) return;
    recount_timer_->expires_after(kRecount);
    recount_timer_->async_wait([this](error_code error) {
      if (error) return;
      open_->Recount();
      RecountLater();
    });
  }

  void AcceptLater() {
    timer_->expires_after(kAcceptAgain);
    timer_->async_wait([this](error_code) { Accept(); });
  }

  // Closes one connection that waits in the system's queue, for which there is no descriptor: its client learns at once
  // that the port cannot serve it.
  void DropOne() {
    if (reserve_ >= 0) close(reserve_);
    error_code ignored;
    tcp::socket dropped(io());
    acceptor_->non_blocking(true, ignored);
    acceptor_->accept(dropped, ignored);
    dropped.close(ignored);
    reserve_ = open("/dev/null", O_RDONLY | O_CLOEXEC);
  }

  // Asio throws if memory is short. Then only this connection is lost.
  void AdmitOrDrop(Connection::Socket socket) {
    try {
      Admit(std::move(socket));
    } catch (const std::exception&) {
    }
  }

  void Admit(Connection::Socket socket) {
    error_code error;
    const asio::ip::address remote = socket.remote_endpoint(error).address();
    if (error) return;
    const Connection::Socket::executor_type executor = socket.get_executor();
    auto connection =
        std::make_shared<Connection>(std::move(socket), options_.tls == nullptr ? nullptr : options_.tls->context());
    if (options_.tls == nullptr) {
      return Enter(std::move(connection),
                   Peer{.plaintext_loopback = IsLoopbackIp(PlainText(remote)), .spiffe_id = {}, .dns_names = {}});
    }
    auto pending = std::make_shared<PendingHandshake>(
        PendingHandshake{connection, executor, PlainText(remote), CallerCheck(options_.is_caller)});
    handshakes_.Add(connection, SourceOf(remote));
    connection->Inspect([&pending](SSL* ssl) { pending->check.Begin(ssl); });
    asio::post(executor, [this, pending] {
      pending->timer.expires_after(absl::ToChronoNanoseconds(options_.handshake_timeout));
      // The object does not outlive the handshake, and both callbacks run on one thread.
      pending->timer.async_wait([slow = std::weak_ptr<PendingHandshake>(pending)](error_code) {
        if (const std::shared_ptr<PendingHandshake> left = slow.lock(); left != nullptr && !left->has_ended) {
          left->connection->Close();
        }
      });
      pending->connection->Handshake([this, pending](const absl::Status& status) {
        pending->has_ended = true;
        pending->timer.cancel();
        handshakes_.Remove(pending->connection.get());
        std::optional<Peer> peer;
        HandshakeFailure failure = HandshakeFailure::kUnfinished;
        pending->connection->Inspect([&](SSL* ssl) {
          CallerCheck::End(ssl);
          if (status.ok()) peer = VerifiedPeer(ssl);
          if (!peer.has_value()) failure = FailureOf(*ssl);
        });
        if (peer.has_value()) return Enter(pending->connection, *peer);
        pending->connection->Close();
        if (options_.on_failed_handshake) ReportFailure(*pending, failure, status);
      });
    });
  }

  void ReportFailure(const PendingHandshake& pending, HandshakeFailure failure, const absl::Status& status) const {
    const unsigned long error = pending.connection->handshake_error();
    FailedHandshake failed{.address = pending.address, .failure = failure};
    if (const auto& refused = pending.check.refused(); refused.has_value()) {
      failed.peer = refused->peer;
      failed.names = refused->names;
      failed.why = absl::StrCat("the client's certificate is refused: ", refused->why);
    } else if (status.ok()) {
      failed.why = std::string(kNoHttp2);
    } else if (failure != HandshakeFailure::kNoHello || error != 0) {
      failed.why = HandshakeFault(error);
    }
    options_.on_failed_handshake(failed);
  }

  // Gives the connection to gRPC. Thread-safe.
  void Enter(std::shared_ptr<Connection> connection, const Peer& peer) {
    const auto on_excess = [on_excess = options_.on_excess, peer](Excess excess) {
      if (on_excess) on_excess(peer, excess);
    };
    const std::shared_ptr<MemoryHolder> holder =
        memory_->Open(StrangerName(peer), [weak = std::weak_ptr<Connection>(connection)](MemoryBound limit) {
          // Not immediately, because the lock of another connection is held.
          if (const std::shared_ptr<Connection> largest = weak.lock()) largest->ExpelLater(*ExcessOf(limit));
        });
    if (holder == nullptr) {
      Refuse(connection, Excess::kConnections);
      return on_excess(Excess::kConnections);
    }
    absl::Cleanup close_holder = [&] { holder->Close(); };
    const bool is_open = connection->Begin({.frames = options_.frames,
                                            .memory = holder,
                                            .on_excess = on_excess,
                                            .max_unread_time = absl::ToChronoNanoseconds(options_.max_unread_time),
                                            .on_unread = [on_unread = options_.on_unread, peer](size_t streams) {
                                              if (on_unread) on_unread(peer, streams);
                                            }});
    if (!is_open) return;
    RegisteredPeer registered(peer, holder);
    const uint64_t id = registered.id();
    const std::shared_lock entering(entering_);
    const OpenConnections::Added added = open_->Add(id, connection, peer);
    if (added.result == OpenConnections::Added::Result::kStopped) return connection->Close();
    if (added.result == OpenConnections::Added::Result::kFull) {
      Refuse(connection, Excess::kConnectionsOfAll);
      return on_excess(Excess::kConnectionsOfAll);
    }
    std::move(close_holder).Cancel();
    std::shared_ptr<void> use(nullptr, [open = open_, holder, id](void*) {
      holder->Close();
      open->Remove(id);
    });
    entrance_->Admit(std::move(connection), std::move(registered), std::move(use));
    EndDisplaced(added);
    // The config may have changed since the handshake.
    if (options_.tls != nullptr && !options_.is_caller(peer)) DismissStrangers();
  }

  // Thread-safe.
  void EndDisplaced(const OpenConnections::Added& added) const {
    if (added.overdue != nullptr) added.overdue->CloseAfter(std::chrono::seconds::zero());
    if (!added.displaced.has_value()) return;
    const auto& [connection, peer] = *added.displaced;
    connection->GoAway(MessageOf(Excess::kConnectionsOfAll));
    connection->CloseAfter(kDisplacement);
    if (options_.on_excess) options_.on_excess(peer, Excess::kConnectionsOfAll);
  }

  // Ends a connection that must not enter. If many such connections are still open, their clients learn no reason.
  // Thread-safe.
  void Refuse(const std::shared_ptr<Connection>& connection, Excess excess) {
    const MutexLock lock(refused_mutex_);
    while (!refused_.empty() && refused_.front().expired()) refused_.pop_front();
    if (refused_.size() >= kMaxRefused) return connection->Close();
    refused_.push_back(connection);
    connection->Refuse(excess);
  }

  // An IPv4 address that is mapped into IPv6 as an IPv4 address.
  static std::string PlainText(const asio::ip::address& address) {
    if (address.is_v6() && address.to_v6().is_v4_mapped()) {
      return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string();
    }
    return address.to_string();
  }

  const GrpcLibrary library_;
  const Options options_;
  const std::shared_ptr<EventLoops> loops_;
  std::string address_;
  std::unique_ptr<Entrance> entrance_;
  // Held while a connection is given to gRPC. If that happened while the server ends, gRPC would crash.
  std::shared_mutex entering_;
  const std::shared_ptr<OpenConnections> open_;
  const std::shared_ptr<MemoryAccount> memory_;
  Handshakes handshakes_;
  Mutex refused_mutex_;
  std::deque<std::weak_ptr<Connection>> refused_ ABSL_GUARDED_BY(refused_mutex_);
  std::optional<asio::basic_socket_acceptor<tcp, asio::io_context::executor_type>> acceptor_;
  std::optional<asio::steady_timer> timer_;
  std::optional<asio::steady_timer> recount_timer_;
  size_t next_ = 0;
  bool stopped_ = false;
  int reserve_ = -1;  // a descriptor that DropOne can use
};

}  // namespace

absl::StatusOr<std::unique_ptr<GrpcPort>> GrpcPort::Create(const Options& options, std::shared_ptr<EventLoops> loops,
                                                           grpc::ServerBuilder& builder) {
  try {
    auto port = std::make_unique<PassiveGrpcPort>(options, std::move(loops));
    ABSL_RETURN_IF_ERROR(port->Bind(builder));
    return port;
  } catch (const std::exception& error) {  // no descriptor or no memory
    return absl::UnavailableError(absl::StrCat("cannot listen on ", options.address, ": ", error.what()));
  }
}

}  // namespace stampgate
