// Which of the lines that strangers can cause are written one by one, and which are only counted.
#ifndef STAMPGATE_GATEWAY_FLOOD_BOUND_H_
#define STAMPGATE_GATEWAY_FLOOD_BOUND_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"

namespace stampgate {

// Lines are bounded by name: that of the caller who was denied, or of what became of a delivery. Counts are exact: what
// is not to be written is in one. Not thread-safe. Of names beyond kNames within a second every line is counted, all
// together, under the name kOthers.
class FloodBound {
 public:
  static constexpr int kWrittenPerSecond = 100;  // of one name
  static constexpr size_t kNames = 1024;
  static constexpr char kOthers[] = "(others)";

  struct Counted {
    std::string name;
    uint64_t count = 0;
    absl::Time since;  // the first of them
  };

  // Whether this line is to be written. If not, it has been counted.
  bool Admit(const std::string& name, absl::Time now);

  // Counts one that cannot be written after all.
  void Count(const std::string& name, absl::Time now);

  // Hands out the counts that began a second ago or earlier; with `all`, every one.
  std::vector<Counted> Take(absl::Time now, bool all);

  // Takes back what could not be written.
  void GiveBack(const Counted& counted);

  // Whether there is something to take, now or later.
  bool counting() const { return counting_ > 0; }

 private:
  struct Source {
    absl::Time second = absl::InfinitePast();  // when the one that runs began
    int written = 0;                           // in it
    uint64_t count = 0;
    absl::Time since;
  };

  Source& Find(const std::string& name);
  void Add(Source& source, uint64_t count, absl::Time since);

  absl::flat_hash_map<std::string, Source> sources_;
  size_t counting_ = 0;  // sources with a count
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_FLOOD_BOUND_H_
