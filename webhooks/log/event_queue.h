// The events that wait until a log stores them, in the order of their arrival.
#ifndef STAMPGATE_WEBHOOKS_LOG_EVENT_QUEUE_H_
#define STAMPGATE_WEBHOOKS_LOG_EVENT_QUEUE_H_

#include <cstddef>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "webhooks/log/event_log.h"
#include "webhooks/log/waiting_queue.h"
#include "webhooks/verification/event.h"

namespace stampgate {

struct WaitingEvent {
  VerifiedEvent event;
  absl::AnyInvocable<void(absl::StatusOr<AppendOutcome>)> done;
};

// Returns the approximate memory of an event that waits.
size_t QueuedBytes(const Event& event);
inline size_t QueuedBytes(const WaitingEvent& waiting) { return QueuedBytes(*waiting.event); }

// Returns the error that a log gives to `done` if it cannot store an event because of `why`: kResourceExhausted if
// `why` has this code, otherwise kUnavailable.
absl::Status CannotStore(const absl::Status& why);

// Frees the event, and then reports its outcome: the sender's memory is returned when it gets its response.
void Finish(WaitingEvent& waiting, absl::StatusOr<AppendOutcome> outcome);

class EventQueue : public WaitingQueue<WaitingEvent> {
 public:
  // Maximum memory of the events that were pushed and not released.
  explicit EventQueue(size_t max_bytes)
      : WaitingQueue("events", {.bytes = max_bytes, .batch_entries = 256, .batch_bytes = 8 << 20}) {}
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_EVENT_QUEUE_H_
