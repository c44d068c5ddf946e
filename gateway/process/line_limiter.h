// Bounds the lines that outsiders can cause: decides which are written, and counts the rest.
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

// Bounds lines by name: the name of a denied caller, or the outcome of a delivery. Counts are exact: every line that is
// not written is in one. Not thread-safe.
//
// Strangers can have any number of names, so all strangers share one budget. Lines beyond it, and beyond kStrangers
// names in one window, are counted under the name kOthers. All other names are known to the program.
class FloodBound {
 public:
  static constexpr size_t kStrangers = 1024;
  static constexpr char kOthers[] = "(others)";

  struct Limits {
    absl::Duration window;
    int per_window = 0;  // lines of one name, and also counts of it
    // In 24 hours from the first one. Counts of strangers use this budget too; counts of others are at most one for
    // each window.
    int64_t daily = std::numeric_limits<int64_t>::max();            // lines of one name
    int64_t strangers_daily = std::numeric_limits<int64_t>::max();  // lines and counts of all strangers
  };

  enum class Who { kKnown, kStranger };

  struct Counted {
    std::string name;
    Who who = Who::kKnown;
    uint64_t count = 0;
    absl::Time since;  // when the first of them was counted
  };

  explicit FloodBound(Limits limits) : limits_(limits) { others_.who = Who::kStranger; }

  // Whether this line may be written. If not, counts it.
  bool Admit(const std::string& name, Who who, absl::Time now);

  // Counts a line that could not be written after all.
  void Count(const std::string& name, Who who, absl::Time now);

  // Removes and returns the counts that began at least one window ago; with `all`, every one.
  std::vector<Counted> Take(absl::Time now, bool all);

  // Adds a count that could not be written back.
  void GiveBack(const Counted& counted);

  // Whether there is a count, due now or later.
  bool counting() const { return counting_ > 0; }

 private:
  // Counts how much of a budget was spent in the current period.
  class Budget {
   public:
    // False if `most` have been spent.
    bool Spend(absl::Time now, absl::Duration time, int64_t most);
    // Whether Spend would begin a new period.
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
  // Clears the count of `source` and returns it.
  Counted TakeFrom(const std::string& name, Source& source);

  const Limits limits_;
  absl::flat_hash_map<std::string, Source> sources_;
  size_t strangers_ = 0;  // how many of the sources are strangers
  Budget strangers_day_;
  Source others_;
  Budget others_window_;  // bounds the counts of others_
  size_t counting_ = 0;   // number of sources with a count
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_PROCESS_LINE_LIMITER_H_
