#include "webhooks/receiver/connection.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/error.hpp>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/http/handshake_fault.h"
#include "base/http/proxy_header.h"
#include "base/http/source.h"
#include "webhooks/receiver/path_set.h"

namespace stampgate {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

// The maximum duration of each of these steps: the TLS handshake, sending a response, and waiting until the peer closes
// the connection.
constexpr absl::Duration kPatience = absl::Seconds(5);

// Clamps the duration, because an infinite one cannot be converted.
std::chrono::nanoseconds Bounded(absl::Duration duration) {
  return absl::ToChronoNanoseconds(std::clamp(duration, absl::ZeroDuration(), absl::Hours(24 * 365)));
}

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
  PendingAnswer(const std::shared_ptr<HttpConnection>& connection, std::shared_ptr<HeldBody> held,
                std::unique_ptr<DeliveryCount::Token> token)
      : connection_(connection), held_(std::move(held)), token_(std::move(token)) {}
  PendingAnswer(PendingAnswer&&) = default;
  PendingAnswer& operator=(PendingAnswer&&) = delete;
  ~PendingAnswer() { (*this)(503); }

  void operator()(int http_status) {
    const std::shared_ptr<HttpConnection> connection = connection_.lock();
    connection_.reset();
    if (connection != nullptr) connection->Reply(http_status, std::move(held_), std::move(token_));
    held_.reset();
    token_.reset();
  }

 private:
  std::weak_ptr<HttpConnection> connection_;
  std::shared_ptr<HeldBody> held_;
  std::unique_ptr<DeliveryCount::Token> token_;
};

}  // namespace

HttpConnection::HttpConnection(std::shared_ptr<ReceiverState> state, PeerStream::Socket socket)
    : ConnectedPeer(state->options.min_bytes_per_second),
      state_(std::move(state)),
      source_(SourceOfPeer(socket)),
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
    source_ = SourceOf(*client_);
    state_->peers.SetSource(this, source_);
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
                 if (self->phase_ == Phase::kRefusing) return self->Refuse(self->refusal_);
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
  progress().Received(count, Clock::now());
  if (phase_ == Phase::kHead) {
    ReadHead();
  } else {
    SetBodyDeadline();
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
  const size_t head_bytes = bytes.size();
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
  const std::vector<std::string> paths = state_->options.paths();
  const bool has_path = HasPath(paths, head.target);
  if (has_path) state_->peers.Know(this);
  if (IsProbe(head) && !state_->deliveries.closed()) return SendAnswer(200, AfterAnswer::kClose);
  if (const std::optional<HttpRefusal> refusal = RefusalOf(head, has_path, paths.empty())) {
    Refuse(*refusal);
    return;
  }
  if (!HoldBody(head_bytes - bytes.size())) return Refuse(HttpRefusal::kMaxBytesReached);
  phase_ = Phase::kBody;
  progress().Await(Clock::now());
  SetBodyDeadline();
  const bool has_body = head.chunked || head.content_length.value_or(0) > 0;
  if (!head.expects_continue || !has_body || !unread().empty()) {
    ReadBody();
    return;
  }
  stream_.Write("HTTP/1.1 100 Continue\r\n\r\n", [self = shared_from_this()](error_code error) {
    if (self->phase_ == Phase::kClosed) return;
    if (self->phase_ == Phase::kRefusing) return self->Refuse(self->refusal_);
    if (error) {
      self->CloseNow();
    } else {
      self->ReadBody();
    }
  });
}

std::optional<HttpRefusal> HttpConnection::RefusalOf(const RequestHead& head, bool has_path, bool has_none) const {
  if (state_->deliveries.closed()) return HttpRefusal::kDraining;
  if (!has_path) return has_none ? HttpRefusal::kNoPath : HttpRefusal::kNotFound;
  if (head.method != "POST") return HttpRefusal::kMethodNotAllowed;
  if (head.content_length.value_or(0) > state_->options.max_body_bytes) return HttpRefusal::kTooLarge;
  return std::nullopt;
}

bool HttpConnection::HoldBody(size_t head_bytes) {
  // The account can end the delivery when the connection has already read its end.
  held_ = state_->bodies->Begin(source_, head_bytes, Clock::now(), [connection = weak_from_this()] {
    const std::shared_ptr<HttpConnection> self = connection.lock();
    if (self == nullptr) return;
    asio::post(self->stream_.executor(), [self] {
      if (self->phase_ == Phase::kBody) self->RefuseBody(HttpRefusal::kMaxBytesReached);
    });
  });
  return held_ != nullptr;
}

void HttpConnection::ReadBody() {
  absl::string_view bytes = unread();
  const size_t most = request_->head().content_length.value_or(state_->options.max_body_bytes);
  RequestReader::State state = RequestReader::State::kMore;
  const auto read = [&](std::string& piece) { state = request_->ReadBody(bytes, piece); };
  if (!held_->Grow(bytes.size(), most, Clock::now()) || !held_->Read(read)) {
    return Refuse(HttpRefusal::kMaxBytesReached);
  }
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
  std::optional<std::string> body = held_->Finish(Clock::now());
  if (!body.has_value()) return Refuse(HttpRefusal::kMaxBytesReached);
  phase_ = Phase::kWorking;
  progress().Excuse();
  ClearDeadline();
  keep_alive_ = request_->head().keep_alive;
  Delivery delivery{std::move(request_->head().fields), *std::move(body)};
  request_.reset();
  self_ = shared_from_this();
  state_->take(std::move(delivery), PendingAnswer(self_, std::move(held_), std::move(token)));
}

void HttpConnection::Refuse(HttpRefusal refusal) {
  held_.reset();
  request_.reset();
  if (state_->options.on_refused) state_->options.on_refused(refusal);
  SendAnswer(HttpStatus(refusal), AfterAnswer::kClose);
}

void HttpConnection::RefuseBody(HttpRefusal refusal) {
  phase_ = Phase::kRefusing;
  refusal_ = refusal;
  held_.reset();
  SetDeadline(kPatience);
  stream_.Cancel();
}

void HttpConnection::Reply(int http_status, std::shared_ptr<HeldBody> held,
                           std::unique_ptr<DeliveryCount::Token> token) {
  // Posts even if Reply already runs on the loop, because `take` can call the Answer while HandOver is still running.
  asio::post(stream_.executor(),
             [self = shared_from_this(), http_status, held = std::move(held), token = std::move(token)]() mutable {
               held.reset();
               self->self_.reset();
               if (http_status == 200) self->state_->proven->Prove(self->source_, Clock::now());
               if (self->phase_ != Phase::kWorking) return;
               self->token_ = std::move(token);
               const bool keep_alive = self->keep_alive_ && !self->state_->deliveries.closed();
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
  self_.reset();
  held_.reset();
  token_.reset();
  stream_.Close();
  timer_.cancel();
  state_->peers.Leave(this);
}

void HttpConnection::SetDeadline(absl::Duration delay) { SetDeadline(Clock::now() + Bounded(delay)); }

void HttpConnection::SetBodyDeadline() {
  SetDeadline(std::min(request_began_ + Bounded(state_->options.request_timeout), *progress().bound()));
}

void HttpConnection::SetDeadline(Clock::time_point deadline) {
  deadline_ = deadline;
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
    if (self->deadline_ <= Clock::now()) {
      if (self->phase_ != Phase::kBody) return self->CloseNow();
      return self->RefuseBody(HttpRefusal::kTooSlow);
    }
    if (self->deadline_ != Clock::time_point::max()) self->StartTimer();
  });
}

}  // namespace stampgate
