#include "gateway/store/queued_call_store.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "base/threads/start_thread.h"
#include "base/threads/wait_clock.h"

namespace stampgate {
namespace {

// Returns whether the backend can still be used after `status`.
bool CanGoOn(const absl::Status& status) {
  return status.ok() || absl::IsResourceExhausted(status) || absl::IsAborted(status) || absl::IsUnknown(status);
}

// The maximum number of steps in one transaction, so that the first of many queued steps does not wait for all others.
constexpr size_t kGroupSteps = 256;

// How long a submit waits for further ones, if the previous group had several. A commit costs more CPU time than a
// whole call, so under load it should cover many submits.
constexpr std::chrono::microseconds kGather(300);

// How often the store retries to write ends when the disk is full.
constexpr std::chrono::seconds kRetryEnds(1);

// Longer waits could overflow the clock's type.
constexpr absl::Duration kMaxWait = absl::Hours(24);

constexpr uint64_t kNoTimestamp = ~uint64_t{0};

using MonotonicTime = std::chrono::steady_clock::time_point;
using RaiseDone = absl::AnyInvocable<void(absl::Status)>;

struct WaitingStep {
  CallStep step;
  CallStore::OnDecided on_decided;  // for a submit; null if it was called
  CallStore::OnBegun done;          // for a submit

  bool is_end() const { return std::holds_alternative<EndedAttempt>(step); }
};

struct WaitingRaise {
  uint64_t ms;
  RaiseDone done;
};

absl::Status CannotStore(const absl::Status& why) {
  const absl::StatusCode code =
      absl::IsResourceExhausted(why) ? absl::StatusCode::kResourceExhausted : absl::StatusCode::kUnavailable;
  return absl::Status(code, absl::StrCat("the call store cannot store: ", why.message()));
}

MonotonicTime After(absl::Duration wait) {
  return std::chrono::steady_clock::now() + absl::ToChronoMicroseconds(std::min(wait, kMaxWait));
}

class QueuedCallStore final : public CallStore {
 public:
  QueuedCallStore(CallQueueOptions options, std::unique_ptr<CallBackend> backend)
      : options_(std::move(options)),
        backend_(std::move(backend)),
        wait_(options_.steady_now),
        timestamp_floor_ms_(backend_->timestamp_floor_ms()),
        lease_(backend_->lease()) {
    thread_ = StartThread("call-store", [this] { Run(); });
  }

  ~QueuedCallStore() override { Close(kNoTimestamp); }

  void Begin(KeyedSubmit submit, OnDecided on_decided, OnBegun done) override {
    WaitingStep waiting{std::move(submit), std::move(on_decided), std::move(done)};
    if (absl::Status refusal = Enqueue(waiting); !refusal.ok()) waiting.done(refusal);
  }

  void End(AttemptId attempt, AttemptEnd end) override {
    {
      std::lock_guard lock(mutex_);
      const auto found = attempts_.find(attempt);
      if (found == attempts_.end()) return;
      EndedAttempt ended = std::move(found->second);
      attempts_.erase(found);
      // Since Begin, an attempt without an end counts as kUnknown, so there is nothing to write.
      if (end.kind == AttemptEnd::Kind::kUnknown || closed_ || !failure_.empty()) return;
      if (ends_ == 0) ends_due_ = After(options_.end_delay);
      ++ends_;
      ended.end = std::move(end);
      queue_.push_back({std::move(ended), nullptr, nullptr});
    }
    wake_.notify_one();
  }

  uint64_t timestamp_floor_ms() const override {
    std::lock_guard lock(mutex_);
    return timestamp_floor_ms_;
  }

  std::optional<TimestampLease> timestamp_lease() const override {
    std::lock_guard lock(mutex_);
    return lease_;
  }

  void RaiseTimestamps(uint64_t ms, RaiseDone done) override {
    WaitingRaise waiting{ms, std::move(done)};
    if (absl::Status refusal = Enqueue(waiting); !refusal.ok()) waiting.done(refusal);
  }

