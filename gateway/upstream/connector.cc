#include "gateway/upstream/connector.h"

#include <openssl/ssl.h>

#include <algorithm>
#include <boost/system/error_code.hpp>
#include <exception>
#include <limits>
#include <new>
#include <utility>

#include "gateway/upstream/failure.h"

namespace stampgate {
namespace {

// How long the CA certificates of the file are used before the file is read again. It is short, so that a new authority
// needs no restart, and long enough for a burst of new connections.
constexpr long kCaCacheSeconds = 5;

// More attempts at the same time would not be faster, because each handshake uses about a millisecond of the thread. In
// the process, they use at most 0.3 MiB of the arena for keys (see InitializeKeyMemory): 16 loops, with 2 KiB for an
// attempt.
constexpr int kMaxInProgress = 8;

long Milliseconds(absl::Duration duration) {
  return static_cast<long>(
      std::clamp<int64_t>(absl::ToInt64Milliseconds(duration), 1, std::numeric_limits<int32_t>::max()));
}

// One call of the system then reads a whole TLS record, or several.
CURLcode ReadAhead(CURL* /*easy*/, void* context, void* /*unused*/) {
  SSL_CTX_set_read_ahead(static_cast<SSL_CTX*>(context), 1);
  return CURLE_OK;
}

}  // namespace

Connector::Connector(EventLoop& loop, std::string base_url, const UpstreamOptions& options)
    : loop_(loop), base_url_(std::move(base_url)), options_(options), multi_(curl_multi_init()) {
  if (multi_ == nullptr) throw std::bad_alloc();
  curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETFUNCTION, &Connector::OnInterest);
  curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_.get(), CURLMOPT_TIMERFUNCTION, &Connector::OnTimeout);
  curl_multi_setopt(multi_.get(), CURLMOPT_TIMERDATA, this);
}

Connector::~Connector() {
  for (const auto& [id, attempt] : attempts_) {
    if (attempt->easy != nullptr) curl_multi_remove_handle(multi_.get(), attempt->easy.get());
  }
  attempts_.clear();
  multi_.reset();
  if (timer_.has_value()) loop_.CancelTimer(*timer_);
}

bool Connector::IsSupported(const std::string& base_url, const UpstreamOptions& options) {
  return MakeEasy(base_url, options) != nullptr;
}

Connector::Easy Connector::MakeEasy(const std::string& base_url, const UpstreamOptions& options) {
  Easy easy(curl_easy_init());
  bool ok = easy != nullptr;
  const auto set = [&easy, &ok](CURLoption option, auto value) {
    ok = ok && curl_easy_setopt(easy.get(), option, value) == CURLE_OK;
  };
  // The destination. Only the base URL determines the host; these options prevent everything else from changing it.
  set(CURLOPT_URL, base_url.c_str());
  set(CURLOPT_CONNECT_ONLY, 1L);
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_PROXY, "");  // with nullptr, libcurl would use the proxy in the environment
  set(CURLOPT_NOPROXY, "*");
  set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);

  // The servers that the client trusts.
  set(CURLOPT_SSL_VERIFYPEER, 1L);
  set(CURLOPT_SSL_VERIFYHOST, 2L);
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set(CURLOPT_SSL_CTX_FUNCTION, &ReadAhead);
  if (!options.ca_file.empty()) {
    set(CURLOPT_CAINFO, options.ca_file.c_str());
    set(CURLOPT_CAPATH, nullptr);  // otherwise libcurl would also trust Debian's /etc/ssl/certs
    set(CURLOPT_CA_CACHE_TIMEOUT, kCaCacheSeconds);
  }

  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_TCP_NODELAY, 1L);
  set(CURLOPT_FRESH_CONNECT, 1L);
  set(CURLOPT_CONNECTTIMEOUT_MS, Milliseconds(options.connect_timeout));
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_QUICK_EXIT, 1L);             // otherwise the end of an attempt could wait for the resolver
  set(CURLOPT_UPLOAD_BUFFERSIZE, 16384L);  // the smallest sizes, because each handle keeps this memory
  set(CURLOPT_BUFFERSIZE, 1024L);
  return ok ? std::move(easy) : nullptr;
}

Connector::AttemptId Connector::Connect(Done done) {
  const AttemptId id = ++last_id_;
  auto attempt = std::make_unique<Attempt>();
  attempt->id = id;
  attempt->done = std::move(done);
  attempts_.emplace(id, std::move(attempt));
  BeginQueued();
  return id;
}

void Connector::BeginQueued() {
  while (in_progress_ < kMaxInProgress) {
    const auto next = attempts_.lower_bound(next_);
    if (next == attempts_.end()) return;
    next_ = next->first + 1;
    ++in_progress_;
    if (std::chrono::steady_clock::now() - next->second->queued_at <
        absl::ToChronoNanoseconds(options_.connect_timeout)) {
      Begin(next->first);
    } else {
      loop_.Run([this, id = next->first] { End(id, CURLE_OPERATION_TIMEDOUT); });
    }
  }
}

