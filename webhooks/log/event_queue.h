// The events that wait until a log stores them, in the order of their arrival.
#ifndef STAMPGATE_WEBHOOKS_LOG_EVENT_QUEUE_H_
#define STAMPGATE_WEBHOOKS_LOG_EVENT_QUEUE_H_

#include <cstddef>
#include <deque>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "webhooks/log/event_log.h"
#include "webhooks/verification/event.h"

namespace stampgate {

struct WaitingEvent {
  VerifiedEvent event;
  absl::AnyInvocable<void(absl::StatusOr<AppendOutcome>)> done;
};

// Returns the approximate memory of an event that waits.
size_t QueuedBytes(const Event& event);

// Returns the error that a log gives to `done` if it cannot store an event because of `why`: kResourceExhausted if
// `why` has this code, otherwise kUnavailable.
absl::Status CannotStore(const absl::Status& why);

// Frees the event, and then reports its outcome: the sender's memory is returned when it gets its response.
void Finish(WaitingEvent& waiting, absl::StatusOr<AppendOutcome> outcome);

// Not thread-safe.
class EventQueue {
 public:
  // Maximum memory of the events that were pushed and not released.
  explicit EventQueue(size_t max_bytes) : max_bytes_(max_bytes) {}

  // Adds an event. If there is not enough memory for it, returns kResourceExhausted and leaves `event` unchanged.
  absl::Status Push(WaitingEvent& event);

  bool empty() const { return queue_.empty(); }

  // Removes the events of the next transaction. Their number and size are limited, because otherwise the first of many
  // events would wait until all others are stored.
  std::vector<WaitingEvent> TakeBatch();

  // Removes all events.
  std::vector<WaitingEvent> TakeAll();

  // Returns the memory of events that were taken. Call it when they are stored, before Finish.
  void Release(const std::vector<WaitingEvent>& batch);

 private:
  const size_t max_bytes_;
  std::deque<WaitingEvent> queue_;
  size_t bytes_ = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_EVENT_QUEUE_H_