  absl::Duration WriteUnderWay() const override { return wait_.under_way(); }

  void Close(uint64_t next_timestamp_ms) override {
    {
      std::lock_guard lock(mutex_);
      if (!closed_) next_timestamp_ms_ = next_timestamp_ms;
      closed_ = true;
    }
    wake_.notify_one();
    std::call_once(joined_, [this] { thread_.join(); });
  }

  void TidyNow() {
    std::unique_lock lock(mutex_);
    const int64_t mine = ++tidies_wanted_;
    wake_.notify_one();
    tidied_.wait(lock, [this, mine] { return tidies_done_ >= mine || ended_; });
  }

 private:
  // Queues `waiting`. After an error, `waiting` is unchanged.
  absl::Status Enqueue(WaitingStep& waiting) {
    bool first;
    {
      std::lock_guard lock(mutex_);
      ABSL_RETURN_IF_ERROR(Refusal());
      first = begins_++ == 0;
      queue_.push_back(std::move(waiting));
    }
    if (first) wake_.notify_one();
    return absl::OkStatus();
  }
  absl::Status Enqueue(WaitingRaise& waiting) {
    {
      std::lock_guard lock(mutex_);
      ABSL_RETURN_IF_ERROR(Refusal());
      raises_.push_back(std::move(waiting));
    }
    wake_.notify_one();
    return absl::OkStatus();
  }

  // Returns an error if the store accepts no more steps now. Call it with the lock held.
  absl::Status Refusal() const {
    if (!failure_.empty()) return absl::UnavailableError(failure_);
    if (closed_) return absl::UnavailableError("the call store is closed");
    // Without this check, the call would wait, perhaps until its deadline.
    if (wait_.hangs()) return absl::UnavailableError("the disk or the server of the call store does not answer");
    if (begins_ + raises_.size() >= options_.max_waiting) {
      return absl::ResourceExhaustedError("too many submits wait to be stored");
    }
    return absl::OkStatus();
  }

  // Runs on the store's thread. Alternates between storing a group of steps and deleting some expired keys, so that
  // neither delays the other for long.
  void Run() {
    Observe();
    absl::Status status;
    bool more_to_tidy = true;
    while (status.ok()) {
      std::vector<WaitingRaise> raises;
      std::vector<WaitingStep> group;
      int64_t tidies_wanted;
      {
        std::unique_lock lock(mutex_);
        if (!more_to_tidy) WaitForWork(lock);
        if (gathers_) wake_.wait_for(lock, kGather, [this] { return closed_ || !raises_.empty(); });
        gathers_ = begins_ > 1;
        if (closed_ && queue_.empty() && raises_.empty()) break;
        raises.swap(raises_);
        if (raises.empty()) group = TakeGroup();
        tidies_wanted = tidies_wanted_;
      }
      wait_.Begin();
      if (!raises.empty()) status = Raise(&raises);
      if (!group.empty()) status = Store(&group);
      if (status.ok()) status = Tidy(&more_to_tidy);
      wait_.End();
      Observe();
      if (status.ok() && !more_to_tidy) EndTidy(tidies_wanted);
    }
    wait_.Begin();
    if (status.ok()) status = Finish();
    if (!status.ok()) Fail(status);
    backend_ = nullptr;
    wait_.End();
    std::lock_guard lock(mutex_);
    ended_ = true;
    tidied_.notify_all();
  }

  void WaitForWork(std::unique_lock<std::mutex>& lock) {
    const MonotonicTime tidy_at = After(options_.tidy_interval);
    for (;;) {
      if (closed_ || begins_ > 0 || !raises_.empty() || tidies_wanted_ != tidies_done_) return;
      const MonotonicTime until = ends_ > 0 ? std::min(ends_due_, tidy_at) : tidy_at;
      if (std::chrono::steady_clock::now() >= until) return;
      wake_.wait_until(lock, until);
    }
  }

