// Listens on a socket and accepts connections.
#ifndef STAMPGATE_BASE_HTTP_ACCEPTOR_H_
#define STAMPGATE_BASE_HTTP_ACCEPTOR_H_

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/wait_traits.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/http/peer_stream.h"
#include "base/loop/event_loops.h"

namespace stampgate {

// Whether an accept has failed with `error` because the process, or the whole machine, has no file descriptor left.
bool IsShortOfDescriptors(const boost::system::error_code& error);

// A listening socket, whose connections are divided among event loops. Not thread-safe.
class Acceptor {
 public:
  // Receives each accepted connection, which belongs to one of the loops. Runs on the first loop.
  using OnConnection = std::function<void(PeerStream::Socket)>;

  // Closes each connection whose descriptor has the number `max_descriptor` or a higher one: the system uses the lowest
  // free numbers, so the process then has few descriptors left. `on_no_descriptor` is called on the first loop when
  // this happens, or when the process has no descriptor left; it may be null. The loops must outlive the Acceptor.
  // Throws an exception if memory is short.
  explicit Acceptor(EventLoops& loops, int max_descriptor = std::numeric_limits<int>::max(),
                    std::function<void()> on_no_descriptor = nullptr);
  ~Acceptor() { Close(); }
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // Listens on `listen_address`, a text for ParseListenAddress. If the port in this text is 0, the system chooses a
  // port. Errors: kInvalidArgument, kUnavailable.
  absl::Status Listen(absl::string_view listen_address);

  // Returns the address of the socket in the form that URLs use: "127.0.0.1:34567", "[::1]:34567".
  const std::string& address() const { return address_; }

  // Accepts connections until Close, and passes them to `on_connection`. If `on_connection` throws, only that
  // connection is lost.
  void Start(OnConnection on_connection);

  // Stops accepting connections. `on_connection` is not called any more when Close has returned. Must not be called on
  // the thread of a loop.
  void Close();

 private:
  using Clock = std::chrono::steady_clock;

  void Accept();
  void AcceptLater();
  void Give(PeerStream::Socket socket);

  EventLoops& loops_;
  const int max_descriptor_;
  const std::function<void()> on_no_descriptor_;
  boost::asio::basic_socket_acceptor<boost::asio::ip::tcp, PeerStream::Executor> acceptor_;
  boost::asio::basic_waitable_timer<Clock, boost::asio::wait_traits<Clock>, PeerStream::Executor> timer_;
  size_t next_ = 0;  // the loop of the next connection
  bool closed_ = false;
  OnConnection on_connection_;
  std::string address_;
};

}  // namespace stampgate

#endif  // STAMPGATE_BASE_HTTP_ACCEPTOR_H_
