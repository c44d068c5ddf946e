// Helpers for tests that use an event log.
#ifndef STAMPGATE_WEBHOOKS_LOG_TESTING_H_
#define STAMPGATE_WEBHOOKS_LOG_TESTING_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "webhooks/log/event_log.h"
#include "webhooks/verification/event.h"

namespace stampgate {

// Appends an event and waits for the outcome; kDeadlineExceeded if there is none within a minute.
absl::StatusOr<AppendOutcome> AppendAndWait(EventLog& log, VerifiedEvent event);

// All events after `after`, read in batches, or the first error.
absl::StatusOr<std::vector<LoggedEvent>> ReadAllAfter(EventReader& reader, Position after);

// All events from the earliest on.
absl::StatusOr<std::vector<LoggedEvent>> ReadAll(EventReader& reader);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_TESTING_H_