void Connector::Begin(AttemptId id) {
  Attempt& attempt = *attempts_.at(id);
  attempt.easy = MakeEasy(base_url_, options_);
  CURL* const easy = attempt.easy.get();
  if (easy != nullptr && curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, attempt.error) == CURLE_OK &&
      curl_easy_setopt(easy, CURLOPT_PRIVATE, &attempt) == CURLE_OK &&
      (!resolves_again_ || curl_easy_setopt(easy, CURLOPT_DNS_CACHE_TIMEOUT, 0L) == CURLE_OK) &&
      curl_multi_add_handle(multi_.get(), easy) == CURLM_OK) {
    return;
  }
  attempt.easy = nullptr;
  loop_.Run([this, id] { End(id, CURLE_OUT_OF_MEMORY); });
}

void Connector::Cancel(AttemptId id) {
  const auto ended = attempts_.extract(id);
  if (ended.empty() || id >= next_) return;
  if (ended.mapped()->easy != nullptr) curl_multi_remove_handle(multi_.get(), ended.mapped()->easy.get());
  // The caller's deadline can be shorter than the time limit of connecting, so that no attempt ever fails.
  resolves_again_ = true;
  --in_progress_;
  BeginQueued();
}

int Connector::OnInterest(CURL* /*easy*/, curl_socket_t descriptor, int what, void* self, void* /*unused*/) {
  try {
    static_cast<Connector*>(self)->Want(descriptor, what == CURL_POLL_REMOVE ? 0 : what);
  } catch (const std::exception&) {  // memory is short; the time limit ends the attempt
  }
  return 0;
}

void Connector::Want(int descriptor, int wanted) {
  if (wanted == 0) {
    // The watch can live a little longer, in the function that is running.
    if (const auto ended = watches_.extract(descriptor); !ended.empty()) ended.mapped()->Release();
    return;
  }
  std::shared_ptr<Watch> watch = watches_[descriptor];
  if (watch == nullptr) {
    watch = std::make_shared<Watch>(loop_.io(), descriptor);
    watches_[descriptor] = watch;
  }
  watch->wanted = wanted;
  Wait(descriptor, watch);
}

void Connector::Wait(int descriptor, const std::shared_ptr<Watch>& watch) {
  using Descriptor = boost::asio::posix::descriptor_base;
  const auto wait = [&](bool& is_waiting, Descriptor::wait_type type, int event) {
    if (std::exchange(is_waiting, true)) return;
    watch->descriptor.async_wait(
        type, [this, descriptor, weak = std::weak_ptr<Watch>(watch), &is_waiting, event](boost::system::error_code) {
          const std::shared_ptr<Watch> self = weak.lock();
          if (self == nullptr) return;
          is_waiting = false;
          Act(descriptor, event);
          // libcurl does not call OnInterest again if it still waits for the same.
          const auto found = watches_.find(descriptor);
          if (found != watches_.end() && found->second == self) Wait(descriptor, self);
        });
  };
  if ((watch->wanted & CURL_POLL_IN) != 0) wait(watch->is_reading, Descriptor::wait_read, CURL_CSELECT_IN);
  if ((watch->wanted & CURL_POLL_OUT) != 0) wait(watch->is_writing, Descriptor::wait_write, CURL_CSELECT_OUT);
}

int Connector::OnTimeout(CURLM* /*multi*/, long milliseconds, void* data) {
  auto* self = static_cast<Connector*>(data);
  if (self->timer_.has_value()) self->loop_.CancelTimer(*self->timer_);
  self->timer_.reset();
  if (milliseconds < 0) return 0;
  // Not immediately, even if the timeout is zero, because libcurl must not be called from its own callback.
  try {
    self->timer_ = self->loop_.RunAfter(absl::Milliseconds(milliseconds), [self] {
      self->timer_.reset();
      self->Act(CURL_SOCKET_TIMEOUT, 0);
    });
  } catch (const std::exception&) {  // memory is short
    return -1;
  }
  return 0;
}

void Connector::Act(curl_socket_t descriptor, int events) {
  int running;
  curl_multi_socket_action(multi_.get(), descriptor, events, &running);
  int left;
  while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    Attempt* attempt = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &attempt);
    if (attempt != nullptr) End(attempt->id, code);
  }
}

void Connector::End(AttemptId id, CURLcode code) {
  const auto ended = attempts_.extract(id);
  if (ended.empty()) return;
  --in_progress_;
  Attempt& attempt = *ended.mapped();
  std::shared_ptr<UpstreamConnection> connection;
  if (code == CURLE_OK) {
    try {
      curl_easy_setopt(attempt.easy.get(), CURLOPT_ERRORBUFFER, nullptr);
      connection = std::make_shared<UpstreamConnection>(multi_.get(), attempt.easy.get(), loop_.io());
      static_cast<void>(attempt.easy.release());
    } catch (const std::exception&) {
      code = CURLE_OUT_OF_MEMORY;
    }
  }
  resolves_again_ = code != CURLE_OK;
  if (code != CURLE_OK && attempt.easy != nullptr) curl_multi_remove_handle(multi_.get(), attempt.easy.get());
  BeginQueued();
  attempt.done(std::move(connection), code == CURLE_OK ? TransportFailure() : ConnectFailure(code, attempt.error));
}

}  // namespace stampgate
