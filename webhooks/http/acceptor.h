// A listening socket that accepts connections, and the loop that runs its handlers.
#ifndef STAMPGATE_WEBHOOKS_HTTP_ACCEPTOR_H_
#define STAMPGATE_WEBHOOKS_HTTP_ACCEPTOR_H_

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/wait_traits.hpp>
#include <chrono>
#include <exception>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "webhooks/http/peer_stream.h"

namespace stampgate {

// Runs handlers of an io_context by `body`, such as its run(), until that returns. Our code throws nothing, but Asio
// may when memory is short: the handler that threw is lost together with what only it owned; the others continue.
template <typename Body>
void RunHandlers(Body body) {
  while (true) {
    try {
      body();
      return;
    } catch (const std::exception&) {
    }
  }
}

// Not thread-safe, except that any thread may run its handlers in `io`. Destroy it after those threads have ended.
class Acceptor {
 public:
  // Receives a connection, which has its own strand. Called once at a time.
  using OnConnection = std::function<void(PeerStream::Socket)>;

  // Throws what Asio's constructors throw when no descriptor is available.
  explicit Acceptor(boost::asio::io_context& io);

  // Listens on `listen_address`, a text for ParseListenAddress; with port 0 the system chooses one. Errors:
  // kInvalidArgument, kUnavailable.
  absl::Status Listen(absl::string_view listen_address);

  // The address it listens on, as in a URL: "127.0.0.1:34567", "[::1]:34567".
  const std::string& address() const { return address_; }

  // Accepts until Close. If `on_connection` throws, only that connection is lost.
  void Start(OnConnection on_connection);

  // Call when no thread runs `io`.
  void Close();

 private:
  using Clock = std::chrono::steady_clock;

  void Accept();
  void AcceptLater();
  void Give(PeerStream::Socket socket);

  boost::asio::io_context& io_;
  const PeerStream::Strand strand_;
  boost::asio::basic_socket_acceptor<boost::asio::ip::tcp, PeerStream::Strand> acceptor_;
  boost::asio::basic_waitable_timer<Clock, boost::asio::wait_traits<Clock>, PeerStream::Strand> timer_;
  OnConnection on_connection_;
  std::string address_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_HTTP_ACCEPTOR_H_
