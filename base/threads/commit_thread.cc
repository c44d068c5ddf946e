#include "base/threads/commit_thread.h"

#include <algorithm>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "base/threads/start_thread.h"

namespace stampgate {

CommitThread::Clock::time_point CommitThread::After(absl::Duration wait) {
  return Clock::now() + absl::ToChronoMicroseconds(std::min(wait, absl::Hours(24)));
}

CommitThread::CommitThread(Options options, Owner& owner)
    : options_(std::move(options)), owner_(owner), wait_(options_.steady_now) {}

CommitThread::~CommitThread() { Close(); }

void CommitThread::Start() {
  thread_ = StartThread(options_.thread_name, [this] { Run(); });
}

absl::Status CommitThread::Add(absl::FunctionRef<absl::Status()> add) {
  absl::Status status;
  Change([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    status = !failure_.ok()  ? failure_
             : closed_       ? absl::UnavailableError(absl::StrCat(options_.subject, " is closed"))
             : wait_.hangs() ? absl::UnavailableError(absl::StrCat(options_.medium, " does not answer"))
                             : add();
  });
  return status;
}

void CommitThread::Change(absl::FunctionRef<void()> change) {
  bool sooner;
  {
    const MutexLock lock(mutex_);
    const Clock::time_point before = owner_.WriteAt();
    change();
    sooner = owner_.WriteAt() < before;
  }
  if (sooner) wake_.WakeOne();
}

void CommitThread::Refuse(const absl::Status& failure) {
  const MutexLock lock(mutex_);
  failure_ = failure;
}

void CommitThread::Close() {
  {
    const MutexLock lock(mutex_);
    closed_ = true;
  }
  wake_.WakeOne();
  std::call_once(joined_, [this] {
    if (thread_.joinable()) thread_.join();
  });
}

void CommitThread::TidyNow() {
  const MutexLock lock(mutex_);
  const int64_t mine = ++tidies_wanted_;
  wake_.WakeOne();
  while (tidies_done_ < mine && !ended_) tidied_.Wait(mutex_);
}

void CommitThread::Run() {
  absl::Status status;
  bool more_to_tidy = true;
  while (status.ok()) {
    int64_t tidies_wanted;
    bool tidy_is_wanted;
    {
      const MutexLock lock(mutex_);
      if (!more_to_tidy) WaitForWork();
      if (gathers_) {
        const Clock::time_point until = Clock::now() + options_.gather;
        while (!closed_ && !wake_.WaitUntil(mutex_, until)) {
        }
      }
      if (closed_ && owner_.WriteAt() == kNever) break;
      gathers_ = owner_.TakeGroup() > 1;
      tidies_wanted = tidies_wanted_;
      tidy_is_wanted = tidies_wanted != tidies_done_;
    }
    wait_.Begin();
    status = owner_.WriteGroup();
    if (status.ok()) {
      const absl::StatusOr<bool> tidied = owner_.Tidy(tidy_is_wanted);
      status = tidied.status();
      more_to_tidy = tidied.ok() && *tidied;
    }
    wait_.End();
    if (!status.ok() || more_to_tidy) continue;
    const MutexLock lock(mutex_);
    tidies_done_ = tidies_wanted;
    tidied_.WakeAll();
  }
  wait_.Begin();
  owner_.Stop(status);
  wait_.End();
  const MutexLock lock(mutex_);
  ended_ = true;
  tidied_.WakeAll();
}

void CommitThread::WaitForWork() {
  const Clock::time_point sleep_until = owner_.SleepUntil();
  while (!closed_ && tidies_wanted_ == tidies_done_) {
    const Clock::time_point until = std::min(owner_.WriteAt(), sleep_until);
    if (Clock::now() >= until) return;
    wake_.WaitUntil(mutex_, until);
  }
}

}  // namespace stampgate
