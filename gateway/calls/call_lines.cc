#include "gateway/calls/call_lines.h"

#include <vector>

namespace stampgate {

CallLines::~CallLines() { Report(true); }

bool CallLines::Admit(absl::string_view event, absl::string_view caller, int written) {
  const FloodBound::Limits limits = {.window = absl::Minutes(1), .per_window = written};
  const absl::Time now = options_.now();
  const MutexLock lock(mutex_);
  auto bound = bounds_.find(event);
  if (bound == bounds_.end()) bound = bounds_.try_emplace(std::string(event), limits).first;
  // `caller` can be the name of a stranger, so every caller is passed as kStranger: FloodBound limits the number of
  // strangers. The only other difference between strangers and known callers are the daily limits, which are not set.
  return bound->second.Admit(std::string(caller), FloodBound::Who::kStranger, now);
}

void CallLines::ReportLeftOut() { Report(false); }

void CallLines::Report(bool all) {
  const absl::Time now = options_.now();
  std::vector<std::pair<std::string, FloodBound::Counted>> left_out;
  {
    const MutexLock lock(mutex_);
    for (auto& [event, bound] : bounds_) {
      for (FloodBound::Counted& counted : bound.Take(now, all)) left_out.emplace_back(event, std::move(counted));
    }
  }
  for (const auto& [event, counted] : left_out) {
    WriteLine(Severity::kWarning, "call_lines_left_out",
              {{"left_out", event}, {"caller", counted.name}, {"count", counted.count}});
  }
}

}  // namespace stampgate
