#include "base/postgres/store_bounds.h"

#include <vector>

#include "absl/status/status_macros.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace stampgate {
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

}  // namespace stampgate
