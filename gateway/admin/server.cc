#include "gateway/admin/server.h"

#include <algorithm>
#include <array>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/wait_traits.hpp>
#include <boost/system/error_code.hpp>
#include <exception>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "base/http/acceptor.h"
#include "base/http/peer_stream.h"
#include "base/http/request_reader.h"
#include "base/http/response.h"
#include "base/loop/event_loops.h"

namespace stampgate {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
using Timer = asio::basic_waitable_timer<Clock, asio::wait_traits<Clock>, PeerStream::Executor>;

std::string Render(const AdminAnswer& answer, bool with_body) {
  std::string bytes = absl::StrCat(
      "HTTP/1.1 ", answer.http_status, " ", StatusPhrase(answer.http_status), "\r\nContent-Type: ", answer.content_type,
      "\r\nContent-Length: ", answer.body.size(), "\r\nCache-Control: no-store\r\nConnection: close\r\n");
  if (answer.http_status == 405) absl::StrAppend(&bytes, "Allow: GET, HEAD\r\n");
  absl::StrAppend(&bytes, "\r\n", with_body ? answer.body : "");
  return bytes;
}

// Returns the peer's address. For IPv6, returns the address of the peer's /64 network. If the peer has already
// disconnected, returns the unspecified address.
asio::ip::address SourceOf(const PeerStream::Socket& socket) {
  error_code error;
  const asio::ip::address address = socket.remote_endpoint(error).address();
  if (error || !address.is_v6() || address.to_v6().is_v4_mapped()) return address;
  asio::ip::address_v6::bytes_type bytes = address.to_v6().to_bytes();
  std::fill(bytes.begin() + bytes.size() / 2, bytes.end(), 0);
  return asio::ip::address_v6(bytes);
}

// Returns a page with this status, whose body is the name of the status.
AdminAnswer Plain(int http_status) { return {http_status, absl::StrCat(StatusPhrase(http_status), "\n")}; }

// One connection. The pending operations of a connection own it, so the connection is destroyed after the last of these
// operations.
class AdminConnection : public std::enable_shared_from_this<AdminConnection> {
 public:
  AdminConnection(const AdminPages& pages, PeerStream::Socket socket)
      : pages_(pages), stream_(std::move(socket), nullptr), timer_(stream_.executor()) {}

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
      case RequestReader::State::kUnsupported:
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
      : options_(std::move(options)), pages_(std::move(pages)), loops_(1, "admin"), acceptor_(loops_) {}

  ~AsioAdminServer() override {
    acceptor_.Close();
    loops_[0].Run([this] {
      for (const Open& open : open_) {
        if (const auto connection = open.connection.lock()) connection->Close();
      }
    });
  }

  absl::Status Listen() {
    ABSL_RETURN_IF_ERROR(acceptor_.Listen(options_.listen_address));
    url_ = absl::StrCat("http://", acceptor_.address());
    return absl::OkStatus();
  }

  void Start() {
    acceptor_.Start([this](PeerStream::Socket socket) { Welcome(std::move(socket)); });
  }

  const std::string& url() const override { return url_; }

 private:
  struct Open {
    asio::ip::address source;
    std::weak_ptr<AdminConnection> connection;
  };

  void Welcome(PeerStream::Socket socket) {
    open_.remove_if([](const Open& open) { return open.connection.expired(); });
    if (open_.size() >= options_.max_connections) CloseOne();
    const asio::ip::address source = SourceOf(socket);
    const auto connection = std::make_shared<AdminConnection>(pages_, std::move(socket));
    open_.push_back({source, connection});
    connection->Start(options_.connection_timeout);
  }

  // Closes the oldest connection of the source that has the most connections.
  void CloseOne() {
    std::map<asio::ip::address, size_t> counts;
    for (const Open& open : open_) ++counts[open.source];
    const auto most = absl::c_max_element(counts, [](const auto& a, const auto& b) { return a.second < b.second; });
    const auto oldest = absl::c_find_if(open_, [&](const Open& open) { return open.source == most->first; });
    if (const auto connection = oldest->connection.lock()) connection->Close();
    open_.erase(oldest);
  }

  const Options options_;
  const AdminPages pages_;
  std::list<Open> open_;  // in order of arrival; used only on the loop
  std::string url_;
  // A loop of its own, because the pages report whether the loops of the calls respond. It waits for the connections,
  // which use the members above.
  EventLoops loops_;
  Acceptor acceptor_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<AdminServer>> AdminServer::Start(Options options, AdminPages pages) {
  try {  // Asio's constructors throw when the system is out of descriptors or threads
    auto server = std::make_unique<AsioAdminServer>(std::move(options), std::move(pages));
    ABSL_RETURN_IF_ERROR(server->Listen());
    server->Start();
    return server;
  } catch (const std::exception& error) {
    return absl::UnavailableError(absl::StrCat("cannot start: ", error.what()));
  }
}

}  // namespace stampgate
