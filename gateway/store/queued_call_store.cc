#include "gateway/store/queued_call_store.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "base/threads/commit_thread.h"
#include "base/threads/mutex.h"

namespace stampgate {
namespace {

// Returns whether the backend can still be used after `status`.
bool CanGoOn(const absl::Status& status) {
  return status.ok() || absl::IsResourceExhausted(status) || absl::IsAborted(status) || absl::IsUnknown(status);
}

// The maximum number of steps in one transaction, so that the first of many queued steps does not wait for all others.
constexpr size_t kGroupSteps = 256;

// How often the store retries to write ends when the disk is full.
constexpr absl::Duration kRetryEnds = absl::Seconds(1);

constexpr uint64_t kNoTimestamp = ~uint64_t{0};

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

class QueuedCallStore final : public CallStore, private CommitThread::Owner {
 public:
  QueuedCallStore(CallQueueOptions options, std::unique_ptr<CallBackend> backend)
      : options_(std::move(options)),
        backend_(std::move(backend)),
        thread_({.thread_name = "call-store",
                 .subject = "the call store",
                 .medium = "the disk or the server of the call store",
                 .steady_now = options_.steady_now},
                *this),
        timestamp_floor_ms_(backend_->timestamp_floor_ms()),
        lease_(backend_->lease()) {
    Observe();
    thread_.Start();
  }

  ~QueuedCallStore() override { Close(kNoTimestamp); }

  void Begin(KeyedSubmit submit, OnDecided on_decided, OnBegun done) override {
    WaitingStep waiting{std::move(submit), std::move(on_decided), std::move(done)};
    const absl::Status refusal = thread_.Add([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_.mutex()) {
      absl::Status status = HasRoom();
      if (status.ok()) {
        ++begins_;
        queue_.push_back(std::move(waiting));
      }
      return status;
    });
    if (!refusal.ok()) waiting.done(refusal);
  }

  void End(AttemptId attempt, AttemptEnd end) override {
    thread_.Change([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_.mutex()) {
      const auto found = attempts_.find(attempt);
      if (found == attempts_.end()) return;
      EndedAttempt ended = std::move(found->second);
      attempts_.erase(found);
      // Since Begin, an attempt without an end counts as kUnknown, so there is nothing to write.
      if (end.kind == AttemptEnd::Kind::kUnknown || thread_.closed() || !thread_.failure().ok()) return;
      if (ends_ == 0) ends_due_ = CommitThread::After(options_.end_delay);
      ++ends_;
      ended.end = std::move(end);
      queue_.push_back({std::move(ended), nullptr, nullptr});
    });
  }

  uint64_t timestamp_floor_ms() const override {
    const MutexLock lock(thread_.mutex());
    return timestamp_floor_ms_;
  }

  std::optional<TimestampLease> timestamp_lease() const override {
    const MutexLock lock(thread_.mutex());
    return lease_;
  }

  void RaiseTimestamps(uint64_t ms, RaiseDone done) override {
    WaitingRaise waiting{ms, std::move(done)};
    const absl::Status refusal = thread_.Add([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_.mutex()) {
      absl::Status status = HasRoom();
      if (status.ok()) raises_.push_back(std::move(waiting));
      return status;
    });
    if (!refusal.ok()) waiting.done(refusal);
  }

  absl::Duration WriteUnderWay() const override { return thread_.under_way(); }

  void Close(uint64_t next_timestamp_ms) override {
    {
      const MutexLock lock(thread_.mutex());
      if (!thread_.closed()) next_timestamp_ms_ = next_timestamp_ms;
    }
    thread_.Close();
  }

  void TidyNow() { thread_.TidyNow(); }

 private:
  // Returns an error if the queue is full.
  absl::Status HasRoom() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_.mutex()) {
    if (begins_ + raises_.size() < options_.max_waiting) return absl::OkStatus();
    return absl::ResourceExhaustedError("too many submits wait to be stored");
  }

  CommitThread::Clock::time_point WriteAt() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_.mutex()) {
    if (begins_ > 0 || !raises_.empty()) return CommitThread::kAtOnce;
    return ends_ > 0 ? ends_due_ : CommitThread::kNever;
  }

