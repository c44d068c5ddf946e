#include "webhooks/receiver/connection.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/error.hpp>
#include <cstring>
#include <utility>

#include "webhooks/http/handshake_fault.h"
#include "webhooks/http/proxy_header.h"
#include "webhooks/http/source.h"

namespace stampgate {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

// The maximum duration of each of these steps: the TLS handshake, sending a response, and waiting until the peer closes
// the connection.
constexpr absl::Duration kPatience = absl::Seconds(5);

std::string SourceOfPeer(const PeerStream::Socket& socket) {
  error_code error;
  const asio::ip::tcp::endpoint peer = socket.remote_endpoint(error);
  return error ? std::string() : SourceOf(peer.address());  // empty if the peer has already disconnected
}

// Whether the request is the probe of a load balancer, which only asks whether the port serves HTTP.
bool IsProbe(const RequestHead& head) { return head.target == "/" && (head.method == "GET" || head.method == "HEAD"); }

// The Answer of a delivery. Sends the response once: the given status when the Answer is called, or 503 when the Answer
// is destroyed without a call.
class PendingAnswer {
 public:
  PendingAnswer(std::shared_ptr<HttpConnection> connection, std::unique_ptr<DeliveryCount::Token> token)
      : connection_(std::move(connection)), token_(std::move(token)) {}
  PendingAnswer(PendingAnswer&&) = default;
  PendingAnswer& operator=(PendingAnswer&&) = delete;
  ~PendingAnswer() { (*this)(503); }

  void operator()(int http_status) {
    if (connection_ == nullptr) return;
    connection_->Reply(http_status, std::move(token_));
    connection_.reset();
  }

 private:
  std::shared_ptr<HttpConnection> connection_;
  std::unique_ptr<DeliveryCount::Token> token_;
};

}  // namespace

HttpConnection::HttpConnection(std::shared_ptr<ReceiverState> state, PeerStream::Socket socket)
    : ConnectedPeer(SourceOfPeer(socket)),
      state_(std::move(state)),
      stream_(std::move(socket), state_->tls == nullptr ? nullptr : state_->tls->context()),
      timer_(stream_.executor()) {}

HttpConnection::~HttpConnection() { state_->peers.Leave(this); }

void HttpConnection::Start() {
  asio::post(stream_.executor(), [self = shared_from_this()] {
    if (self->phase_ == Phase::kClosed) return;
    self->client_ = self->stream_.remote();
    if (self->client_.has_value() && self->state_->options.proxies.Contains(*self->client_)) {
      self->SetDeadline(kPatience);
      self->ReadProxyHeaderFromSocket();
    } else {
      self->BeginTls();
    }
  });
}

void HttpConnection::ReadProxyHeaderFromSocket() {
  // Reads no byte after the header, because OpenSSL must read the bytes of TLS itself.
  const size_t wanted = ReadProxyHeader(unread()).bytes;
  stream_.ReadBeforeTls(asio::buffer(buffer_.data() + end_, wanted),
                        [self = shared_from_this()](error_code error, size_t count) {
                          if (self->phase_ == Phase::kClosed) return;
                          if (error) {
                            self->CloseNow();
                          } else {
                            self->OnProxyHeader(count);
                          }
                        });
}

void HttpConnection::OnProxyHeader(size_t count) {
  end_ += count;
  const ProxyHeader header = ReadProxyHeader(unread());
  switch (header.state) {
    case ProxyHeader::State::kMore:
      return ReadProxyHeaderFromSocket();
    case ProxyHeader::State::kDone:
      break;
    case ProxyHeader::State::kAbsent:
    case ProxyHeader::State::kMalformed:
      if (!stream_.has_tls()) return Refuse(HttpRefusal::kProxyHeaderMissing);
      if (state_->options.on_refused) state_->options.on_refused(HttpRefusal::kProxyHeaderMissing);
      return CloseNow();
  }
  begin_ = end_ = 0;
  if (header.client.has_value()) {
    client_ = header.client;
    state_->peers.SetSource(this, SourceOf(*client_));
  }
  BeginTls();
}

void HttpConnection::BeginTls() {
  if (!stream_.has_tls()) return BeginRequest();
  SetDeadline(kPatience);
  stream_.Handshake([self = shared_from_this()](error_code error) {
    if (error) {
      self->ReportFailedHandshake(error);
      self->CloseNow();
    } else if (self->phase_ == Phase::kHandshake) {
      self->BeginRequest();
    }
  });
}

