#include "gateway/upstream/client.h"

#include <curl/curl.h>

#include <atomic>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "base/secret/file.h"
#include "base/threads/mutex.h"
#include "gateway/upstream/base_url.h"
#include "gateway/upstream/ca_certificates.h"
#include "gateway/upstream/connector.h"
#include "gateway/upstream/exchange.h"
#include "gateway/upstream/loop_client.h"
#include "gateway/upstream/request_heads.h"

namespace stampgate {
namespace {

// The number of a call contains the index of its loop in its last bits.
constexpr int kIndexBits = 8;

class LoopsClient final : public UpstreamClient {
 public:
  LoopsClient(std::string base_url, const Options& options, std::shared_ptr<EventLoops> loops, UpstreamMetrics& metrics)
      : loops_(std::move(loops)),
        heads_(base_url),
        shared_{.base_url = std::move(base_url), .options = options, .metrics = metrics, .on_call_ended = [this] {
                  OnCallEnded();
                }} {
    for (size_t i = 0; i < loops_->size(); ++i) {
      clients_.push_back(std::make_unique<LoopClient>((*loops_)[i], shared_));
    }
  }

  ~LoopsClient() override {
    LoopsClient::Shutdown(absl::ZeroDuration());
    for (size_t i = 0; i < clients_.size(); ++i) {
      (*loops_)[i].Run([this, i] { clients_[i] = nullptr; });
    }
    loops_->WaitForTasks();
  }

  CallId Post(StampedRequest request, const CallOptions& options, Done done, Done late) override {
    std::optional<std::string> head = heads_.PostHead(request, options.traceparent);
    std::optional<HttpExchange::Request> sent;
    if (head.has_value()) sent = {.head = *std::move(head), .body = request.shared_body()};
    return Begin(std::move(sent), options, std::move(done), std::move(late));
  }

  CallId Get(DiscoveryRequest request, const CallOptions& options, Done done) override {
    std::optional<std::string> head = heads_.GetHead(request, options.traceparent);
    std::optional<HttpExchange::Request> sent;
    if (head.has_value()) sent = {.head = *std::move(head), .body = nullptr, .for_cache = true};
    return Begin(std::move(sent), options, std::move(done), nullptr);
  }

  void Cancel(CallId id) override {
    const size_t index = id & ((1 << kIndexBits) - 1);
    if (index >= clients_.size()) return;
    // Not immediately, because the Begin of the call may still be queued.
    (*loops_)[index].Run([this, index, id] { clients_[index]->Cancel(id); });
  }

  void Shutdown(absl::Duration grace) override {
    OnEachLoop([](LoopClient& client) { client.BeginNoMore(); });
    {
      MutexLock lock(mutex_);
      ++waiting_;
      const auto until = Clock::now() + absl::ToChronoNanoseconds(std::min(grace, absl::Hours(24 * 365)));
      while (calls_ != 0 && !changed_.WaitUntil(mutex_, until)) {
      }
    }
    OnEachLoop([](LoopClient& client) { client.EndAll(); });
    MutexLock lock(mutex_);
    while (calls_ != 0) changed_.Wait(mutex_);
    --waiting_;
  }

 private:
  CallId Begin(std::optional<HttpExchange::Request> request, const CallOptions& options, Done done, Done late) {
    const size_t index = loops_->Here();
    const CallId id = next_.fetch_add(1, std::memory_order_relaxed) << kIndexBits | index;
    calls_.fetch_add(1);
    RunOn(index, [this, index, id, request = std::move(request), options, done = std::move(done),
                  late = std::move(late)]() mutable {
      clients_[index]->Begin(id, std::move(request), options, std::move(done), std::move(late));
    });
    return id;
  }

  // Runs `task` on the loop, immediately if the loop runs this thread.
  template <typename Task>
  void RunOn(size_t index, Task task) {
    if (EventLoop::Current() == &(*loops_)[index]) return task();
    (*loops_)[index].Run(std::move(task));
  }

  template <typename Do>
  void OnEachLoop(Do task) {
    for (size_t i = 0; i < clients_.size(); ++i) {
      (*loops_)[i].Run([this, i, task] { task(*clients_[i]); });
    }
    loops_->WaitForTasks();
  }

  void OnCallEnded() {
    if (calls_.fetch_sub(1) != 1 || waiting_ == 0) return;
    const MutexLock lock(mutex_);
    changed_.WakeAll();
  }

  const std::shared_ptr<EventLoops> loops_;
  const RequestHeads heads_;
  SharedUpstream shared_;
  std::vector<std::unique_ptr<LoopClient>> clients_;  // each is used only on its loop
  std::atomic<CallId> next_ = 1;
  std::atomic<int> calls_ = 0;  // the calls that have not ended
  Mutex mutex_;
  Condition changed_;
  std::atomic<int> waiting_ = 0;  // the calls of Shutdown that wait
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

absl::StatusOr<std::unique_ptr<UpstreamClient>> UpstreamClient::Create(const Options& options,
                                                                       std::shared_ptr<EventLoops> loops,
                                                                       UpstreamMetrics& metrics) {
  static const CURLcode initialized = curl_global_init(CURL_GLOBAL_DEFAULT);  // once per process, never undone
  if (initialized != CURLE_OK) return absl::InternalError("libcurl cannot be initialized");
  ABSL_ASSIGN_OR_RETURN(std::string base_url, ParseBaseUrl(options.base_url));
  ABSL_RETURN_IF_ERROR(CheckOptions(options));
  if (!Connector::IsSupported(base_url, options)) {
    return absl::InternalError("libcurl refuses an option that the upstream client needs");
  }
  try {
    return std::make_unique<LoopsClient>(std::move(base_url), options, std::move(loops), metrics);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("there is no memory for the upstream client");
  }
}

}  // namespace stampgate
