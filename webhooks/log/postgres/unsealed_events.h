// Counts the events without a seal in a log on a PostgreSQL server.
#ifndef STAMPGATE_WEBHOOKS_LOG_POSTGRES_UNSEALED_EVENTS_H_
#define STAMPGATE_WEBHOOKS_LOG_POSTGRES_UNSEALED_EVENTS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/postgres/connection.h"
#include "base/postgres/store_bounds.h"

namespace stampgate {

// The number of events without a seal. Reads all events that can be without one, a few thousand in each statement.
// Errors: those of PostgresConnection::Run.
absl::StatusOr<int64_t> CountEventsWithoutSeal(PostgresConnection& connection, const StoreDecisions& decisions);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_POSTGRES_UNSEALED_EVENTS_H_
