#include "gateway/upstream/client.h"

#include <curl/curl.h>

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <list>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gateway/upstream/base_url.h"
#include "gateway/upstream/ca_certificates.h"
#include "gateway/upstream/connection_table.h"
#include "gateway/upstream/event_loop.h"
#include "gateway/upstream/multi.h"
#include "gateway/upstream/transfer.h"
#include "stamp/secret/file.h"

namespace stampgate {
namespace {

using Cause = TransportFailure::Cause;

// The number of calls that libcurl runs at the same time on one HTTP/2 connection.
constexpr int kStreamsPerConnection = 100;

// The number of places in the lane of key sets. UpstreamOptions explains places.
constexpr int kKeySetPlaces = 2;

// Returns the number of all places, so that libcurl has a connection for each exchange and never makes an exchange
// wait. The places of submits and of detached submits are together sufficient for all submits, because a submit begins
// only while a place for a detached submit is free.
int MaxConnections(const UpstreamClient::Options& options) {
  return 2 * options.max_connections + options.max_detached + kKeySetPlaces;
}

// Only the loop's thread uses the members, except loop_ and next_id_.
class CurlUpstreamClient final : public UpstreamClient {
 public:
  CurlUpstreamClient(std::string base_url, const Options& options, std::unique_ptr<EventLoop> loop,
                     CurlMultiHandle multi)
      : base_url_(std::move(base_url)),
        options_(options),
        queues_({Queue{options.max_connections}, Queue{options.max_connections}, Queue{kKeySetPlaces}}),
        loop_(std::move(loop)) {
    loop_->Run([this, multi = std::move(multi)]() mutable {
      multi_.emplace(loop_.get(), std::move(multi), MaxConnections(options_), options_.http2,
                     [this](CURL* easy, CURLcode code) { OnEnded(easy, code); });
    });
  }

  ~CurlUpstreamClient() override {
    Shutdown(absl::ZeroDuration());
    loop_->Run([this] {
      idle_.clear();
      multi_.reset();
    });
    loop_.reset();
  }

  CallId Post(StampedRequest request, const CallOptions& options, Done done, Done late) override {
    return Enqueue(std::move(request), options, std::move(done), std::move(late));
  }

  CallId Get(DiscoveryRequest request, const CallOptions& options, Done done) override {
    return Enqueue(std::move(request), options, std::move(done), nullptr);
  }

  void Cancel(CallId id) override {
    loop_->Run([this, id] {
      const auto found = calls_.find(id);
      if (found != calls_.end()) Abandon(*found->second, Cause::kCancelled);
    });
  }

  void Shutdown(absl::Duration grace) override {
    std::promise<void> ended;
    const std::future<void> end = ended.get_future();
    loop_->Run([this, grace, ended = std::move(ended)]() mutable {
      shutting_down_ = true;
      drains_.push_back({std::move(ended), Timer(loop_.get(), [this] { EndAll(); })});
      drains_.back().timer.Start(grace);
      NotifyIfDrained();
    });
    end.wait();
  }

 private:
  using Request = std::variant<StampedRequest, DiscoveryRequest>;

  struct Call {
    CallId id;
    Request request;
    CallOptions options;
    Done done;  // empty after the exchange was detached
    Done late;
    std::optional<Timer> timer;              // for the deadline
    std::unique_ptr<CurlTransfer> transfer;  // null while the call waits for a place
    std::list<Call*>::iterator position;     // in Queue::waiting or in detached_
    Clock::time_point begun_at;              // when the transfer started
    Clock::time_point detached_at;
  };

  // The calls of a lane that are not detached.
  struct Queue {
    int places;
    int begun = 0;
    std::list<Call*> waiting = {};  // the calls that wait for a place, in order of arrival
  };

  struct Drain {
    std::promise<void> ended;
    Timer timer;
  };

  CallId Enqueue(Request request, const CallOptions& options, Done done, Done late) {
    const CallId id = next_id_.fetch_add(1, std::memory_order_relaxed);
    auto call = std::make_unique<Call>(
        Call{id, std::move(request), options, std::move(done), std::move(late), {}, nullptr, {}, {}, {}});
    loop_->Run([this, call = std::move(call)]() mutable { Accept(std::move(call)); });
    return id;
  }

  void Accept(std::unique_ptr<Call> call) {
    if (shutting_down_) return call->done(TransportFailure{Cause::kShutdown, false, "the client is shut down"});
    const Clock::time_point now = Clock::now();
    if (call->options.deadline <= now) return call->done(Abandoned(Cause::kTimeout, false));
    if (call->options.deadline != Clock::time_point::max()) {
      call->timer.emplace(loop_.get(), [this, raw = call.get()] { Abandon(*raw, Cause::kTimeout); });
      call->timer->Start(absl::FromChrono(call->options.deadline - now));
    }
    std::list<Call*>& waiting = QueueOf(*call).waiting;
    call->position = waiting.insert(waiting.end(), call.get());
    const Lane lane = call->options.lane;
    calls_.emplace(call->id, std::move(call));
    StartWaiting();
    ObserveLane(lane);
  }

