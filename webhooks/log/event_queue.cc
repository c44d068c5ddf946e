#include "webhooks/log/event_queue.h"

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

constexpr size_t kBatchEvents = 256;
constexpr size_t kBatchBytes = 8 << 20;

}  // namespace

size_t QueuedBytes(const Event& event) {
  size_t bytes = sizeof(WaitingEvent) + event.body.size() + 512;
  for (const HeaderField& header : event.headers) {
    bytes += sizeof(HeaderField) + header.name.size() + header.value.size();
  }
  return bytes;
}

absl::Status CannotStore(const absl::Status& why) {
  const absl::StatusCode code =
      absl::IsResourceExhausted(why) ? absl::StatusCode::kResourceExhausted : absl::StatusCode::kUnavailable;
  return absl::Status(code, absl::StrCat("the event log cannot store: ", why.message()));
}

void Finish(WaitingEvent& waiting, absl::StatusOr<AppendOutcome> outcome) {
  { const VerifiedEvent freed = std::move(waiting.event); }
  waiting.done(std::move(outcome));
}

absl::Status EventQueue::Push(WaitingEvent& event) {
  const size_t bytes = QueuedBytes(*event.event);
  if (bytes > max_bytes_ - bytes_) return absl::ResourceExhaustedError("too many events wait to be stored");
  bytes_ += bytes;
  queue_.push_back(std::move(event));
  return absl::OkStatus();
}

std::vector<WaitingEvent> EventQueue::TakeBatch() {
  std::vector<WaitingEvent> batch;
  size_t bytes = 0;
  while (!queue_.empty() && batch.size() < kBatchEvents) {
    bytes += QueuedBytes(*queue_.front().event);
    if (!batch.empty() && bytes > kBatchBytes) break;
    batch.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return batch;
}

std::vector<WaitingEvent> EventQueue::TakeAll() {
  std::vector<WaitingEvent> all(std::make_move_iterator(queue_.begin()), std::make_move_iterator(queue_.end()));
  queue_.clear();
  return all;
}

void EventQueue::Release(const std::vector<WaitingEvent>& batch) {
  for (const WaitingEvent& event : batch) bytes_ -= QueuedBytes(*event.event);
}

}  // namespace stampgate
