#include "gateway/admin_server.h"

#include <pthread.h>
#include <signal.h>

#include <array>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/wait_traits.hpp>
#include <boost/system/error_code.hpp>
#include <exception>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "webhooks/http_answer.h"
#include "webhooks/listen_address.h"
#include "webhooks/peer_stream.h"
#include "webhooks/request_reader.h"

namespace stampgate {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
using Timer = asio::basic_waitable_timer<Clock, asio::wait_traits<Clock>, PeerStream::Strand>;

// After a failure to accept, such as no descriptor left: the peer stays in the queue, and at once it would fail again.
constexpr std::chrono::milliseconds kAcceptAgain(100);

std::string Render(const AdminAnswer& answer, bool with_body) {
  std::string bytes = absl::StrCat(
      "HTTP/1.1 ", answer.http_status, " ", StatusPhrase(answer.http_status), "\r\nContent-Type: ", answer.content_type,
      "\r\nContent-Length: ", answer.body.size(), "\r\nCache-Control: no-store\r\nConnection: close\r\n");
  if (answer.http_status == 405) absl::StrAppend(&bytes, "Allow: GET, HEAD\r\n");
  absl::StrAppend(&bytes, "\r\n", with_body ? answer.body : "");
  return bytes;
}

// An answer that says no more than its status.
AdminAnswer Plain(int http_status) { return {http_status, absl::StrCat(StatusPhrase(http_status), "\n")}; }

// Lives until nothing is under way on it any more.
class AdminConnection : public std::enable_shared_from_this<AdminConnection> {
 public:
  AdminConnection(const AdminPages& pages, PeerStream::Socket socket)
      : pages_(pages), stream_(std::move(socket), nullptr), timer_(stream_.strand()) {}

  void Start(std::chrono::milliseconds timeout) {
    timer_.expires_after(timeout);
    timer_.async_wait([connection = shared_from_this()](error_code error) {
      if (!error) connection->Close();
    });
    Read();
  }

  void Close() {
    timer_.cancel();
    stream_.Close();
  }

 private:
  void Read() {
    stream_.Read(asio::buffer(input_.data() + size_, input_.size() - size_),
                 [connection = shared_from_this()](error_code error, size_t size) {
                   if (error) return connection->Close();
                   connection->Take(size);
                 });
  }

  void Take(size_t size) {
    size_ += size;
    absl::string_view bytes(input_.data(), size_);
    switch (reader_.ReadHead(bytes)) {
      case RequestReader::State::kMore:
        return size_ < input_.size() ? Read() : Send(Plain(431), true);
      case RequestReader::State::kDone:
        return Answer(reader_.head());
      case RequestReader::State::kMalformed:
        return Send(Plain(400), true);
      case RequestReader::State::kTooLarge:
        return Send(Plain(431), true);
    }
  }

  void Answer(const RequestHead& head) {
    const bool is_head = head.method == "HEAD";
    if (head.chunked || head.content_length.value_or(0) > 0) return Send(Plain(400), !is_head);
    const auto page = pages_.find(head.target.substr(0, head.target.find('?')));
    if (page == pages_.end()) return Send(Plain(404), !is_head);
    if (head.method != "GET" && !is_head) return Send(Plain(405), true);
    Send(page->second(), !is_head);
  }

  void Send(const AdminAnswer& answer, bool with_body) {
    output_ = Render(answer, with_body);
    stream_.Write(output_, [connection = shared_from_this()](error_code error) {
      if (error) return connection->Close();
      connection->stream_.End(asio::buffer(connection->input_),
                              [connection](error_code /*ended*/) { connection->Close(); });
    });
  }

  const AdminPages& pages_;
  PeerStream stream_;
  Timer timer_;
  RequestReader reader_{0};
  std::array<char, AdminServer::kMaxHeadBytes> input_;
  size_t size_ = 0;
  std::string output_;
};

class AsioAdminServer final : public AdminServer {
 public:
  AsioAdminServer(Options options, AdminPages pages)
      : options_(std::move(options)),
        pages_(std::move(pages)),
        strand_(asio::make_strand(io_)),
        acceptor_(strand_),
        timer_(strand_) {}

  ~AsioAdminServer() override {
    io_.stop();
    if (thread_.joinable()) thread_.join();
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
      url_ = absl::StrCat("http://", host, ":", local.port());
    }
    if (error) {
      return absl::UnavailableError(absl::StrCat("cannot listen on ", options_.listen_address, ": ", error.message()));
    }
    return absl::OkStatus();
  }

  void StartThread() {
    asio::post(strand_, [this] { Accept(); });
    // The thread inherits the mask: signals are for the main thread, and a broken pipe is an error code here.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const absl::Cleanup restore = [&before] { pthread_sigmask(SIG_SETMASK, &before, nullptr); };
    thread_ = std::thread([this] { Run(); });
    pthread_setname_np(thread_.native_handle(), "admin");
  }

  const std::string& url() const override { return url_; }

 private:
  // Nothing of ours throws, but Asio may when memory is short. The handler that threw is gone; the others go on.
  void Run() {
    while (true) {
      try {
        io_.run();
        return;
      } catch (const std::exception&) {
      }
    }
  }

  void Accept() {
    acceptor_.async_accept(asio::make_strand(io_), [this](error_code error, PeerStream::Socket socket) {
      if (error && error != asio::error::connection_aborted) return AcceptLater();
      if (!error) Welcome(std::move(socket));
      Accept();
    });
  }

  void AcceptLater() {
    timer_.expires_after(kAcceptAgain);
    timer_.async_wait([this](error_code) { Accept(); });
  }

  void Welcome(PeerStream::Socket socket) {
    try {
      connections_.remove_if([](const std::weak_ptr<AdminConnection>& connection) { return connection.expired(); });
      if (connections_.size() >= options_.max_connections) {
        if (const auto oldest = connections_.front().lock()) oldest->Close();
        connections_.pop_front();
      }
      const auto connection = std::make_shared<AdminConnection>(pages_, std::move(socket));
      connections_.push_back(connection);
      connection->Start(options_.connection_timeout);
    } catch (const std::exception&) {  // too little memory for one more: that must not end accepting
    }
  }

  const Options options_;
  const AdminPages pages_;
  // What waits in it holds connections, which use what is above. One thread runs it, so that all here is one after the
  // other.
  asio::io_context io_{1};
  const PeerStream::Strand strand_;
  asio::basic_socket_acceptor<tcp, PeerStream::Strand> acceptor_;
  Timer timer_;
  std::list<std::weak_ptr<AdminConnection>> connections_;  // in the order in which they came
  std::string url_;
  std::thread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<AdminServer>> AdminServer::Start(Options options, AdminPages pages) {
  const absl::StatusOr<ListenAddress> address = ParseListenAddress(options.listen_address);
  if (!address.ok()) return address.status();
  try {  // Asio's constructors throw when there is no descriptor or no thread to be had
    auto server = std::make_unique<AsioAdminServer>(std::move(options), std::move(pages));
    if (absl::Status listening = server->Listen(*address); !listening.ok()) return listening;
    server->StartThread();
    return server;
  } catch (const std::exception& error) {
    return absl::UnavailableError(absl::StrCat("cannot start: ", error.what()));
  }
}

}  // namespace stampgate