void HttpConnection::ReportFailedHandshake(error_code error) {
  const bool is_from_tls = error.category() == asio::error::get_ssl_category();
  if (!state_->options.on_failed_handshake || !client_.has_value()) return;
  if (!is_from_tls && !stream_.has_hello()) return;
  state_->options.on_failed_handshake(client_->to_string(),
                                      HandshakeFault(is_from_tls ? static_cast<unsigned long>(error.value()) : 0));
}

void HttpConnection::Close() {
  asio::post(stream_.executor(), [self = shared_from_this()] { self->CloseNow(); });
}

void HttpConnection::CloseIfIdle() {
  asio::post(stream_.executor(), [self = shared_from_this()] {
    if (self->phase_ == Phase::kIdle) self->CloseNow();
  });
}

void HttpConnection::BeginRequest() {
  request_.emplace(state_->options.max_body_bytes);
  phase_ = Phase::kIdle;
  progress().Await(Clock::now());
  if (!unread().empty()) {
    OnBytes(0);  // the peer has already sent the next request
  } else {
    SetDeadline(state_->options.idle_timeout);
    Read();
  }
}

void HttpConnection::Read() {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  stream_.Read(asio::buffer(buffer_.data() + end_, buffer_.size() - end_),
               [self = shared_from_this()](error_code error, size_t count) {
                 if (self->phase_ == Phase::kClosed) return;
                 if (error) {
                   self->CloseNow();
                 } else {
                   self->OnBytes(count);
                 }
               });
}

void HttpConnection::OnBytes(size_t count) {
  end_ += count;
  if (phase_ == Phase::kIdle) {
    phase_ = Phase::kHead;
    request_began_ = Clock::now();
    progress().Await(request_began_);
    SetDeadline(std::min(state_->options.head_timeout, state_->options.request_timeout));
  }
  progress().Received(count);
  if (phase_ == Phase::kHead) {
    ReadHead();
  } else {
    ReadBody();
  }
}

void HttpConnection::ReadHead() {
  absl::string_view bytes = unread();
  if (may_be_proxy_header_) {
    const ProxyHeader::State header = ReadProxyHeader(bytes).state;
    if (header == ProxyHeader::State::kMore) return Read();
    if (header != ProxyHeader::State::kAbsent) return Refuse(HttpRefusal::kProxyHeaderUnexpected);
    may_be_proxy_header_ = false;
  }
  const RequestReader::State state = request_->ReadHead(bytes);
  begin_ = end_ - bytes.size();
  switch (state) {
    case RequestReader::State::kMore:
      Read();
      return;
    case RequestReader::State::kMalformed:
      Refuse(HttpRefusal::kMalformedHttp);
      return;
    case RequestReader::State::kUnsupported:
      Refuse(HttpRefusal::kUnsupportedHttp);
      return;
    case RequestReader::State::kTooLarge:
      Refuse(HttpRefusal::kHeadTooLarge);
      return;
    case RequestReader::State::kDone:
      break;
  }
  const RequestHead& head = request_->head();
  if (state_->paths.Has(head.target)) state_->peers.Prove(this, Clock::now());
  if (IsProbe(head) && !state_->deliveries.closed()) return SendAnswer(200, AfterAnswer::kClose);
  if (const std::optional<HttpRefusal> refusal = RefusalOf(head)) {
    Refuse(*refusal);
    return;
  }
  phase_ = Phase::kBody;
  SetDeadline(state_->options.request_timeout - absl::FromChrono(Clock::now() - request_began_));
  const bool has_body = head.chunked || head.content_length.value_or(0) > 0;
  if (!head.expects_continue || !has_body || !unread().empty()) {
    ReadBody();
    return;
  }
  stream_.Write("HTTP/1.1 100 Continue\r\n\r\n", [self = shared_from_this()](error_code error) {
    if (self->phase_ == Phase::kClosed) return;
    if (error) {
      self->CloseNow();
    } else {
      self->ReadBody();
    }
  });
}

std::optional<HttpRefusal> HttpConnection::RefusalOf(const RequestHead& head) const {
  if (state_->deliveries.closed()) return HttpRefusal::kDraining;
  if (!state_->paths.Has(head.target)) return HttpRefusal::kNotFound;
  if (head.method != "POST") return HttpRefusal::kMethodNotAllowed;
  if (head.content_length.value_or(0) > state_->options.max_body_bytes) return HttpRefusal::kTooLarge;
  return std::nullopt;
}

