#include "base/http/acceptor.h"

#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <cerrno>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/http/listen_address.h"

namespace stampgate {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// How long to wait before the next accept after a failed one. If no file descriptor was available, an immediate retry
// would fail again, because the connection still waits in the system's queue.
constexpr std::chrono::milliseconds kAcceptAgain(100);

}  // namespace

bool IsShortOfDescriptors(const error_code& error) {
  return error == asio::error::no_descriptors || error == error_code(ENFILE, error.category());
}

Acceptor::Acceptor(EventLoops& loops, int max_descriptor, std::function<void()> on_no_descriptor)
    : loops_(loops),
      max_descriptor_(max_descriptor),
      on_no_descriptor_(std::move(on_no_descriptor)),
      acceptor_(loops[0].io()),
      timer_(loops[0].io()) {}

absl::Status Acceptor::Listen(absl::string_view listen_address) {
  ABSL_ASSIGN_OR_RETURN(const ListenAddress address, ParseListenAddress(listen_address));
  error_code error;
  const tcp::endpoint endpoint(asio::ip::make_address(address.ip, error), address.port);
  if (!error) acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (!error) {
    const tcp::endpoint local = acceptor_.local_endpoint(error);
    const std::string host = local.address().is_v6() ? absl::StrCat("[", address.ip, "]") : address.ip;
    address_ = absl::StrCat(host, ":", local.port());
  }
  if (error) return absl::UnavailableError(absl::StrCat("cannot listen on ", listen_address, ": ", error.message()));
  return absl::OkStatus();
}

void Acceptor::Start(OnConnection on_connection) {
  on_connection_ = std::move(on_connection);
  loops_[0].Run([this] { Accept(); });
}

void Acceptor::Close() {
  if (std::exchange(closed_, true)) return;
  loops_[0].Run([this] {
    error_code ignored;
    acceptor_.close(ignored);
    timer_.cancel();
  });
  // Waits for the handlers, too, which the task above queues.
  for (int i = 0; i < 2; ++i) loops_.WaitForTasks();
}

void Acceptor::Accept() {
  asio::io_context& next = loops_[next_++ % loops_.size()].io();
  acceptor_.async_accept(next, [this](error_code error, PeerStream::Socket socket) {
    if (!acceptor_.is_open()) return;
    const bool has_no_descriptor = error ? IsShortOfDescriptors(error) : socket.native_handle() >= max_descriptor_;
    if (has_no_descriptor) {
      error_code ignored;
      socket.close(ignored);
      if (on_no_descriptor_) on_no_descriptor_();
      return AcceptLater();
    }
    if (error && error != asio::error::connection_aborted) return AcceptLater();
    if (!error) Give(std::move(socket));
    Accept();
  });
}

void Acceptor::AcceptLater() {
  timer_.expires_after(kAcceptAgain);
  timer_.async_wait([this](error_code) {
    if (acceptor_.is_open()) Accept();
  });
}

void Acceptor::Give(PeerStream::Socket socket) {
  try {
    on_connection_(std::move(socket));
  } catch (const std::exception&) {  // no memory for this connection; the acceptor must continue
  }
}

}  // namespace stampgate
