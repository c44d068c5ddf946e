// The clock of a PostgreSQL server. The functions of the store follow it, and tests replace it.
#ifndef STAMPGATE_BASE_POSTGRES_SERVER_CLOCK_H_
#define STAMPGATE_BASE_POSTGRES_SERVER_CLOCK_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/postgres/connection.h"

namespace stampgate {

// Null, except in tests, whose stores use this clock: see TestPostgres::NewStore. Other stores ignore it.
using ServerClock = std::function<absl::Time()>;

// Do the same as PostgresConnection::Commit and Run. Before, set the time of a store of a test, unless `clock` is null.
absl::StatusOr<std::vector<PostgresResult>> CommitAt(const ServerClock& clock, PostgresConnection& connection,
                                                     std::vector<PostgresStatement> statements);
absl::StatusOr<std::vector<PostgresResult>> RunAt(const ServerClock& clock, PostgresConnection& connection,
                                                  std::vector<PostgresStatement> statements);

}  // namespace stampgate

#endif  // STAMPGATE_BASE_POSTGRES_SERVER_CLOCK_H_
