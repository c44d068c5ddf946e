#include "gateway/upstream/connection.h"

#include <openssl/ssl.h>
#include <sys/socket.h>

#include <boost/asio/post.hpp>
#include <boost/system/error_code.hpp>
#include <cerrno>
#include <utility>

namespace stampgate {
namespace {

int DescriptorOf(CURL* easy) {
  curl_socket_t descriptor = CURL_SOCKET_BAD;
  curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &descriptor);
  return descriptor;
}

// Returns null without TLS, and before the first use of the connection.
const SSL* SslOf(CURL* easy) {
  const curl_tlssessioninfo* tls = nullptr;
  curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &tls);
  if (tls == nullptr || tls->backend != CURLSSLBACKEND_OPENSSL) return nullptr;
  return static_cast<const SSL*>(tls->internals);
}

}  // namespace

UpstreamConnection::UpstreamConnection(CURLM* multi, CURL* easy, boost::asio::io_context& io)
    : multi_(multi), easy_(easy), fd_(DescriptorOf(easy)), descriptor_(io.get_executor(), fd_) {}

UpstreamConnection::~UpstreamConnection() {
  descriptor_.release();  // libcurl closes the descriptor
  curl_multi_remove_handle(multi_, easy_);
  curl_easy_cleanup(easy_);
}

UpstreamConnection::Result UpstreamConnection::Send(absl::string_view& bytes) {
  size_t sent = 0;
  const CURLcode code = curl_easy_send(easy_, bytes.data(), bytes.size(), &sent);
  if (code == CURLE_AGAIN) return Result::kLater;
  if (code != CURLE_OK) return Result::kBroken;
  bytes.remove_prefix(sent);
  return Result::kSome;
}

UpstreamConnection::Result UpstreamConnection::Receive(char* buffer, size_t size, absl::string_view& received) {
  size_t count = 0;
  const CURLcode code = curl_easy_recv(easy_, buffer, size, &count);
  if (code == CURLE_AGAIN) return Result::kLater;
  if (code != CURLE_OK) return Result::kBroken;
  if (count == 0) return Result::kEnded;
  received = {buffer, count};
  return Result::kSome;
}

void UpstreamConnection::ReadLater(OnReady ready) {
  reading_.ready = std::move(ready);
  boost::asio::post(descriptor_.get_executor(), [weak = weak_from_this()] {
    const std::shared_ptr<UpstreamConnection> self = weak.lock();
    if (self != nullptr && self->reading_.ready) std::exchange(self->reading_.ready, nullptr)();
  });
}

void UpstreamConnection::StopWaiting() {
  reading_.ready = nullptr;
  writing_.ready = nullptr;
}

bool UpstreamConnection::IsQuiet() const {
  if (const SSL* const ssl = SslOf(easy_); ssl != nullptr && SSL_has_pending(ssl) != 0) return false;
  char byte;
  return recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

void UpstreamConnection::Wait(Waiting& waiting, Descriptor::wait_type type, OnReady ready) {
  waiting.ready = std::move(ready);
  if (std::exchange(waiting.is_pending, true)) return;
  descriptor_.async_wait(type, [weak = weak_from_this(), &waiting](boost::system::error_code) {
    // `waiting` is a part of the connection, and exists as long as it.
    const std::shared_ptr<UpstreamConnection> self = weak.lock();
    if (self == nullptr) return;
    waiting.is_pending = false;
    if (waiting.ready) std::exchange(waiting.ready, nullptr)();
  });
}

}  // namespace stampgate
