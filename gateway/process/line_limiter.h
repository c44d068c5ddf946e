// Limits the lines that other parties can cause in a log: decides which lines are written, and counts the others.
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

// Limits the lines of each name. A name is, for example, the name of a denied caller or the outcome of a delivery. Each
// line that is not written is counted in exactly one count. Not thread-safe.
//
// A name is either known to the program or the name of a stranger. Strangers can have any number of names, so all
// strangers share one daily budget of lines and counts. Counts beyond this budget are added to one common count under
// the name kOthers. If strangers have more than kStrangers names in one window, the lines of the further names are also
// added to this common count.
class FloodBound {
 public:
  static constexpr size_t kStrangers = 1024;
  static constexpr char kOthers[] = "(others)";

  struct Limits {
    absl::Duration window;
    int per_window = 0;  // lines of one name in one window
    // The next two are limits for 24 hours, which begin with the first line. Each known name also has at most one count
    // per window, and this count does not reduce these limits.
    int64_t daily = std::numeric_limits<int64_t>::max();            // lines of one known name
    int64_t strangers_daily = std::numeric_limits<int64_t>::max();  // lines and counts of all strangers together
  };

  enum class Who { kKnown, kStranger };

  struct Counted {
    std::string name;
    Who who = Who::kKnown;
    uint64_t count = 0;
    absl::Time since;  // when the first of the `count` lines was counted
  };

  explicit FloodBound(Limits limits) : limits_(limits) { others_.who = Who::kStranger; }

  // Returns whether a line of this name may be written. If not, counts the line.
  bool Admit(const std::string& name, Who who, absl::Time now);

  // Counts a line that Admit has allowed, but that the caller of Admit has not written.
  void Count(const std::string& name, Who who, absl::Time now);

  // Removes and returns the counts that began at least one window ago. If `all` is true, removes and returns all
  // counts.
  std::vector<Counted> Take(absl::Time now, bool all);

  // Restores a count that Take has returned. Call it if the count could not be written.
  void GiveBack(const Counted& counted);

  // Returns whether any lines are counted that Take has not returned yet.
  bool counting() const { return counting_ > 0; }

 private:
  // Counts how much of a budget was spent in the current period.
  class Budget {
   public:
    // Spends one unit of the budget and returns true. If `most` units were already spent in the current period, returns
    // false.
    bool Spend(absl::Time now, absl::Duration time, int64_t most);
    // Returns whether the current period is over, so that Spend would begin a new one.
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
  size_t strangers_ = 0;  // how many entries of sources_ are strangers
  Budget strangers_day_;
  Source others_;
  Budget others_window_;  // allows Take to return the count of others_ once in a window
  size_t counting_ = 0;   // the number of sources with a count
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_PROCESS_LINE_LIMITER_H_
