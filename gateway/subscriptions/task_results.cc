#include "gateway/subscriptions/task_results.h"

#include <optional>

#include "absl/algorithm/container.h"
#include "gateway/feed/error.h"
#include "translate/error.h"

namespace stampgate {
namespace {

absl::Status NotReadYet() {
  return ToStatus(GatewayError(absl::StatusCode::kUnavailable, v1::ERROR_REASON_EVENT_LOG_UNAVAILABLE,
                               "the gateway was started, and has not read the event again"));
}

absl::Status TooManyParked() {
  return ToStatus(GatewayError(absl::StatusCode::kResourceExhausted, v1::ERROR_REASON_TOO_MANY_PARKED,
                               "the subscription cannot park further events: retry or skip parked ones"));
}

}  // namespace

TaskResults::~TaskResults() {
  const MutexLock lock(mutex_);
  absl::c_sort(refused_);
  // An answer that has not come means nothing.
  if (expected_ > 0) status_.Update(LogUnavailable());
  if (status_.ok()) {
    done_(std::move(refused_));
  } else {
    done_(status_);
  }
}

void TaskResults::Expect() {
  const MutexLock lock(mutex_);
  ++expected_;
}

void TaskResults::AddAnswer(const absl::StatusOr<std::string>& answer, const std::vector<size_t>& indexes) {
  {
    const MutexLock lock(mutex_);
    --expected_;
  }
  if (!answer.ok()) return Add(answer.status());
  std::optional<TaskResult> result = DecodeResult(*answer);
  if (!result.has_value()) return Add(LogUnavailable());
  std::erase_if(result->refused, [&](size_t index) { return index >= indexes.size(); });
  for (size_t& index : result->refused) index = indexes[index];
  Add(*result);
}

void TaskResults::Add(const TaskResult& result) {
  const MutexLock lock(mutex_);
  if (result.not_read_yet) status_.Update(NotReadYet());
  if (result.too_many_parked) status_.Update(TooManyParked());
  refused_.insert(refused_.end(), result.refused.begin(), result.refused.end());
}

void TaskResults::Add(const absl::Status& status) {
  const MutexLock lock(mutex_);
  status_.Update(status);
}

}  // namespace stampgate
