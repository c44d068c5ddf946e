#include "webhooks/log/testing.h"

#include <chrono>
#include <future>
#include <memory>
#include <utility>

namespace stampgate {

absl::StatusOr<AppendOutcome> AppendAndWait(EventLog& log, VerifiedEvent event) {
  auto answer = std::make_shared<std::promise<absl::StatusOr<AppendOutcome>>>();
  std::future<absl::StatusOr<AppendOutcome>> future = answer->get_future();
  log.Append(std::move(event),
             [answer](absl::StatusOr<AppendOutcome> outcome) { answer->set_value(std::move(outcome)); });
  if (future.wait_for(std::chrono::minutes(1)) != std::future_status::ready) {
    return absl::DeadlineExceededError("the event log did not respond");
  }
  return future.get();
}

absl::StatusOr<std::vector<LoggedEvent>> ReadAllAfter(EventReader& reader, Position after) {
  std::vector<LoggedEvent> events;
  for (;;) {
    absl::StatusOr<EventReader::Batch> batch = reader.Read({after}, {}, {});
    if (!batch.ok()) return batch.status();
    if (batch->through == after) return events;
    after = batch->through;
    for (LoggedEvent& event : batch->events) events.push_back(std::move(event));
  }
}

absl::StatusOr<std::vector<LoggedEvent>> ReadAll(EventReader& reader) {
  absl::StatusOr<LogExtent> extent = reader.Extent();
  if (!extent.ok()) return extent.status();
  return ReadAllAfter(reader, extent->earliest - 1);
}

}  // namespace stampgate