  // Removes the next group of steps from the queue. Call it with the lock held. Keeps the order, because the next
  // attempt of a key may depend on the end of the previous one.
  std::vector<WaitingStep> TakeGroup() {
    std::vector<WaitingStep> group;
    while (!queue_.empty() && group.size() < kGroupSteps) {
      --(queue_[0].is_end() ? ends_ : begins_);
      group.push_back(std::move(queue_[0]));
      queue_.pop_front();
    }
    return group;
  }

  // Returns an error only if the store cannot continue.
  absl::Status Raise(std::vector<WaitingRaise>* raises) {
    uint64_t ms = 0;
    for (const WaitingRaise& raise : *raises) ms = std::max(ms, raise.ms);
    const absl::Status status = backend_->RaiseTimestamps(ms);
    SetFailure(status);
    if (!status.ok()) {
      state_.failure = status;
    } else if (std::exchange(raise_failed_, false)) {
      state_.failure = absl::OkStatus();
    }
    raise_failed_ = !status.ok();
    {
      std::lock_guard lock(mutex_);
      timestamp_floor_ms_ = backend_->timestamp_floor_ms();
      lease_ = backend_->lease();
    }
    for (WaitingRaise& raise : *raises) raise.done(status.ok() ? status : CannotStore(status));
    return CanGoOn(status) ? absl::OkStatus() : status;
  }

  // Returns an error only if the store cannot continue.
  absl::Status Store(std::vector<WaitingStep>* group) {
    std::vector<const CallStep*> steps;
    steps.reserve(group->size());
    for (const WaitingStep& waiting : *group) steps.push_back(&waiting.step);
    std::vector<CallBackend::Answer> answers;
    const auto on_decided = [this, group](const std::vector<CallBackend::Answer>& decided) {
      // After a failure, the next group fails probably too.
      if (!state_.failure.ok()) return;
      for (size_t i = 0; i < group->size(); ++i) {
        if ((*group)[i].on_decided == nullptr || !decided[i].ok() || !decided[i]->attempt.has_value()) continue;
        std::exchange((*group)[i].on_decided, nullptr)();
      }
    };
    const absl::Status status = backend_->Store(steps, on_decided, &answers);
    state_.failure = status;
    raise_failed_ = false;
    // SetFailure must run before any callback, so that the store accepts no submit after a callback has received the
    // error.
    SetFailure(status);
    if (absl::IsResourceExhausted(status) || absl::IsAborted(status)) PutBackEnds(group);
    for (size_t i = 0; i < group->size(); ++i) {
      WaitingStep& waiting = (*group)[i];
      if (waiting.is_end()) continue;
      if (!CanGoOn(status)) {
        waiting.done(CannotStore(status));
      } else if (!answers[i].ok()) {
        state_.failure = answers[i].status();
        waiting.done(CannotStore(answers[i].status()));
      } else {
        if (answers[i]->attempt.has_value())
          answers[i]->attempt =
              NewAttempt(static_cast<int64_t>(*answers[i]->attempt), std::get<KeyedSubmit>(waiting.step));
        waiting.done(*std::move(answers[i]));
      }
    }
    return CanGoOn(status) ? backend_->Settle() : status;
  }

  AttemptId NewAttempt(int64_t number, const KeyedSubmit& submit) {
    std::lock_guard lock(mutex_);
    attempts_.emplace(++last_attempt_, EndedAttempt{.number = number, .caller = submit.caller, .key = submit.key});
    return last_attempt_;
  }

  // Queues the ends of a failed group again. A closed store drops the ends, and their attempts count as kUnknown.
  void PutBackEnds(std::vector<WaitingStep>* group) {
    std::lock_guard lock(mutex_);
    if (closed_) {
      ends_given_up_ = true;
      return;
    }
    for (size_t i = group->size(); i > 0; --i) {
      WaitingStep& waiting = (*group)[i - 1];
      if (!waiting.is_end()) continue;
      queue_.push_front({waiting.step, nullptr, nullptr});
      ++ends_;
    }
    ends_due_ = std::chrono::steady_clock::now() + kRetryEnds;
  }