  Queue& QueueOf(const Call& call) { return queues_[static_cast<size_t>(call.options.lane)]; }

  bool HasPlace(const Queue& queue) const {
    if (&queue == &queues_[static_cast<size_t>(Lane::kSubmit)] &&
        static_cast<int>(detached_.size()) >= options_.max_detached * calls_per_place_) {
      return false;
    }
    return queue.begun < queue.places * calls_per_place_;
  }

  // A call that waits has no transfer. So it needs no easy handle, and its waiting time does not count towards the
  // exchange timeout. If the call waited inside libcurl, the waiting time would count.
  void StartWaiting() {
    for (Queue& queue : queues_) {
      while (HasPlace(queue) && !queue.waiting.empty()) {
        Call& call = *queue.waiting.front();
        queue.waiting.pop_front();
        const Lane lane = call.options.lane;
        if (Begin(call)) {
          ++queue.begun;
          call.begun_at = Clock::now();
        } else {
          End(call, TransportFailure{Cause::kBroken, false, "the request cannot be sent"});
        }
        ObserveLane(lane);
      }
    }
  }

  bool Begin(Call& call) {
    if (idle_.empty()) {
      call.transfer = CurlTransfer::Create(base_url_, options_, &connections_);
      if (call.transfer == nullptr) return false;
    } else {
      call.transfer = std::move(idle_.back());
      idle_.pop_back();
    }
    CurlTransfer& transfer = *call.transfer;
    const bool prepared =
        std::holds_alternative<StampedRequest>(call.request)
            ? transfer.PreparePost(std::get<StampedRequest>(std::move(call.request)), call.options.traceparent)
            : transfer.PrepareGet(std::get<DiscoveryRequest>(std::move(call.request)), call.options.traceparent);
    return prepared && curl_easy_setopt(transfer.easy(), CURLOPT_PRIVATE, &call) == CURLE_OK &&
           multi_->Add(transfer.easy());
  }

  void OnEnded(CURL* easy, CURLcode code) {
    Call* call = nullptr;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &call);
    if (call->transfer->StartsAfresh() && multi_->Add(easy)) return;
    // Only upstream's responses show whether upstream agrees to HTTP/2, and this can change.
    if (long version = 0; curl_easy_getinfo(easy, CURLINFO_HTTP_VERSION, &version) == CURLE_OK && version != 0) {
      calls_per_place_ = version == CURL_HTTP_VERSION_2_0 ? kStreamsPerConnection : 1;
    }
    Leave(*call);
    ObserveExchange(*call);
    UpstreamOutcome outcome = call->transfer->Finish(code);
    if (call->transfer->reusable()) idle_.push_back(std::move(call->transfer));
    End(*call, std::move(outcome));
    StartWaiting();
  }

  // Called when the caller no longer waits, because its deadline has passed or because it has left.
  void Abandon(Call& call, Cause cause) {
    if (!call.done) return;  // the exchange is already detached
    if (call.transfer == nullptr) {
      return Stop(call, Abandoned(cause == Cause::kTimeout ? Cause::kNoPlace : cause, false));
    }
    const bool body_sent = call.transfer->body_sent();
    if (body_sent && call.options.lane == Lane::kSubmit) {
      Detach(call, cause);
    } else {
      Stop(call, Abandoned(cause, body_sent));
    }
    StartWaiting();
  }

  void Detach(Call& call, Cause cause) {
    Leave(call);
    call.timer.reset();
    call.position = detached_.insert(detached_.end(), &call);
    call.detached_at = Clock::now();
    ObserveDetached();
    TransportFailure failure = Abandoned(cause, true);
    failure.goes_on = true;
    std::exchange(call.done, nullptr)(std::move(failure));
  }

  void EndAll() {
    std::vector<Call*> left;
    for (const auto& entry : calls_) left.push_back(entry.second.get());
    for (Call* call : left) {
      const bool body_sent = call->transfer != nullptr && call->transfer->body_sent();
      Stop(*call, TransportFailure{Cause::kShutdown, body_sent, "the client is shut down"});
    }
  }

  void Stop(Call& call, UpstreamOutcome outcome) {
    if (call.transfer != nullptr) multi_->Remove(call.transfer->easy());
    Leave(call);
    if (call.transfer != nullptr) ObserveExchange(call);
    End(call, std::move(outcome));
  }

