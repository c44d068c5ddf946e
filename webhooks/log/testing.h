// Helpers for tests that use an event log.
#ifndef STAMPGATE_WEBHOOKS_LOG_TESTING_H_
#define STAMPGATE_WEBHOOKS_LOG_TESTING_H_

#include <random>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "webhooks/log/event_log.h"
#include "webhooks/log/subscription_store.h"
#include "webhooks/verification/event.h"

namespace stampgate {

// Appends an event and waits for the outcome. Returns kDeadlineExceeded if there is no outcome within a minute.
absl::StatusOr<AppendOutcome> AppendAndWait(EventLog& log, VerifiedEvent event);

// Writes a change and waits for the answer. Returns kDeadlineExceeded if there is none within a minute.
absl::Status WriteAndWait(SubscriptionStore& store, SubscriptionChange change);

// Returns a random change of one of three subscriptions. It can be one of a subscription that does not exist.
SubscriptionChange RandomChange(std::mt19937_64& random);

// Reads all events after the position `after`, in batches. Returns them, or the first error.
absl::StatusOr<std::vector<LoggedEvent>> ReadAllAfter(EventReader& reader, Position after);

// Reads all events from the earliest on. Returns them, or the first error.
absl::StatusOr<std::vector<LoggedEvent>> ReadAll(EventReader& reader);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_TESTING_H_
