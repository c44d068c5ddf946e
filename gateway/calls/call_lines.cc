#include "gateway/calls/call_lines.h"

#include <vector>

namespace stampgate {
namespace {

// True also if the clock was set back.
bool IsOver(absl::Time began, absl::Time now) { return now < began || now - began >= absl::Minutes(1); }

}  // namespace

CallLines::~CallLines() { Report(true); }

bool CallLines::Admit(absl::string_view event, absl::string_view caller) {
  const absl::Time now = options_.now();
  std::lock_guard lock(mutex_);
  auto found = minutes_.find(Source(event, caller));
  if (found == minutes_.end() && minutes_.size() >= kSources) {
    found = minutes_.try_emplace(Source(event, kOthers), Minute{now, kWritten, 0}).first;
  } else if (found == minutes_.end()) {
    found = minutes_.try_emplace(Source(event, caller), Minute{now, 0, 0}).first;
  }
  Minute& minute = found->second;
  // A minute that left lines out continues until ReportLeftOut has reported them.
  if (minute.left_out == 0 && IsOver(minute.began, now)) minute = {now, 0, 0};
  if (minute.written >= kWritten) {
    ++minute.left_out;
    return false;
  }
  ++minute.written;
  return true;
}

void CallLines::ReportLeftOut() { Report(false); }

void CallLines::Report(bool all) {
  const absl::Time now = options_.now();
  std::vector<std::pair<Source, uint64_t>> left_out;
  {
    std::lock_guard lock(mutex_);
    absl::erase_if(minutes_, [&](const auto& entry) {
      const auto& [source, minute] = entry;
      if (!all && !IsOver(minute.began, now)) return false;
      if (minute.left_out > 0) left_out.emplace_back(source, minute.left_out);
      return true;
    });
  }
  for (const auto& [source, count] : left_out) {
    WriteLine(Severity::kWarning, "call_lines_left_out",
              {{"left_out", source.first}, {"caller", source.second}, {"count", count}});
  }
}

}  // namespace stampgate
