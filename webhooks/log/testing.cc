#include "webhooks/log/testing.h"

#include <chrono>
#include <future>
#include <memory>
#include <string>
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

absl::Status WriteAndWait(SubscriptionStore& store, SubscriptionChange change) {
  auto answer = std::make_shared<std::promise<absl::Status>>();
  std::future<absl::Status> future = answer->get_future();
  store.Write(std::move(change), [answer](absl::Status status) { answer->set_value(std::move(status)); });
  if (future.wait_for(std::chrono::minutes(1)) != std::future_status::ready) {
    return absl::DeadlineExceededError("the store did not respond");
  }
  return future.get();
}

SubscriptionChange RandomChange(std::mt19937_64& random) {
  const auto below = [&random](int limit) { return static_cast<int>(random() % static_cast<uint64_t>(limit)); };
  SubscriptionChange change;
  change.subscription = std::string(1, static_cast<char>('a' + below(3)));
  if (below(20) == 0) {
    change.remove = true;
    return change;
  }
  if (below(3) == 0) {
    SubscriptionHead& head = change.head.emplace();
    for (PartitionProgress& progress : head.partitions) progress = {below(1000), below(5000)};
    head.incarnation = 1 + below(9);
    head.order = below(4);
  }
  for (int left = below(3); left > 0; --left) {
    change.progress[static_cast<size_t>(below(kPartitions))] = {below(1000), below(5000)};
  }
  for (int left = below(4); left > 0; --left) change.erase.push_back(1 + below(40));
  for (int left = below(5); left > 0; --left) {
    SubscriptionRow row;
    row.position = 1 + below(40);
    row.partition = static_cast<size_t>(below(kPartitions));
    row.mark = static_cast<EventMark>(1 + below(4));
    row.deliveries = below(10);
    if (row.mark == EventMark::kSentAgain || row.mark == EventMark::kRetried) row.uncounted = below(20);
    if (row.mark == EventMark::kRetried || row.mark == EventMark::kParked) {
      row.time = absl::FromUnixMicros(1'700'000'000'000'000 + below(1'000'000));
    }
    if (row.mark == EventMark::kParked) {
      row.reason = std::string(static_cast<size_t>(below(256)), static_cast<char>('a' + below(26)));
    }
    change.put.push_back(row);
  }
  for (int left = below(3); left > 0; --left)
    change.erase_lagging.push_back(std::string(1, static_cast<char>(below(9))));
  for (int left = below(3); left > 0; --left) {
    change.put_lagging.emplace_back(std::string(1, static_cast<char>(below(9))), below(1000));
  }
  return change;
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
