// The bytes to and from one peer, over TLS or not.
#ifndef STAMPGATE_WEBHOOKS_HTTP_PEER_STREAM_H_
#define STAMPGATE_WEBHOOKS_HTTP_PEER_STREAM_H_

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/strand.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <memory>
#include <optional>

#include "absl/functional/any_invocable.h"
#include "absl/strings/string_view.h"

namespace stampgate {

// Not thread-safe: everything happens on the socket's strand, the callbacks too, and never before the call returns. The
// stream lives until they have been called.
class PeerStream {
 public:
  using Strand = boost::asio::strand<boost::asio::io_context::executor_type>;
  using Socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, Strand>;
  using Done = absl::AnyInvocable<void(boost::system::error_code)>;
  using OnBytes = absl::AnyInvocable<void(boost::system::error_code, size_t)>;

  // Without `tls`, plain TCP. Keeps it, whatever is served to others meanwhile.
  PeerStream(Socket socket, std::shared_ptr<boost::asio::ssl::context> tls);

  Strand strand() { return socket_.get_executor(); }
  bool has_tls() const { return tls_.has_value(); }

  void Handshake(Done done);
  void Read(boost::asio::mutable_buffer into, OnBytes on_bytes);
  // All of `bytes`, which stay valid until then.
  void Write(absl::string_view bytes, Done done);

  // Ends the sending side, then throws away what it still sends until it ends too: closing with
  // unread bytes would reset the connection, and the peer might never see its answer. `done` says that the peer ended.
  void End(boost::asio::mutable_buffer scratch, Done done);

  // What is under way ends with an error.
  void Close();

 private:
  void Discard(boost::asio::mutable_buffer scratch, Done done);

  const std::shared_ptr<boost::asio::ssl::context> context_;
  Socket socket_;
  std::optional<boost::asio::ssl::stream<Socket&>> tls_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_HTTP_PEER_STREAM_H_
