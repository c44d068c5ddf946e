#include "gateway/upstream/multi.h"

#include <utility>

namespace stampgate {

CurlMulti::CurlMulti(EventLoop* loop, CurlMultiHandle multi, int max_connections, bool multiplex, OnDone on_done)
    : loop_(loop),
      on_done_(std::move(on_done)),
      timer_(loop, [this] { Act(CURL_SOCKET_TIMEOUT, 0); }),
      multi_(std::move(multi)) {
  curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETFUNCTION, &CurlMulti::OnInterest);
  curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_.get(), CURLMOPT_TIMERFUNCTION, &CurlMulti::OnTimeout);
  curl_multi_setopt(multi_.get(), CURLMOPT_TIMERDATA, this);
  curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, static_cast<long>(max_connections));
  curl_multi_setopt(multi_.get(), CURLMOPT_MAX_HOST_CONNECTIONS, static_cast<long>(max_connections));
  curl_multi_setopt(multi_.get(), CURLMOPT_PIPELINING, multiplex ? CURLPIPE_MULTIPLEX : CURLPIPE_NOTHING);
}

bool CurlMulti::Add(CURL* easy) { return curl_multi_add_handle(multi_.get(), easy) == CURLM_OK; }

void CurlMulti::Remove(CURL* easy) { curl_multi_remove_handle(multi_.get(), easy); }

int CurlMulti::OnInterest(CURL*, curl_socket_t descriptor, int what, void* data, void*) {
  auto* self = static_cast<CurlMulti*>(data);
  const int wanted = what == CURL_POLL_REMOVE
                         ? 0
                         : ((what & CURL_POLL_IN) ? UV_READABLE : 0) | ((what & CURL_POLL_OUT) ? UV_WRITABLE : 0);
  self->Poll(descriptor, wanted);
  return 0;
}

void CurlMulti::Poll(curl_socket_t descriptor, int wanted) {
  Socket& socket = sockets_[descriptor];
  if (socket.poll == nullptr && wanted != 0) {
    auto poll = std::make_unique<uv_poll_t>();
    if (uv_poll_init_socket(loop_->uv(), poll.get(), descriptor) != 0) return;  // the time limit ends the exchange
    poll->data = this;
    socket.poll.reset(poll.release());
  }
  socket.wanted = wanted;
  if (socket.poll == nullptr) return;
  if (wanted == 0) {
    uv_poll_stop(socket.poll.get());
  } else {
    uv_poll_start(socket.poll.get(), wanted, &CurlMulti::OnEvent);
  }
}

void CurlMulti::OnEvent(uv_poll_t* poll, int status, int events) {
  auto* self = static_cast<CurlMulti*>(poll->data);
  uv_os_fd_t descriptor;
  if (uv_fileno(reinterpret_cast<uv_handle_t*>(poll), &descriptor) != 0) return;
  if (status == 0) {
    self->Act(descriptor,
              ((events & UV_READABLE) ? CURL_CSELECT_IN : 0) | ((events & UV_WRITABLE) ? CURL_CSELECT_OUT : 0));
    return;
  }
  // libuv has stopped polling. This function reports the error to libcurl as readiness, so that libcurl reads the bytes
  // that arrived before the error, and then the error itself. If libcurl still waits for the socket after that, it does
  // not call OnInterest again, so this function polls the socket again.
  self->Act(descriptor, CURL_CSELECT_IN | CURL_CSELECT_OUT);
  const auto socket = self->sockets_.find(descriptor);
  if (socket != self->sockets_.end() && socket->second.wanted != 0) self->Poll(descriptor, socket->second.wanted);
}

int CurlMulti::OnTimeout(CURLM*, long milliseconds, void* data) {
  auto* self = static_cast<CurlMulti*>(data);
  if (milliseconds < 0) {
    self->timer_.Stop();
  } else {
    // Does not call Act, even if the timeout is zero, because libcurl must not be called from its own callback. A timer
    // with a delay of zero fires before the loop waits again.
    self->timer_.Start(absl::Milliseconds(milliseconds));
  }
  return 0;
}

void CurlMulti::Act(curl_socket_t descriptor, int events) {
  int running;
  curl_multi_socket_action(multi_.get(), descriptor, events, &running);
  int left;
  while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    CURL* const easy = message->easy_handle;
    const CURLcode code = message->data.result;  // a copy, because the removal destroys the message
    curl_multi_remove_handle(multi_.get(), easy);
    on_done_(easy, code);
  }
}

}  // namespace stampgate
