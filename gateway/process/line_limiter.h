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

// Limits the lines of each name. A name is, for example, the name of a denied caller or the outcome of a delivery.
// Every line that is not written is contained in one count. Not thread-safe.
//
// Names are known to the program, or they are names of strangers. Strangers can have any number of names, so they share
// one daily budget of lines and counts. Counts beyond this budget, and lines of more than kStrangers names in one
// window, go to one common count under the name kOthers.
class FloodBound {
 public:
  static constexpr size_t kStrangers = 1024;
  static constexpr char kOthers[] = "(others)";

  struct Limits {
    absl::Duration window;
    int per_window = 0;  // lines of one name in one window
    // Limits for 24 hours, which begin with the first line. A known name has at most one count per window, which uses
    // up no limit.
    int64_t daily = std::numeric_limits<int64_t>::max();            // lines of one known name
    int64_t strangers_daily = std::numeric_limits<int64_t>::max();  // lines and counts of all strangers together
  };

  enum class Who { kKnown, kStranger };

  struct Counted {
    std::string name;
    Who who = Who::kKnown;
    uint64_t count = 0;
    absl::Time since;  // when the first of these lines was counted
  };

  explicit FloodBound(Limits limits) : limits_(limits) { others_.who = Who::kStranger; }

  // Returns whether this line may be written. If it may not, counts it.
  bool Admit(const std::string& name, Who who, absl::Time now);

  // Counts a line that Admit has allowed, but that was not written.
  void Count(const std::string& name, Who who, absl::Time now);

  // Removes and returns the counts that began at least one window ago. With `all`, removes and returns all counts.
  std::vector<Counted> Take(absl::Time now, bool all);

  // Restores a count that Take has returned, because it could not be written.
  void GiveBack(const Counted& counted);

  // Returns whether there is a count, even if Take does not return it yet.
  bool counting() const { return counting_ > 0; }

 private:
  // Counts how much of a budget was spent in the current period.
  class Budget {
   public:
    // Spends one unit of the budget, or returns false if `most` units were spent in the current period.
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
  size_t strangers_ = 0;  // how many of the sources are strangers
  Budget strangers_day_;
  Source others_;
  Budget others_window_;  // bounds the counts of others_
  size_t counting_ = 0;   // the number of sources with a count
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_PROCESS_LINE_LIMITER_H_
