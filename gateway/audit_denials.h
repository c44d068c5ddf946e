// Which denials are written to the audit log one by one, and which are only counted.
#ifndef STAMPGATE_GATEWAY_AUDIT_DENIALS_H_
#define STAMPGATE_GATEWAY_AUDIT_DENIALS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"

namespace stampgate {

// Counts are exact: what is not to be written is in one. Not thread-safe. Bounded: of callers beyond kCallers within a
// second every denial is counted, all together, under the name kOthers.
class AuditDenials {
 public:
  static constexpr int kWrittenPerSecond = 100;  // of one caller
  static constexpr size_t kCallers = 1024;
  static constexpr char kOthers[] = "(others)";

  struct Counted {
    std::string caller;
    uint64_t count = 0;
    absl::Time since;  // the first of them
  };

  // Whether this denial is to be written. If not, it has been counted.
  bool Admit(const std::string& caller, absl::Time now);

  // Counts one that cannot be written after all.
  void Count(const std::string& caller, absl::Time now);

  // Hands out the counts that began a second ago or earlier; with `all`, every one.
  std::vector<Counted> Take(absl::Time now, bool all);

  // Takes back what could not be written.
  void GiveBack(const Counted& counted);

  // Whether there is something to take, now or later.
  bool counting() const { return counting_ > 0; }

 private:
  struct Caller {
    absl::Time second = absl::InfinitePast();  // when the one that runs began
    int written = 0;                           // in it
    uint64_t count = 0;
    absl::Time since;
  };

  Caller& Find(const std::string& caller);
  void Add(Caller& caller, uint64_t count, absl::Time since);

  absl::flat_hash_map<std::string, Caller> callers_;
  size_t counting_ = 0;  // callers with a count
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_DENIALS_H_
