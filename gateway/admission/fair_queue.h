// The order in which the calls of several callers continue.
#ifndef STAMPGATE_GATEWAY_ADMISSION_FAIR_QUEUE_H_
#define STAMPGATE_GATEWAY_ADMISSION_FAIR_QUEUE_H_

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace stampgate {

// The classes of calls, in strict order: while a call of a class waits, no call of a later class continues. So a class
// can starve the later ones.
enum class CallClass { kSubmit, kQuery, kBackground };
inline constexpr size_t kCallClasses = 3;

// Within a class, the callers share the places in proportion to their weights: start-time fair queueing. Each caller
// has a virtual time, to which each of its calls adds 1 / weight, and the caller with the smallest virtual time is
// next. Of several callers with the same virtual time, the one that began to wait first is next: so no later call
// overtakes a waiting one, except those that Ahead counts. A caller that has used less than its share does not save the
// rest for later. For calls of equal size, this order is that of a weighted deficit round robin whose rounds are as
// fine as possible: a caller with the weight 100 does not get 100 places in a row.
//
// The calls of one caller and class continue in the order of their arrival, as far as `may_go` permits. Not
// thread-safe.
class FairQueue {
 public:
  using CallId = uint64_t;

  // A caller in one class. The reference is valid as long as the queue.
  class Flow;

  FairQueue();
  ~FairQueue();

  // Counts a call that arrives, also one that will be refused, and returns its caller's flow. The weight may change
  // with each call.
  Flow& Arrive(CallClass call_class, absl::string_view caller, double weight, absl::Time now);

  // Returns the caller of a flow; valid as long as the queue.
  static absl::string_view CallerOf(const Flow& flow);

  // The call continues without waiting.
  void Pass(Flow& flow);

  // The call waits. No two waiting calls may have the same id.
  void Add(Flow& flow, CallId id);
  void Remove(Flow& flow, CallId id);

  // Removes and returns the first call that `may_go` permits.
  std::optional<CallId> TakeNext(absl::FunctionRef<bool(CallId)> may_go);

  // Returns how many calls would continue before a further call of `flow` if that waited: those that wait now and, if
  // the callers continue to call as often as they did, those that arrive within `horizon` and overtake it.
  int64_t Ahead(const Flow& flow, absl::Duration horizon, absl::Time now) const;

  size_t size() const { return size_; }
  size_t size(CallClass call_class) const;

 private:
  struct Lane;

  std::array<std::unique_ptr<Lane>, kCallClasses> lanes_;
  size_t size_ = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_ADMISSION_FAIR_QUEUE_H_