  CommitThread::Clock::time_point SleepUntil() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_.mutex()) {
    return CommitThread::After(options_.tidy_interval);
  }

  // Takes the raises, or a group of steps. Keeps the order of the steps, because the next attempt of a key may depend
  // on the end of the previous one.
  size_t TakeGroup() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_.mutex()) {
    const size_t begins = begins_;
    raises_taken_.swap(raises_);
    while (raises_taken_.empty() && !queue_.empty() && group_.size() < kGroupSteps) {
      --(queue_[0].is_end() ? ends_ : begins_);
      group_.push_back(std::move(queue_[0]));
      queue_.pop_front();
    }
    return begins;
  }

  absl::Status WriteGroup() override {
    if (!raises_taken_.empty()) return Raise(std::exchange(raises_taken_, {}));
    return group_.empty() ? absl::OkStatus() : Store(std::exchange(group_, {}));
  }

  absl::StatusOr<bool> Tidy(bool wanted) override {
    const absl::StatusOr<bool> tidied = backend_->Tidy();
    if (!CanGoOn(tidied.status())) return tidied;
    // If the disk is full, the next submit or the next interval retries.
    if (!tidied.ok()) state_.failure = tidied.status();
    Observe();
    if (!tidied.ok() || !*tidied) return false;
    ABSL_RETURN_IF_ERROR(backend_->Settle());
    return true;
  }

  void Stop(absl::Status status) override {
    if (status.ok()) status = CloseBackend();
    if (!status.ok()) Fail(status);
    backend_ = nullptr;
  }

  // Returns an error only if the store cannot continue.
  absl::Status Raise(std::vector<WaitingRaise> raises) {
    uint64_t ms = 0;
    for (const WaitingRaise& raise : raises) ms = std::max(ms, raise.ms);
    const absl::Status status = backend_->RaiseTimestamps(ms);
    SetFailure(status);
    if (!status.ok()) {
      state_.failure = status;
    } else if (std::exchange(raise_failed_, false)) {
      state_.failure = absl::OkStatus();
    }
    raise_failed_ = !status.ok();
    {
      const MutexLock lock(thread_.mutex());
      timestamp_floor_ms_ = backend_->timestamp_floor_ms();
      lease_ = backend_->lease();
    }
    for (WaitingRaise& raise : raises) raise.done(status.ok() ? status : CannotStore(status));
    return CanGoOn(status) ? absl::OkStatus() : status;
  }

  // Returns an error only if the store cannot continue.
  absl::Status Store(std::vector<WaitingStep> group) {
    std::vector<const CallStep*> steps;
    steps.reserve(group.size());
    for (const WaitingStep& waiting : group) steps.push_back(&waiting.step);
    std::vector<CallBackend::Answer> answers;
    const auto on_decided = [this, &group](const std::vector<CallBackend::Answer>& decided) {
      // After a failure, the next group fails probably too.
      if (!state_.failure.ok()) return;
      for (size_t i = 0; i < group.size(); ++i) {
        if (group[i].on_decided == nullptr || !decided[i].ok() || !decided[i]->attempt.has_value()) continue;
        std::exchange(group[i].on_decided, nullptr)();
      }
    };
    const absl::Status status = backend_->Store(steps, on_decided, &answers);
    state_.failure = status;
    raise_failed_ = false;
    // SetFailure must run before any callback, so that the store accepts no submit after a callback has received the
    // error.
    SetFailure(status);
    if (absl::IsResourceExhausted(status) || absl::IsAborted(status)) PutBackEnds(&group);
    for (size_t i = 0; i < group.size(); ++i) {
      WaitingStep& waiting = group[i];
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
    const MutexLock lock(thread_.mutex());
    attempts_.emplace(++last_attempt_, EndedAttempt{.number = number, .caller = submit.caller, .key = submit.key});
    return last_attempt_;
  }

  // Queues the ends of a failed group again. A closed store drops the ends, and their attempts count as kUnknown.
  void PutBackEnds(std::vector<WaitingStep>* group) {
    const MutexLock lock(thread_.mutex());
    if (thread_.closed()) {
      ends_given_up_ = true;
      return;
    }
    for (size_t i = group->size(); i > 0; --i) {
      WaitingStep& waiting = (*group)[i - 1];
      if (!waiting.is_end()) continue;
      queue_.push_front({waiting.step, nullptr, nullptr});
      ++ends_;
    }
    ends_due_ = CommitThread::After(kRetryEnds);
  }

  // Does the store's last writes, when all queued steps have their results.
  absl::Status CloseBackend() {
    uint64_t next_ms;
    {
      const MutexLock lock(thread_.mutex());
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
    if (!CanGoOn(status)) thread_.Refuse(CannotStore(status));
  }

  void Fail(const absl::Status& status) {
    SetFailure(status);
    std::deque<WaitingStep> queue;
    std::vector<WaitingRaise> raises;
    {
      const MutexLock lock(thread_.mutex());
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
  std::vector<WaitingRaise> raises_taken_;
  std::vector<WaitingStep> group_;

  CommitThread thread_;
  std::deque<WaitingStep> queue_ ABSL_GUARDED_BY(thread_.mutex());
  size_t begins_ ABSL_GUARDED_BY(thread_.mutex()) = 0;  // number of submits in the queue
  size_t ends_ ABSL_GUARDED_BY(thread_.mutex()) = 0;  // number of ends in the queue; at most one for each begun attempt
  CommitThread::Clock::time_point ends_due_ ABSL_GUARDED_BY(thread_.mutex());
  std::vector<WaitingRaise> raises_ ABSL_GUARDED_BY(thread_.mutex());
  // Attempts that have not ended.
  std::unordered_map<AttemptId, EndedAttempt> attempts_ ABSL_GUARDED_BY(thread_.mutex());
  AttemptId last_attempt_ ABSL_GUARDED_BY(thread_.mutex()) = 0;
  uint64_t next_timestamp_ms_ ABSL_GUARDED_BY(thread_.mutex()) = kNoTimestamp;
  uint64_t timestamp_floor_ms_ ABSL_GUARDED_BY(thread_.mutex());
  std::optional<TimestampLease> lease_ ABSL_GUARDED_BY(thread_.mutex());
  bool ends_given_up_ ABSL_GUARDED_BY(thread_.mutex()) = false;
};

}  // namespace

std::unique_ptr<CallStore> MakeQueuedCallStore(CallQueueOptions options, std::unique_ptr<CallBackend> backend) {
  return std::make_unique<QueuedCallStore>(std::move(options), std::move(backend));
}

void TidyNow(CallStore& store) { static_cast<QueuedCallStore&>(store).TidyNow(); }

}  // namespace stampgate
