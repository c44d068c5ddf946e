// The results of one call of Settle, RetryParked or SkipParked, whose parts several gateways carry out.
#ifndef STAMPGATE_GATEWAY_SUBSCRIPTIONS_TASK_RESULTS_H_
#define STAMPGATE_GATEWAY_SUBSCRIPTIONS_TASK_RESULTS_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/threads/mutex.h"
#include "gateway/subscriptions/holder_task.h"

namespace stampgate {

// Gets the indexes of what was refused, in order. Errors: UNAVAILABLE (EVENT_LOG_UNAVAILABLE) if a gateway or the store
// has not answered, or if events were not read again since the start; RESOURCE_EXHAUSTED (TOO_MANY_PARKED) if an event
// cannot be parked. The other deliveries are settled even then.
using OnTaskResults = absl::AnyInvocable<void(absl::StatusOr<std::vector<size_t>>)>;

// Thread-safe. The parts share the object: the last one that ends destroys it.
class TaskResults {
 public:
  explicit TaskResults(OnTaskResults done) : done_(std::move(done)) {}
  // Calls `done`.
  ~TaskResults();
  TaskResults(const TaskResults&) = delete;
  TaskResults& operator=(const TaskResults&) = delete;

  // Expects one more answer. If it does not come, the call fails.
  void Expect();
  // Adds the answer to a request. `indexes` are those of the request's deliveries or positions in the call.
  void AddAnswer(const absl::StatusOr<std::string>& answer, const std::vector<size_t>& indexes);

  // The indexes of `result` are those of the call.
  void Add(const TaskResult& result);
  void Add(const absl::Status& status);

 private:
  Mutex mutex_;
  int expected_ ABSL_GUARDED_BY(mutex_) = 0;  // answers
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  std::vector<size_t> refused_ ABSL_GUARDED_BY(mutex_);
  OnTaskResults done_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SUBSCRIPTIONS_TASK_RESULTS_H_
