// How tests use an event log.
#ifndef STAMPGATE_WEBHOOKS_LOG_TESTING_H_
#define STAMPGATE_WEBHOOKS_LOG_TESTING_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "webhooks/log/event_log.h"
#include "webhooks/verification/event.h"

namespace stampgate {

// Appends and waits for the answer; kDeadlineExceeded if there is none within a minute.
absl::StatusOr<AppendOutcome> AppendAndWait(EventLog& log, VerifiedEvent event);

// All events behind `after`, in batches of whatever size, or the first error.
absl::StatusOr<std::vector<LoggedEvent>> ReadAllAfter(EventReader& reader, Position after);

// The same from the earliest event on.
absl::StatusOr<std::vector<LoggedEvent>> ReadAll(EventReader& reader);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_TESTING_H_
