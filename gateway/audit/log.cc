#include "gateway/audit/log.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/threads/start_thread.h"

namespace stampgate {
namespace {

// How long outcomes and denials wait for an allow, so that one sync covers all of them. A sync takes more time than any
// other step.
constexpr std::chrono::milliseconds kLinger(10);

// How long an allow waits for further ones, if the previous group had several. A sync costs the CPU time of a whole
// call, so under load it should cover many allows.
constexpr std::chrono::microseconds kGather(300);

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
      head_(writer_->head()) {
  if (observe_open_) observe_open_({});
  thread_ = StartThread("audit-log", [this] { Run(); });
}

AuditLog::~AuditLog() { Close(); }

void AuditLog::Close() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_one();
  std::call_once(joined_, [this] { thread_.join(); });
}

void AuditLog::Allow(const AuditDecision& decision, OnAllowed done, Kind kind) {
  Waiting waiting;
  waiting.entry.text = AllowText(now_(), decision);
  waiting.entry.kind = AuditKind::kAllow;
  waiting.done = std::move(done);
  waiting.kind = kind;
  if (absl::Status refusal = Enqueue(waiting); !refusal.ok()) waiting.done(refusal);
}

void AuditLog::Deny(const AuditDecision& decision) {
  const absl::Time now = now_();
  const std::string caller = AuditValue(decision.caller, kAuditDenialValueBytes);
  const FloodBound::Who who = WhoIs(caller);
  {
    std::lock_guard lock(mutex_);
    if (closed_) return;
    const bool counted_before = denials_.counting();
    if (!denials_.Admit(caller, who, now)) {
      if (!counted_before) changed_.notify_one();
      return;
    }
    if (waiting_denials_ == kMaxWaitingDenials) {
      denials_.Count(caller, who, now);
      if (!counted_before) changed_.notify_one();
      return;
    }
  }
  Waiting waiting;
  waiting.entry.text = DenyText(now, decision);
  waiting.entry.kind = AuditKind::kDeny;
  Enqueue(waiting).IgnoreError();
}

void AuditLog::End(AllowId allow, const AuditOutcome& outcome) {
  Waiting waiting;
  waiting.entry.text = OutcomeText(now_(), allow, outcome);
  waiting.entry.kind = AuditKind::kOutcome;
  waiting.entry.allow = allow;
  Enqueue(waiting).IgnoreError();
}

AuditLog::Head AuditLog::head() const {
  std::lock_guard lock(mutex_);
  return Head{head_.sequence, MacHex(head_.mac)};
}

// Queues `waiting`. After an error, `waiting` is unchanged.
absl::Status AuditLog::Enqueue(Waiting& waiting) {
  bool wake;
  {
    std::lock_guard lock(mutex_);
    if (closed_) return absl::UnavailableError("the audit log is closed");
    if (waiting.entry.kind == AuditKind::kAllow) {
      // Without this check, the call would wait, perhaps until its deadline.
      if (wait_.hangs()) return absl::UnavailableError("the audit log's disk does not answer");
      Occupancy& occupancy = Of(waiting.kind);
      if (occupancy.waiting == kMaxWaitingAllows) {
        return absl::ResourceExhaustedError("too many calls wait for the audit log");
      }
      const size_t most = waiting.kind == Kind::kReads ? kMaxOpenReads : kMaxOpenAllows;
      if (occupancy.waiting + occupancy.open >= most) {
        return absl::ResourceExhaustedError("too many calls have no outcome in the audit log yet");
      }
      ++occupancy.waiting;
    }
    const bool urgent = waiting.entry.kind == AuditKind::kAllow;
    if (waiting.entry.kind == AuditKind::kDeny) ++waiting_denials_;
    wake = queue_.empty() || (urgent && !urgent_);
    urgent_ = urgent_ || urgent;
    queue_.push_back(std::move(waiting));
  }
  if (wake) changed_.notify_one();
  return absl::OkStatus();
}

void AuditLog::Run() {
  std::vector<Waiting> group;
  bool more = true;
  while (more) {
    more = Collect(group);
    // A new day begins even if there are no records, and before the first record of the day is written.
    if (daily_files_) StartAnewIfDue();
    WriteGroup(group);
  }
  // Records that even the last attempt could not write are lost; `observe_` has received the error. The next start
  // writes the outcome UNKNOWN for allows whose outcome is lost.
  writer_ = nullptr;
}

bool AuditLog::Collect(std::vector<Waiting>& group) {
  std::unique_lock lock(mutex_);
  const auto patience = std::chrono::nanoseconds(absl::ToChronoNanoseconds(retry_interval_));
  if (group.empty()) {
    const auto busy = [this] { return closed_ || !queue_.empty() || denials_.counting(); };
    if (!daily_files_) {
      changed_.wait(lock, busy);
    } else if (!changed_.wait_for(lock, patience, busy)) {
      return true;
    }
  }
  // No caller waits until denials, counts and outcomes are written. So these records wait until an allow is queued.
  const auto urgent = [this] { return closed_ || urgent_; };
  if (!urgent()) {
    changed_.wait_for(lock, queue_.empty() ? patience : std::min<std::chrono::nanoseconds>(kLinger, patience), urgent);
  }
  if (gathers_) changed_.wait_for(lock, kGather, [this] { return closed_; });
  urgent_ = false;
  gathers_ = Of(Kind::kCalls).waiting > 1;
  if (group.empty()) {
    std::swap(group, queue_);
  } else {
    std::move(queue_.begin(), queue_.end(), std::back_inserter(group));
    queue_.clear();
  }
  const absl::Time now = now_();
  for (FloodBound::Counted& counted : denials_.Take(now, closed_)) {
    Waiting waiting;
    waiting.entry.text = DeniedCountText(now, counted.name, counted.count, counted.since);
    waiting.entry.kind = AuditKind::kDeniedCount;
    waiting.counted = std::move(counted);
    group.push_back(std::move(waiting));
  }
  if (closed_) {
    Waiting waiting;
    waiting.entry.text = StopText(now);
    waiting.entry.kind = AuditKind::kStop;
    group.push_back(std::move(waiting));
  }
  return !closed_;
}

void AuditLog::WriteGroup(std::vector<Waiting>& group) {
  if (group.empty()) return;
  std::vector<AuditWriter::Entry*> entries;
  entries.reserve(group.size());
  for (Waiting& waiting : group) entries.push_back(&waiting.entry);
  wait_.Begin();
  const absl::Status status = writer_->Write(entries);
  wait_.End();
  if (status.ok()) NoteOpen(group);
  std::vector<Waiting> kept;
  {
    std::lock_guard lock(mutex_);
    head_ = writer_->head();
    Of(Kind::kReads).open = open_reads_.size();
    Of(Kind::kCalls).open = open_calls_.size();
    for (const Waiting& waiting : group) {
      if (waiting.entry.kind == AuditKind::kAllow) --Of(waiting.kind).waiting;
      if (waiting.entry.kind == AuditKind::kDeny && status.ok()) --waiting_denials_;
      if (waiting.entry.kind == AuditKind::kDeniedCount && !status.ok()) denials_.GiveBack(waiting.counted);
    }
  }
  // The observers run before the callbacks, so that a callback sees the state that the observers have stored.
  Report(observe_, status, failing_);
  if (status.ok() && observe_open_) observe_open_(StillOpen());
  for (Waiting& waiting : group) {
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
  group = std::move(kept);
  if (!status.ok()) return;
  StartAnewIfDue();
}

void AuditLog::StartAnewIfDue() {
  wait_.Begin();
  const absl::Status anew = writer_->StartAnewIfDue();
  wait_.End();
  // After kDataLoss all later writes fail, so `observe_` receives the error.
  if (absl::IsDataLoss(anew)) return Report(observe_, anew, failing_);
  Report(observe_rotation_, anew, rotation_failing_);
  std::lock_guard lock(mutex_);
  head_ = writer_->head();
}

void AuditLog::NoteOpen(const std::vector<Waiting>& group) {
  const auto now = steady_now_();
  for (const Waiting& waiting : group) {
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
