#include "webhooks/log/postgres/unsealed_events.h"

#include <limits>
#include <vector>

#include "absl/status/status_macros.h"

namespace stampgate {
namespace {

// How many events a statement reads: few enough for a slow disk to read them within the timeout of a connection.
constexpr int64_t kEventsPerCount = 5000;

}  // namespace

absl::StatusOr<int64_t> CountEventsWithoutSeal(PostgresConnection& connection, const StoreDecisions& decisions) {
  const int64_t through = decisions.unsealed_through.value_or(std::numeric_limits<int64_t>::max());
  int64_t without = 0;
  for (int64_t after = 0;;) {
    ABSL_ASSIGN_OR_RETURN(
        const std::vector<PostgresResult> results,
        connection.Run({{"SELECT count(*) FILTER (WHERE seal IS NULL), count(*), coalesce(max(position), 0) FROM"
                         " (SELECT position, seal FROM events WHERE position > $1 AND position <= $2"
                         " ORDER BY position LIMIT $3) AS batch",
                         PostgresParameters().Bigint(after).Bigint(through).Bigint(kEventsPerCount)}}));
    const PostgresResult& row = results.front();
    without += row.Number(0, 0);
    if (row.Number(0, 1) < kEventsPerCount) return without;
    after = row.Number(0, 2);
  }
}

}  // namespace stampgate
