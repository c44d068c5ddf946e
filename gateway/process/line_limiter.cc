#include "gateway/process/line_limiter.h"

#include <algorithm>
#include <utility>

namespace stampgate {
namespace {

constexpr absl::Duration kDay = absl::Hours(24);

// Returns whether `time` has passed since `began`. Also returns true if the clock was set back.
bool IsOver(absl::Time began, absl::Time now, absl::Duration time) { return now < began || now - began >= time; }

}  // namespace

bool FloodBound::Budget::Spend(absl::Time now, absl::Duration time, int64_t most) {
  if (HasEnded(now, time)) {
    began_ = now;
    spent_ = 0;
  }
  if (spent_ >= most) return false;
  ++spent_;
  return true;
}

bool FloodBound::Budget::HasEnded(absl::Time now, absl::Duration time) const { return IsOver(began_, now, time); }

FloodBound::Source& FloodBound::Find(const std::string& name, Who who) {
  if (name == kOthers) return others_;
  const auto found = sources_.find(name);
  if (found != sources_.end()) return found->second;
  if (who == Who::kStranger && strangers_ == kStrangers) return others_;
  if (who == Who::kStranger) ++strangers_;
  Source& source = sources_[name];
  source.who = who;
  return source;
}

bool FloodBound::Admit(const std::string& name, Who who, absl::Time now) {
  Source& source = Find(name, who);
  const bool admitted = &source != &others_ && source.window.Spend(now, limits_.window, limits_.per_window) &&
                        (who == Who::kStranger ? strangers_day_.Spend(now, kDay, limits_.strangers_daily)
                                               : source.day.Spend(now, kDay, limits_.daily));
  if (!admitted) Add(source, 1, now);
  return admitted;
}

void FloodBound::Count(const std::string& name, Who who, absl::Time now) { Add(Find(name, who), 1, now); }

void FloodBound::GiveBack(const Counted& counted) {
  Add(Find(counted.name, counted.who), counted.count, counted.since);
}

void FloodBound::Add(Source& source, uint64_t count, absl::Time since) {
  if (source.count == 0) {
    ++counting_;
    source.since = since;
  }
  source.since = std::min(source.since, since);
  source.count += count;
}

FloodBound::Counted FloodBound::TakeFrom(const std::string& name, Source& source) {
  Counted counted{name, source.who, source.count, source.since};
  source.count = 0;
  --counting_;
  return counted;
}

std::vector<FloodBound::Counted> FloodBound::Take(absl::Time now, bool all) {
  std::vector<Counted> taken;
  for (auto it = sources_.begin(); it != sources_.end();) {
    Source& source = it->second;
    if (source.count > 0 && (all || IsOver(source.since, now, limits_.window))) {
      Counted counted = TakeFrom(it->first, source);
      if (source.who == Who::kKnown || strangers_day_.Spend(now, kDay, limits_.strangers_daily)) {
        taken.push_back(std::move(counted));
      } else {
        Add(others_, counted.count, counted.since);
      }
    }
    // The entry of a known name is kept until its day has ended, because the entry contains the daily budget.
    const bool idle = source.count == 0 && source.window.HasEnded(now, limits_.window) &&
                      (source.who == Who::kStranger || source.day.HasEnded(now, kDay));
    if (idle && source.who == Who::kStranger) --strangers_;
    // Erasing an entry does not invalidate the iterators of other entries.
    if (idle) {
      sources_.erase(it++);
    } else {
      ++it;
    }
  }
  // Counts that were moved to others_ are already older than a window. Without others_window_, every call of Take would
  // return the count of others_.
  if (others_.count > 0 &&
      (all || (IsOver(others_.since, now, limits_.window) && others_window_.Spend(now, limits_.window, 1)))) {
    taken.push_back(TakeFrom(kOthers, others_));
  }
  std::sort(taken.begin(), taken.end(), [](const Counted& a, const Counted& b) { return a.name < b.name; });
  return taken;
}

}  // namespace stampgate
