// Which of the lines that others can cause are written one by one, and which are only counted.
#ifndef STAMPGATE_GATEWAY_PROCESS_LINE_LIMITER_H_
#define STAMPGATE_GATEWAY_PROCESS_LINE_LIMITER_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"

namespace stampgate {

// Lines are bounded by name: that of the caller who was denied, or of what became of a delivery. Counts are exact: what
// is not to be written is in one. Not thread-safe.
//
// Names of strangers are as many as strangers like, so all strangers share one budget. What is beyond it, and beyond
// kStrangers names in one window, is counted under the name kOthers. Other names are those that the program knows.
class FloodBound {
 public:
  static constexpr size_t kStrangers = 1024;
  static constexpr char kOthers[] = "(others)";

  struct Limits {
    absl::Duration window;
    int per_window = 0;  // lines of one name; also, one count of it
    // In 24 hours from the first one. Counts of strangers are lines too; those of others are one a window at most.
    int64_t daily = std::numeric_limits<int64_t>::max();            // lines of one name
    int64_t strangers_daily = std::numeric_limits<int64_t>::max();  // lines and counts of all strangers
  };

  enum class Who { kKnown, kStranger };

  struct Counted {
    std::string name;
    Who who = Who::kKnown;
    uint64_t count = 0;
    absl::Time since;  // the first of them
  };

  explicit FloodBound(Limits limits) : limits_(limits) { others_.who = Who::kStranger; }

  // Whether this line is to be written. If not, it has been counted.
  bool Admit(const std::string& name, Who who, absl::Time now);

  // Counts one that cannot be written after all.
  void Count(const std::string& name, Who who, absl::Time now);

  // Hands out the counts that began a window ago or earlier; with `all`, every one.
  std::vector<Counted> Take(absl::Time now, bool all);

  // Takes back what could not be written.
  void GiveBack(const Counted& counted);

  // Whether there is something to take, now or later.
  bool counting() const { return counting_ > 0; }

 private:
  // How many there were in the time that runs.
  class Budget {
   public:
    // False if `most` are spent.
    bool Spend(absl::Time now, absl::Duration time, int64_t most);
    // Whether Spend would begin a new time.
    bool HasEnded(absl::Time now, absl::Duration time) const;

   private:
    absl::Time began_ = absl::InfinitePast();
    int64_t spent_ = 0;
  };

  struct Source {
    Who who = Who::kKnown;
    Budget window;
    Budget day;
    uint64_t count = 0;
    absl::Time since;
  };

  Source& Find(const std::string& name, Who who);
  void Add(Source& source, uint64_t count, absl::Time since);
  // Leaves nothing in `source`.
  Counted TakeFrom(const std::string& name, Source& source);

  const Limits limits_;
  absl::flat_hash_map<std::string, Source> sources_;
  size_t strangers_ = 0;  // of the sources
  Budget strangers_day_;
  Source others_;
  Budget others_window_;  // of their counts
  size_t counting_ = 0;   // sources with a count
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_PROCESS_LINE_LIMITER_H_