  absl::Status Tidy(bool* more) {
    const absl::StatusOr<bool> tidied = backend_->Tidy();
    *more = tidied.ok() && *tidied;
    // If the disk is full, the next submit or the next interval retries.
    if (!CanGoOn(tidied.status())) return tidied.status();
    if (!tidied.ok()) state_.failure = tidied.status();
    return *more ? backend_->Settle() : absl::OkStatus();
  }

  void EndTidy(int64_t tidies_wanted) {
    std::lock_guard lock(mutex_);
    tidies_done_ = tidies_wanted;
    tidied_.notify_all();
  }

  // Does the store's last writes before it closes. The store's thread calls Finish when all queued steps have their
  // results.
  absl::Status Finish() {
    uint64_t next_ms;
    {
      std::lock_guard lock(mutex_);
      // Earlier processes have possibly used timestamps just below this store's floor, so the floor of the reopened
      // store is never lower.
      next_ms = std::max(next_timestamp_ms_, timestamp_floor_ms_);
      if (ends_given_up_) next_ms = kNoTimestamp;
    }
    return backend_->Close(next_ms);
  }

  void Observe() {
    if (!options_.observe) return;
    state_.keys = backend_->keys();
    if (observed_ && observed_->keys == state_.keys && observed_->failure == state_.failure) return;
    observed_ = state_;
    options_.observe(state_);
  }

  void SetFailure(const absl::Status& status) {
    if (CanGoOn(status)) return;
    std::lock_guard lock(mutex_);
    failure_ = std::string(CannotStore(status).message());
  }

  void Fail(const absl::Status& status) {
    SetFailure(status);
    std::deque<WaitingStep> queue;
    std::vector<WaitingRaise> raises;
    {
      std::lock_guard lock(mutex_);
      queue.swap(queue_);
      raises.swap(raises_);
      begins_ = ends_ = 0;
    }
    for (WaitingStep& waiting : queue) {
      if (!waiting.is_end()) waiting.done(CannotStore(status));
    }
    for (WaitingRaise& raise : raises) raise.done(CannotStore(status));
    state_.failure = status;
    Observe();
    if (options_.on_fatal) options_.on_fatal(status);
  }

  const CallQueueOptions options_;
  // Used only by the store's thread.
  std::unique_ptr<CallBackend> backend_;
  CallStoreState state_;
  bool raise_failed_ = false;  // whether state_.failure is of a raise, so that a later raise disproves it
  std::optional<CallStoreState> observed_;

  // Not absl::Mutex: ThreadSanitizer cannot instrument Debian's build of Abseil.
  mutable std::mutex mutex_;
  WaitClock wait_;                  // of the thread's current use of the backend
  std::condition_variable wake_;    // wakes the store's thread
  std::condition_variable tidied_;  // wakes TidyNow
  std::deque<WaitingStep> queue_;
  size_t begins_ = 0;     // number of submits in the queue
  bool gathers_ = false;  // the previous group had several submits
  size_t ends_ = 0;       // number of ends in the queue; at most one for each begun attempt
  MonotonicTime ends_due_;
  std::vector<WaitingRaise> raises_;
  std::unordered_map<AttemptId, EndedAttempt> attempts_;  // attempts that have not ended
  AttemptId last_attempt_ = 0;
  bool closed_ = false;
  uint64_t next_timestamp_ms_ = kNoTimestamp;
  uint64_t timestamp_floor_ms_;
  std::optional<TimestampLease> lease_;
  bool ends_given_up_ = false;
  std::string failure_;  // why the store cannot continue; empty if it can
  int64_t tidies_wanted_ = 0;
  int64_t tidies_done_ = 0;
  bool ended_ = false;
  std::once_flag joined_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<CallStore> MakeQueuedCallStore(CallQueueOptions options, std::unique_ptr<CallBackend> backend) {
  return std::make_unique<QueuedCallStore>(std::move(options), std::move(backend));
}

void TidyNow(CallStore& store) { static_cast<QueuedCallStore&>(store).TidyNow(); }

}  // namespace stampgate
