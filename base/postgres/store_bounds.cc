#include "base/postgres/store_bounds.h"

#include <limits>
#include <vector>

#include "absl/status/status_macros.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace stampgate {
namespace {

// How many events a statement reads: few enough for a slow disk to read them within the timeout of a connection.
constexpr int64_t kEventsPerCount = 5000;

}  // namespace

absl::StatusOr<StoreDecisions> ReadStoreDecisions(PostgresConnection& connection) {
  const absl::StatusOr<std::vector<PostgresResult>> results =
      connection.Run({{"SELECT retention_age_us, retention_bytes, deduplication_age_us, key_retention_us,"
                       " unsealed_through FROM bounds"}});
  if (absl::StrContains(results.status().message(), "(42501)")) {  // insufficient_privilege
    return absl::FailedPreconditionError(absl::StrCat(
        results.status().message(), ": run `stampgate store migrate` with --grant-to and the role of the gateways"));
  }
  if (!results.ok()) return results.status();
  const PostgresResult& row = results->front();
  StoreDecisions decisions;
  if (!row.IsNull(0, 0)) {
    decisions.bounds = StoreBounds{absl::Microseconds(row.Number(0, 0)), row.Number(0, 1),
                                   absl::Microseconds(row.Number(0, 2)), absl::Microseconds(row.Number(0, 3))};
  }
  if (!row.IsNull(0, 4)) decisions.unsealed_through = row.Number(0, 4);
  return decisions;
}

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

absl::Status WriteStoreBounds(PostgresConnection& connection, const StoreBounds& bounds) {
  return connection
      .Commit({{"UPDATE bounds SET retention_age_us = $1, retention_bytes = $2, deduplication_age_us = $3,"
                " key_retention_us = $4",
                PostgresParameters()
                    .Bigint(absl::ToInt64Microseconds(bounds.retention_age))
                    .Bigint(bounds.retention_bytes)
                    .Bigint(absl::ToInt64Microseconds(bounds.deduplication_age))
                    .Bigint(absl::ToInt64Microseconds(bounds.key_retention))}})
      .status();
}

absl::Status SealStore(PostgresConnection& connection) { return connection.Commit({{"SELECT seal_store()"}}).status(); }

}  // namespace stampgate