void HttpConnection::ReadBody() {
  absl::string_view bytes = unread();
  const RequestReader::State state = request_->ReadBody(bytes);
  begin_ = end_ - bytes.size();
  switch (state) {
    case RequestReader::State::kMore:
      Read();
      return;
    case RequestReader::State::kMalformed:
      Refuse(HttpRefusal::kMalformedHttp);
      return;
    case RequestReader::State::kUnsupported:
      Refuse(HttpRefusal::kUnsupportedHttp);
      return;
    case RequestReader::State::kTooLarge:
      Refuse(HttpRefusal::kTooLarge);
      return;
    case RequestReader::State::kDone:
      HandOver();
      return;
  }
}

void HttpConnection::HandOver() {
  std::unique_ptr<DeliveryCount::Token> token = state_->deliveries.Begin();
  if (token == nullptr) {
    Refuse(HttpRefusal::kDraining);
    return;
  }
  phase_ = Phase::kWorking;
  progress().Excuse();
  ClearDeadline();
  Delivery delivery{std::move(request_->head().fields), std::move(request_->body())};
  state_->take(std::move(delivery), PendingAnswer(shared_from_this(), std::move(token)));
}

void HttpConnection::Refuse(HttpRefusal refusal) {
  if (state_->options.on_refused) state_->options.on_refused(refusal);
  SendAnswer(HttpStatus(refusal), AfterAnswer::kClose);
}

void HttpConnection::Reply(int http_status, std::unique_ptr<DeliveryCount::Token> token) {
  // Posts even if Reply already runs on the loop, because `take` can call the Answer while HandOver is still running.
  asio::post(stream_.executor(), [self = shared_from_this(), http_status, token = std::move(token)]() mutable {
    if (self->phase_ != Phase::kWorking) return;
    self->token_ = std::move(token);
    const bool keep_alive =
        self->request_->head().keep_alive && !self->state_->deliveries.closed() && !self->state_->peers.IsCrowded();
    self->SendAnswer(http_status, keep_alive ? AfterAnswer::kKeepAlive : AfterAnswer::kClose);
  });
}

void HttpConnection::SendAnswer(int http_status, AfterAnswer after) {
  phase_ = Phase::kAnswering;
  progress().Excuse();
  SetDeadline(kPatience);
  answer_ = RenderAnswer(http_status, after);
  stream_.Write(answer_, [self = shared_from_this(), after](error_code error) {
    self->token_.reset();
    if (self->phase_ == Phase::kClosed) return;
    // A drain also closes connections whose last response contained keep-alive.
    if (error || (after == AfterAnswer::kKeepAlive && self->state_->deliveries.closed())) {
      self->CloseNow();
    } else if (after == AfterAnswer::kClose) {
      self->End();
    } else {
      self->BeginRequest();
    }
  });
}

void HttpConnection::End() {
  phase_ = Phase::kEnding;
  state_->peers.Retire(this);
  SetDeadline(kPatience);
  stream_.End(asio::buffer(buffer_), [self = shared_from_this()](error_code) { self->CloseNow(); });
}

void HttpConnection::CloseNow() {
  if (phase_ == Phase::kClosed) return;
  phase_ = Phase::kClosed;
  token_.reset();
  stream_.Close();
  timer_.cancel();
  state_->peers.Leave(this);
}

void HttpConnection::SetDeadline(absl::Duration delay) {
  // Clamps the delay, because an infinite duration cannot be converted.
  const absl::Duration bounded = std::clamp(delay, absl::ZeroDuration(), absl::Hours(24 * 365));
  deadline_ = Clock::now() + absl::ToChronoNanoseconds(bounded);
  if (!timer_ends_.has_value() || deadline_ < *timer_ends_) StartTimer();
}

void HttpConnection::ClearDeadline() { deadline_ = Clock::time_point::max(); }

// A request changes the deadline several times, nearly always to a later one. So the timer keeps its time, and looks at
// the deadline when it ends.
void HttpConnection::StartTimer() {
  timer_ends_ = deadline_;
  timer_.expires_at(deadline_);
  timer_.async_wait([self = shared_from_this()](error_code error) {
    // This handler can belong to an earlier time, if it was queued before the time was changed.
    if (error || self->phase_ == Phase::kClosed || !self->timer_ends_.has_value()) return;
    if (Clock::now() < *self->timer_ends_) return;
    self->timer_ends_.reset();
    if (self->deadline_ <= Clock::now()) return self->CloseNow();
    if (self->deadline_ != Clock::time_point::max()) self->StartTimer();
  });
}

}  // namespace stampgate
