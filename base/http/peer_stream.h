// Reads bytes from one peer and writes bytes to it, over TLS or plain TCP.
#ifndef STAMPGATE_BASE_HTTP_PEER_STREAM_H_
#define STAMPGATE_BASE_HTTP_PEER_STREAM_H_

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <memory>
#include <optional>

#include "absl/functional/any_invocable.h"
#include "absl/strings/string_view.h"

namespace stampgate {

// A connection to one peer. Not thread-safe: call its functions on the event loop of the socket. Callbacks run on this
// loop, never inside of the function that received them. The stream must live until all callbacks have run.
class PeerStream {
 public:
  using Executor = boost::asio::io_context::executor_type;
  using Socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, Executor>;
  using Done = absl::AnyInvocable<void(boost::system::error_code)>;
  using OnBytes = absl::AnyInvocable<void(boost::system::error_code, size_t)>;

  // Uses plain TCP if `tls` is null. Uses `tls` until the connection ends, even if the port serves another certificate
  // later.
  PeerStream(Socket socket, std::shared_ptr<boost::asio::ssl::context> tls);

  Executor executor() { return socket_.get_executor(); }
  bool has_tls() const { return tls_.has_value(); }

  // Returns the address of the peer, or nothing if the peer has already disconnected.
  std::optional<boost::asio::ip::address> remote() const;

  // Reads bytes that the peer sends before the TLS handshake. Must not be called after Handshake.
  void ReadBeforeTls(boost::asio::mutable_buffer into, OnBytes on_bytes);
  void Handshake(Done done);
  // Whether the peer has sent the beginning of a TLS handshake. Must be called only with TLS.
  bool has_hello();
  void Read(boost::asio::mutable_buffer into, OnBytes on_bytes);
  // Writes all of `bytes`, which must stay valid until `done` is called.
  void Write(absl::string_view bytes, Done done);

  // Closes the sending side, and discards received bytes until the peer closes its side. Calls `done` when the peer has
  // closed its side or reading fails. If Close were called while received bytes are unread, the system would reset the
  // connection, and the peer might not receive its response.
  void End(boost::asio::mutable_buffer scratch, Done done);

  // Cancels the pending operation, whose callback then gets an error, or its result if it has just ended.
  void Cancel();

  // Closes the connection. Pending operations fail.
  void Close();

 private:
  void Discard(boost::asio::mutable_buffer scratch, Done done);

  const std::shared_ptr<boost::asio::ssl::context> context_;
  Socket socket_;
  std::optional<boost::asio::ssl::stream<Socket&>> tls_;
};

}  // namespace stampgate

#endif  // STAMPGATE_BASE_HTTP_PEER_STREAM_H_
