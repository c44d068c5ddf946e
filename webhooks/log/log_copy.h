// Copies an event log to another engine, with its positions, digests, cursors, ids and shared subscriptions.
//
// The copy is the same log: it has the id, the key of the cursors and the digests of the original, so that each cursor
// remains valid. The ids of events remain for as long as they would have in the original. Shared subscriptions continue
// as after a restart of the gateway: what is settled stays settled, and consumers can settle what they hold.
#ifndef STAMPGATE_WEBHOOKS_LOG_LOG_COPY_H_
#define STAMPGATE_WEBHOOKS_LOG_LOG_COPY_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "webhooks/log/event_log.h"
#include "webhooks/log/row.h"
#include "webhooks/log/state.h"
#include "webhooks/log/stored_id.h"
#include "webhooks/log/subscription_store.h"

namespace stampgate {

// A log to which nobody adds events. Its functions block.
class LogSource {
 public:
  virtual ~LogSource() = default;

  virtual const LogState& state() const = 0;
  virtual EventReader& reader() = 0;

  // Returns ids of positions after `after`, in the order of the positions, at most a few thousand. Returns none if
  // there are no later ids. Errors: kFailedPrecondition if an id cannot be copied; those of the engine.
  virtual absl::StatusOr<std::vector<StoredId>> IdsAfter(Position after) = 0;

  // Returns all shared subscriptions. None of them is damaged. Errors: those of the engine.
  virtual absl::StatusOr<SubscriptionStates> Subscriptions() = 0;
};

// An event as a row. The views are valid during LogTarget::AddEvents.
struct CopiedEvent {
  EventRow row;
  Digest digest = {};
  absl::string_view body;
};

// An empty log. Its functions block. No gateway can open the log until its creator allows this, after Finish has
// returned OK: see OpenCopiedLog and OpenClaimedStore.
class LogTarget {
 public:
  virtual ~LogTarget() = default;

  // Both functions get their entries in the order of the positions. All ids come before the first event.
  virtual absl::Status AddIds(const std::vector<StoredId>& ids) = 0;
  virtual absl::Status AddEvents(const std::vector<CopiedEvent>& events) = 0;

  // Gets all shared subscriptions, after the last event. Errors: kFailedPrecondition if the engine cannot store one.
  virtual absl::Status AddSubscriptions(const SubscriptionStates& states) = 0;

  // Gives the log this state.
  virtual absl::Status Finish(const LogState& state) = 0;
};

// Copies the log. Calls `on_progress` after each batch of events, with the position of its last event. Errors:
// kDataLoss if an event of the source is damaged or lost, or if the chain of digests is broken; those of the two
// engines.
absl::Status CopyLog(LogSource& source, LogTarget& target, const std::function<void(Position)>& on_progress);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_LOG_COPY_H_
