// What a gateway asks the one that holds a partition of a shared subscription, and the answer.
#ifndef STAMPGATE_GATEWAY_SUBSCRIPTIONS_HOLDER_TASK_H_
#define STAMPGATE_GATEWAY_SUBSCRIPTIONS_HOLDER_TASK_H_

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gateway/subscriptions/delivery_id.h"
#include "gateway/subscriptions/shared_subscription.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// See SharedSubscription::Settle.
struct SettleTask {
  std::vector<DeliveryId> deliveries;
  SettleOutcome outcome = SettleOutcome::kDone;
  absl::Duration delay;
  std::string reason;

  friend bool operator==(const SettleTask&, const SettleTask&) = default;
};

enum class ParkedChange { kRetry, kSkip };

// See SharedSubscription::RetryParked and SkipParked.
struct ParkedTask {
  std::vector<Position> positions;
  ParkedChange change = ParkedChange::kRetry;

  friend bool operator==(const ParkedTask&, const ParkedTask&) = default;
};

using HolderTask = std::variant<SettleTask, ParkedTask>;

// What carrying out a task has resulted in.
struct TaskResult {
  std::vector<size_t> refused;   // the indexes of the superseded deliveries, or of the positions that were not parked
  bool too_many_parked = false;  // whether other deliveries were not settled for this reason
  bool not_read_yet = false;     // whether the holder cannot settle other deliveries yet

  friend bool operator==(const TaskResult&, const TaskResult&) = default;
};

// Returns the task as the text of a request.
std::string EncodeTask(const HolderTask& task);
// Returns nothing for what this release does not understand, such as the task of a later one, and for what no gateway
// asks: more than the calls of consumers allow. The deliveries are of `partition`.
std::optional<HolderTask> DecodeTask(absl::string_view request, size_t partition);

// Returns the result as the text of an answer.
std::string EncodeResult(const TaskResult& result);
// Returns the answer to a request that DecodeTask does not understand.
std::string NotUnderstood();
// Returns nothing if the holder has not understood the request, or if this release does not understand the answer.
std::optional<TaskResult> DecodeResult(absl::string_view answer);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SUBSCRIPTIONS_HOLDER_TASK_H_
