#include "gateway/audit/log.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

// How long outcomes and denials wait for an allow, so that one sync covers all of them. A sync takes more time than any
// other step.
constexpr absl::Duration kLinger = absl::Milliseconds(10);

// Calls `observe` with `status` if `status` differs from `failing`, the last reported state. Updates `failing`.
void Report(const std::function<void(const absl::Status&)>& observe, const absl::Status& status, bool& failing) {
  if (status.ok() != failing) return;
  failing = !status.ok();
  if (observe) observe(status);
}

// When the audit log fails, Audit queues a denial whose caller is kGatewayCaller. This denial does not reduce the
// budget of strangers.
FloodBound::Who WhoIs(absl::string_view caller) {
  return absl::StartsWith(caller, "(") && caller != kGatewayCaller ? FloodBound::Who::kStranger
                                                                   : FloodBound::Who::kKnown;
}

absl::Status CannotWrite(const absl::Status& why) {
  return absl::UnavailableError(absl::StrCat("the audit log cannot be written: it ", why.message()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<AuditLog>> AuditLog::Open(Options options) {
  AuditWriter::Options settings;
  settings.file = options.file;
  settings.version = options.version;
  settings.max_file_bytes = options.max_file_bytes;
  settings.daily_files = options.daily_files;
  settings.now = options.now;
  settings.observe_closed = options.observe_closed;
  settings.observe_torn_end = options.observe_torn_end;
  settings.calls = options.calls == nullptr ? &FileCalls::System() : options.calls;
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<AuditWriter> writer, AuditWriter::Open(std::move(settings), options.key));
  return std::unique_ptr<AuditLog>(new AuditLog(std::move(options), std::move(writer)));
}

AuditLog::AuditLog(Options options, std::unique_ptr<AuditWriter> writer)
    : now_(std::move(options.now)),
      observe_(std::move(options.observe)),
      observe_rotation_(std::move(options.observe_rotation)),
      observe_open_(std::move(options.observe_open)),
      steady_now_(std::move(options.steady_now)),
      retry_interval_(options.retry_interval),
      daily_files_(options.daily_files),
      unsent_calls_(steady_now_),
      unsent_reads_(steady_now_),
      writer_(std::move(writer)),
      thread_({.thread_name = "audit-log",
               .subject = "the audit log",
               .medium = "the audit log's disk",
               .steady_now = steady_now_},
              *this),
      head_(writer_->head()) {
  if (observe_open_) observe_open_({});
  thread_.Start();
}

AuditLog::~AuditLog() { Close(); }

void AuditLog::Close() { thread_.Close(); }

void AuditLog::Allow(const AuditDecision& decision, OnAllowed done, Kind kind) {
  Waiting waiting;
  waiting.entry.text = AllowText(now_(), decision);
  waiting.entry.kind = AuditKind::kAllow;
  waiting.done = std::move(done);
  waiting.kind = kind;
  const absl::Status refusal = thread_.Add([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_.mutex()) -> absl::Status {
    Occupancy& occupancy = Of(kind);
    if (occupancy.waiting == kMaxWaitingAllows) {
      return absl::ResourceExhaustedError("too many calls wait for the audit log");
    }
    const size_t most = kind == Kind::kReads ? kMaxOpenReads : kMaxOpenAllows;
    if (occupancy.waiting + occupancy.open >= most) {
      return absl::ResourceExhaustedError("too many calls have no outcome in the audit log yet");
    }
    ++occupancy.waiting;
    urgent_ = true;
    Push(waiting);
    return absl::OkStatus();
  });
  if (!refusal.ok()) waiting.done(refusal);
}

void AuditLog::Deny(const AuditDecision& decision) {
  const absl::Time now = now_();
  const std::string caller = AuditValue(decision.caller, kAuditDenialValueBytes);
  const FloodBound::Who who = WhoIs(caller);
  bool is_recorded = false;
  thread_.Change([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_.mutex()) {
    if (thread_.closed() || !denials_.Admit(caller, who, now)) return;
    is_recorded = waiting_denials_ < kMaxWaitingDenials;
    if (is_recorded) {
      ++waiting_denials_;
    } else {
      denials_.Count(caller, who, now);
    }
  });
  if (!is_recorded) return;
  Waiting waiting;
  waiting.entry.text = DenyText(now, decision);
  waiting.entry.kind = AuditKind::kDeny;
  thread_.Change([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_.mutex()) { Push(waiting); });
}

void AuditLog::End(AllowId allow, const AuditOutcome& outcome) {
  Waiting waiting;
  waiting.entry.text = OutcomeText(now_(), allow, outcome);
  waiting.entry.kind = AuditKind::kOutcome;
  waiting.entry.allow = allow;
  thread_.Change([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_.mutex()) { Push(waiting); });
}

AuditLog::Head AuditLog::head() const {
  const MutexLock lock(thread_.mutex());
  return Head{head_.sequence, MacHex(head_.mac)};
}

void AuditLog::Push(Waiting& waiting) {
  if (thread_.closed()) return;
  if (queue_.empty()) linger_until_ = CommitThread::After(std::min(kLinger, retry_interval_));
  queue_.push_back(std::move(waiting));
}

CommitThread::Clock::time_point AuditLog::WriteAt() const {
  if (thread_.closed()) return CommitThread::kNever;  // Stop writes what is left, together with the stop record
  if (urgent_) return CommitThread::kAtOnce;
  // No caller waits until denials, counts and outcomes are written. So these records wait until an allow is queued.
  const auto lingering = queue_.empty() ? CommitThread::kNever : linger_until_;
  return retries_ || denials_.counting() ? std::min(lingering, retry_at_) : lingering;
}

CommitThread::Clock::time_point AuditLog::SleepUntil() const {
  return daily_files_ ? CommitThread::After(retry_interval_) : CommitThread::kNever;
}

size_t AuditLog::TakeGroup() {
  urgent_ = retries_ = false;
  retry_at_ = CommitThread::After(retry_interval_);
  std::move(queue_.begin(), queue_.end(), std::back_inserter(group_));
  queue_.clear();
  const absl::Time now = now_();
  for (FloodBound::Counted& counted : denials_.Take(now, thread_.closed())) {
    Waiting waiting;
    waiting.entry.text = DeniedCountText(now, counted.name, counted.count, counted.since);
    waiting.entry.kind = AuditKind::kDeniedCount;
    waiting.counted = std::move(counted);
    group_.push_back(std::move(waiting));
  }
  if (thread_.closed()) {
    Waiting waiting;
    waiting.entry.text = StopText(now);
    waiting.entry.kind = AuditKind::kStop;
    group_.push_back(std::move(waiting));
  }
  return Of(Kind::kCalls).waiting;
}

absl::Status AuditLog::WriteGroup() {
  // A new day begins even if there are no records, and before the first record of the day is written.
  if (daily_files_) StartAnewIfDue();
  if (group_.empty()) return absl::OkStatus();
  std::vector<AuditWriter::Entry*> entries;
  entries.reserve(group_.size());
  for (Waiting& waiting : group_) entries.push_back(&waiting.entry);
  thread_.wait().Begin();
  const absl::Status status = writer_->Write(entries);
  thread_.wait().End();
  if (status.ok()) NoteOpen();
  std::vector<Waiting> kept;
  {
    const MutexLock lock(thread_.mutex());
    head_ = writer_->head();
    retries_ = !status.ok();
    if (retries_) retry_at_ = CommitThread::After(retry_interval_);
    Of(Kind::kReads).open = open_reads_.size();
    Of(Kind::kCalls).open = open_calls_.size();
    for (const Waiting& waiting : group_) {
      if (waiting.entry.kind == AuditKind::kAllow) --Of(waiting.kind).waiting;
      if (waiting.entry.kind == AuditKind::kDeny && status.ok()) --waiting_denials_;
      if (waiting.entry.kind == AuditKind::kDeniedCount && !status.ok()) denials_.GiveBack(waiting.counted);
    }
  }
  // The observers run before the callbacks, so that a callback sees the state that the observers have stored.
  Report(observe_, status, failing_);
  if (status.ok() && observe_open_) observe_open_(StillOpen());
  for (Waiting& waiting : group_) {
    switch (waiting.entry.kind) {
      case AuditKind::kAllow:
        waiting.done(status.ok() ? absl::StatusOr<AllowId>(waiting.entry.sequence) : CannotWrite(status));
        break;
      case AuditKind::kDeny:
      case AuditKind::kOutcome:
        if (!status.ok()) kept.push_back(std::move(waiting));
        break;
      default:
        break;
    }
  }
  group_ = std::move(kept);
  if (status.ok()) StartAnewIfDue();
  return absl::OkStatus();
}

void AuditLog::Stop(absl::Status status) {
  {
    const MutexLock lock(thread_.mutex());
    TakeGroup();
  }
  WriteGroup().IgnoreError();
  // Records that even the last attempt could not write are lost; `observe_` has received the error. The next start
  // writes the outcome UNKNOWN for allows whose outcome is lost.
  writer_ = nullptr;
}

void AuditLog::StartAnewIfDue() {
  thread_.wait().Begin();
  const absl::Status anew = writer_->StartAnewIfDue();
  thread_.wait().End();
  // After kDataLoss all later writes fail, so `observe_` receives the error.
  if (absl::IsDataLoss(anew)) return Report(observe_, anew, failing_);
  Report(observe_rotation_, anew, rotation_failing_);
  const MutexLock lock(thread_.mutex());
  head_ = writer_->head();
}

void AuditLog::NoteOpen() {
  const auto now = steady_now_();
  for (const Waiting& waiting : group_) {
    if (waiting.entry.kind == AuditKind::kOutcome) {
      open_calls_.erase(waiting.entry.allow);
      open_reads_.erase(waiting.entry.allow);
    }
    if (waiting.entry.kind != AuditKind::kAllow) continue;
    if (waiting.kind == Kind::kReads) {
      open_reads_.insert(waiting.entry.sequence);
    } else {
      open_calls_.emplace(waiting.entry.sequence, now);
    }
  }
}

AuditLog::OpenAllows AuditLog::StillOpen() const {
  OpenAllows open{open_calls_.size(), open_reads_.size(), std::nullopt};
  if (!open_calls_.empty()) open.oldest_call = open_calls_.begin()->second;
  return open;
}

}  // namespace stampgate
