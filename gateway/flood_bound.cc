#include "gateway/flood_bound.h"

#include <algorithm>

namespace stampgate {
namespace {

// Also when the clock was set back.
bool IsOver(absl::Time second, absl::Time now) { return now < second || now - second >= absl::Seconds(1); }

}  // namespace

FloodBound::Source& FloodBound::Find(const std::string& name) {
  auto found = sources_.find(name);
  if (found != sources_.end()) return found->second;
  if (sources_.size() < kNames) return sources_[name];
  Source& others = sources_[kOthers];
  others.written = kWrittenPerSecond;
  others.second = absl::InfiniteFuture();
  return others;
}

bool FloodBound::Admit(const std::string& name, absl::Time now) {
  Source& found = Find(name);
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

void FloodBound::Count(const std::string& name, absl::Time now) { Add(Find(name), 1, now); }

void FloodBound::GiveBack(const Counted& counted) { Add(Find(counted.name), counted.count, counted.since); }

void FloodBound::Add(Source& source, uint64_t count, absl::Time since) {
  if (source.count == 0) {
    ++counting_;
    source.since = since;
  }
  source.since = std::min(source.since, since);
  source.count += count;
}

std::vector<FloodBound::Counted> FloodBound::Take(absl::Time now, bool all) {
  std::vector<Counted> taken;
  for (auto it = sources_.begin(); it != sources_.end();) {
    Source& source = it->second;
    if (source.count > 0 && (all || IsOver(source.since, now))) {
      taken.push_back({it->first, source.count, source.since});
      source.count = 0;
      --counting_;
    }
    const bool idle = source.count == 0 && (IsOver(source.second, now) || source.second == absl::InfiniteFuture());
    // What is erased moves nothing else.
    if (idle) {
      sources_.erase(it++);
    } else {
      ++it;
    }
  }
  std::sort(taken.begin(), taken.end(), [](const Counted& a, const Counted& b) { return a.name < b.name; });
  return taken;
}

}  // namespace stampgate
