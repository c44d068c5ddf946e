#include "gateway/audit_denials.h"

#include <algorithm>

namespace stampgate {
namespace {

// Also when the clock was set back.
bool IsOver(absl::Time second, absl::Time now) { return now < second || now - second >= absl::Seconds(1); }

}  // namespace

AuditDenials::Caller& AuditDenials::Find(const std::string& caller) {
  auto found = callers_.find(caller);
  if (found != callers_.end()) return found->second;
  if (callers_.size() < kCallers) return callers_[caller];
  Caller& others = callers_[kOthers];
  others.written = kWrittenPerSecond;
  others.second = absl::InfiniteFuture();
  return others;
}

bool AuditDenials::Admit(const std::string& caller, absl::Time now) {
  Caller& found = Find(caller);
  if (found.second != absl::InfiniteFuture() && IsOver(found.second, now)) {
    found.second = now;
    found.written = 0;
  }
  if (found.written < kWrittenPerSecond) {
    ++found.written;
    return true;
  }
  Add(found, 1, now);
  return false;
}

void AuditDenials::Count(const std::string& caller, absl::Time now) { Add(Find(caller), 1, now); }

void AuditDenials::GiveBack(const Counted& counted) { Add(Find(counted.caller), counted.count, counted.since); }

void AuditDenials::Add(Caller& caller, uint64_t count, absl::Time since) {
  if (caller.count == 0) {
    ++counting_;
    caller.since = since;
  }
  caller.since = std::min(caller.since, since);
  caller.count += count;
}

std::vector<AuditDenials::Counted> AuditDenials::Take(absl::Time now, bool all) {
  std::vector<Counted> taken;
  for (auto it = callers_.begin(); it != callers_.end();) {
    Caller& caller = it->second;
    if (caller.count > 0 && (all || IsOver(caller.since, now))) {
      taken.push_back({it->first, caller.count, caller.since});
      caller.count = 0;
      --counting_;
    }
    const bool idle = caller.count == 0 && (IsOver(caller.second, now) || caller.second == absl::InfiniteFuture());
    // What is erased moves nothing else.
    if (idle) {
      callers_.erase(it++);
    } else {
      ++it;
    }
  }
  std::sort(taken.begin(), taken.end(), [](const Counted& a, const Counted& b) { return a.caller < b.caller; });
  return taken;
}

}  // namespace stampgate
