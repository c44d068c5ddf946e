// The order in which the calls of several callers continue.
#ifndef STAMPGATE_GATEWAY_ADMISSION_FAIR_QUEUE_H_
#define STAMPGATE_GATEWAY_ADMISSION_FAIR_QUEUE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace stampgate {

// The classes of calls, in strict order: while a call of a class waits, no call of a later class continues. So a class
// can starve the later ones.
enum class CallClass { kSubmit, kQuery, kBackground };
inline constexpr size_t kCallClasses = 3;

// Within a class, the callers share the places in proportion to their weights: start-time fair queueing. Each caller
// has a virtual time, to which each of its calls adds 1 / weight, and the caller with the smallest virtual time is
// next. Of several callers with the same virtual time, Precedes prefers none: Admission then takes the call that has
// waited longest, so that no later call overtakes a waiting one, except those that Ahead counts. A caller that has used
// less than its share does not save the rest for later, whether it has not called, or its calls had to wait for
// something else. For calls of equal size, this order is that of a weighted deficit round robin whose rounds are as
// fine as possible: a caller with the weight 100 does not get 100 places in a row.
//
// Not thread-safe.
class FairQueue {
 public:
  // A caller in one class. The reference is valid as long as the queue.
  class Flow;

  FairQueue();
  ~FairQueue();

  // Counts a call that arrives, also one that will be refused, and returns its caller's flow. The weight may change
  // with each call.
  Flow& Arrive(CallClass call_class, absl::string_view caller, double weight, absl::Time now);

  // Returns the caller of a flow; valid as long as the queue.
  static absl::string_view CallerOf(const Flow& flow);

  // A call continues, and uses a turn.
  static void Continue(Flow& flow);

  // A call begins or ends to wait. It waits `elsewhere` if something else delays it longer than this order does.
  static void Add(Flow& flow, bool elsewhere = false);
  static void Remove(Flow& flow, bool elsewhere = false);

  // Returns whether a call of `flow` goes before one of `other`, which is a flow of the same queue. If both are equal,
  // returns false.
  static bool Precedes(const Flow& flow, const Flow& other);

  // Estimates how many calls go before a new call of `flow`: those that wait now, and those that arrive within
  // `horizon` and overtake it if the callers continue to call as often as they did. The calls that wait elsewhere count
  // like the others, except those of the flow's own caller.
  int64_t Ahead(const Flow& flow, absl::Duration horizon, absl::Time now) const;

 private:
  struct ClassQueue;

  std::array<std::unique_ptr<ClassQueue>, kCallClasses> queues_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_ADMISSION_FAIR_QUEUE_H_