  // Removes the call from the list in which it waits, or frees its place.
  void Leave(Call& call) {
    if (call.transfer == nullptr) {
      QueueOf(call).waiting.erase(call.position);
    } else if (call.done) {
      --QueueOf(call).begun;
    } else {
      detached_.erase(call.position);
      ObserveDetached();
    }
    ObserveLane(call.options.lane);
  }

  void ObserveLane(Lane lane) const {
    if (!options_.observe_lane) return;
    const Queue& queue = queues_[static_cast<size_t>(lane)];
    options_.observe_lane(lane, queue.begun, static_cast<int>(queue.waiting.size()));
  }

  void ObserveExchange(const Call& call) const {
    if (options_.observe_exchange) {
      options_.observe_exchange(call.options.lane, absl::FromChrono(Clock::now() - call.begun_at));
    }
  }

  void ObserveDetached() const {
    if (!options_.observe_detached) return;
    options_.observe_detached(static_cast<int>(detached_.size()),
                              detached_.empty() ? Clock::time_point() : detached_.front()->detached_at);
  }

  // Passes the outcome to the call's callback, and deletes the call. Requires that the call neither waits nor has a
  // place, and that multi_ no longer contains its transfer.
  void End(Call& call, UpstreamOutcome outcome) {
    const auto ended = calls_.extract(call.id);
    Done& tell = call.done ? call.done : call.late;
    if (tell) tell(std::move(outcome));
    NotifyIfDrained();
  }

  void NotifyIfDrained() {
    if (!calls_.empty()) return;
    for (Drain& drain : drains_) drain.ended.set_value();
    drains_.clear();
  }

  static TransportFailure Abandoned(Cause cause, bool body_sent) {
    switch (cause) {
      case Cause::kCancelled:
        return {cause, body_sent, "the caller has left"};
      case Cause::kNoPlace:
        return {cause, body_sent, "all connections that the call could use were in use until its deadline passed"};
      default:
        return {cause, body_sent, "the call's deadline passed"};
    }
  }

  const std::string base_url_;
  const Options options_;
  std::atomic<CallId> next_id_{1};
  ConnectionTable connections_;
  std::optional<CurlMulti> multi_;
  absl::flat_hash_map<CallId, std::unique_ptr<Call>> calls_;  // the calls whose `done` or `late` was not called yet
  std::array<Queue, 3> queues_;                               // one for each Lane
  int calls_per_place_ = 1;
  std::list<Call*> detached_;                        // the oldest first
  std::vector<std::unique_ptr<CurlTransfer>> idle_;  // transfers for reuse, with their options set
  bool shutting_down_ = false;
  std::vector<Drain> drains_;
  std::unique_ptr<EventLoop> loop_;
};

absl::Status CheckOptions(const UpstreamClient::Options& options) {
  if (options.max_connections < 1) return absl::InvalidArgumentError("max_connections must be at least 1");
  if (options.max_detached < 1) return absl::InvalidArgumentError("max_detached must be at least 1");
  if (options.max_response_bytes < 1) return absl::InvalidArgumentError("max_response_bytes must be at least 1");
  for (const absl::Duration time : {options.connect_timeout, options.exchange_timeout}) {
    if (time <= absl::ZeroDuration()) return absl::InvalidArgumentError("a timeout must be more than 0");
  }
  if (options.max_idle < absl::Seconds(1)) return absl::InvalidArgumentError("max_idle must be at least 1s");
  if (options.ca_file.empty()) return absl::OkStatus();
  // Without this check, libcurl would report the fault only at the first call.
  const absl::StatusOr<std::string> pem = ReadPublicFile(options.ca_file);
  const absl::Status status = pem.ok() ? CheckCaCertificates(*pem) : pem.status();
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat("ca_file ", options.ca_file, ": ", status.message()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<UpstreamClient>> UpstreamClient::Create(const Options& options) {
  static const CURLcode initialized = curl_global_init(CURL_GLOBAL_DEFAULT);  // once per process, never undone
  if (initialized != CURLE_OK) return absl::InternalError("libcurl cannot be initialized");
  absl::StatusOr<std::string> base_url = ParseBaseUrl(options.base_url);
  if (!base_url.ok()) return base_url.status();
  if (absl::Status status = CheckOptions(options); !status.ok()) return status;
  if (ConnectionTable none; CurlTransfer::Create(*base_url, options, &none) == nullptr) {
    return absl::InternalError("libcurl refuses an option that the upstream client needs");
  }
  absl::StatusOr<std::unique_ptr<EventLoop>> loop = EventLoop::Start("upstream");
  if (!loop.ok()) return loop.status();
  CurlMultiHandle multi(curl_multi_init());
  if (multi == nullptr) return absl::ResourceExhaustedError("libcurl cannot make a multi handle");
  return std::make_unique<CurlUpstreamClient>(*std::move(base_url), options, *std::move(loop), std::move(multi));
}

}  // namespace stampgate
