#include "base/http/peer_stream.h"

#include <openssl/ssl.h>

#include <boost/asio/socket_base.hpp>
#include <boost/asio/write.hpp>
#include <utility>

namespace stampgate {

namespace asio = boost::asio;
using boost::system::error_code;

PeerStream::PeerStream(Socket socket, std::shared_ptr<asio::ssl::context> tls)
    : context_(std::move(tls)), socket_(std::move(socket)) {
  if (context_ != nullptr) tls_.emplace(socket_, *context_);
  // Without this option, the system would delay a final response until the peer has acknowledged the interim response.
  error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  // Sets a small send buffer, so that writes block soon if a peer does not read its responses, which are short.
  socket_.set_option(asio::socket_base::send_buffer_size(16 << 10), ignored);
}

std::optional<asio::ip::address> PeerStream::remote() const {
  error_code error;
  const asio::ip::tcp::endpoint peer = socket_.remote_endpoint(error);
  if (error) return std::nullopt;
  return peer.address();
}

void PeerStream::ReadBeforeTls(asio::mutable_buffer into, OnBytes on_bytes) {
  socket_.async_read_some(into, std::move(on_bytes));
}

bool PeerStream::has_hello() { return SSL_get_state(tls_->native_handle()) != TLS_ST_BEFORE; }

void PeerStream::Handshake(Done done) { tls_->async_handshake(asio::ssl::stream_base::server, std::move(done)); }

void PeerStream::Read(asio::mutable_buffer into, OnBytes on_bytes) {
  if (tls_.has_value()) {
    tls_->async_read_some(into, std::move(on_bytes));
  } else {
    socket_.async_read_some(into, std::move(on_bytes));
  }
}

void PeerStream::Write(absl::string_view bytes, Done done) {
  auto on_written = [done = std::move(done)](error_code error, size_t) mutable { done(error); };
  const asio::const_buffer buffer(bytes.data(), bytes.size());
  if (tls_.has_value()) {
    asio::async_write(*tls_, buffer, std::move(on_written));
  } else {
    asio::async_write(socket_, buffer, std::move(on_written));
  }
}

void PeerStream::End(asio::mutable_buffer scratch, Done done) {
  if (!tls_.has_value()) {
    Discard(scratch, std::move(done));
    return;
  }
  // Completes when the peer has sent its close notification, or with an error if the peer sends other data. Both
  // outcomes are fine.
  tls_->async_shutdown(
      [this, scratch, done = std::move(done)](error_code) mutable { Discard(scratch, std::move(done)); });
}

void PeerStream::Discard(asio::mutable_buffer scratch, Done done) {
  error_code ignored;
  socket_.shutdown(asio::socket_base::shutdown_send, ignored);
  socket_.async_read_some(scratch, [this, scratch, done = std::move(done)](error_code error, size_t) mutable {
    if (error) {
      done(error);
    } else {
      Discard(scratch, std::move(done));
    }
  });
}

void PeerStream::Cancel() {
  error_code ignored;
  socket_.cancel(ignored);
}

void PeerStream::Close() {
  error_code ignored;
  socket_.close(ignored);
}

}  // namespace stampgate
