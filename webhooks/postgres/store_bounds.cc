#include "webhooks/postgres/store_bounds.h"

#include <vector>

#include "absl/strings/string_view.h"

namespace stampgate {

absl::StatusOr<StoreDecisions> ReadStoreDecisions(PostgresConnection& connection) {
  const absl::StatusOr<std::vector<PostgresResult>> results =
      connection.Run({{"SELECT retention_age_us, retention_bytes, deduplication_age_us, key_retention_us,"
                       " unsealed_through, coalesce((SELECT earliest FROM log), 1) FROM bounds"}});
  if (!results.ok()) return results.status();
  const PostgresResult& row = results->front();
  StoreDecisions decisions;
  if (!row.IsNull(0, 0)) {
    decisions.bounds = StoreBounds{absl::Microseconds(row.Number(0, 0)), row.Number(0, 1),
                                   absl::Microseconds(row.Number(0, 2)), absl::Microseconds(row.Number(0, 3))};
  }
  if (!row.IsNull(0, 4)) decisions.unsealed_through = row.Number(0, 4);
  decisions.earliest = row.Number(0, 5);
  return decisions;
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
