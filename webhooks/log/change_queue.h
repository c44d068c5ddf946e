// The changes of subscriptions that wait until a log stores them, in the order of their arrival.
#ifndef STAMPGATE_WEBHOOKS_LOG_CHANGE_QUEUE_H_
#define STAMPGATE_WEBHOOKS_LOG_CHANGE_QUEUE_H_

#include <cstddef>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "webhooks/log/subscription_store.h"
#include "webhooks/log/waiting_queue.h"

namespace stampgate {

struct WaitingChange {
  SubscriptionChange change;
  absl::AnyInvocable<void(absl::Status)> done;
};

// Returns the approximate memory of a change that waits.
size_t QueuedBytes(const WaitingChange& waiting);

class ChangeQueue : public WaitingQueue<WaitingChange> {
 public:
  // Maximum memory of the changes that were pushed and not released.
  explicit ChangeQueue(size_t max_bytes)
      : WaitingQueue("changes of subscriptions", {.bytes = max_bytes, .batch_entries = 256, .batch_bytes = 1 << 20}) {}
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_CHANGE_QUEUE_H_
