// Listens on a socket and accepts connections.
#ifndef STAMPGATE_WEBHOOKS_HTTP_ACCEPTOR_H_
#define STAMPGATE_WEBHOOKS_HTTP_ACCEPTOR_H_

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/wait_traits.hpp>
#include <chrono>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "webhooks/http/peer_stream.h"

namespace stampgate {

// A listening socket. Not thread-safe, but several threads may run the socket's handlers in `io`. Destroy the Acceptor
// after these threads have ended.
class Acceptor {
 public:
  // Receives each accepted connection, which has its own strand. Calls of this function do not overlap.
  using OnConnection = std::function<void(PeerStream::Socket)>;

  // Throws an exception of Asio if no file descriptor is available.
  explicit Acceptor(boost::asio::io_context& io);

  // Listens on `listen_address`, a text for ParseListenAddress. If the port in this text is 0, the system chooses a
  // port. Errors: kInvalidArgument, kUnavailable.
  absl::Status Listen(absl::string_view listen_address);

  // Returns the address of the socket in the form that URLs use: "127.0.0.1:34567", "[::1]:34567".
  const std::string& address() const { return address_; }

  // Accepts connections until Close, and passes them to `on_connection`. If `on_connection` throws, only that
  // connection is lost.
  void Start(OnConnection on_connection);

  // Stops accepting connections. Call Close when no thread runs `io`.
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
