#include "webhooks/postgres/durability.h"

#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

constexpr int kMinVersion = 150000;

}  // namespace

absl::StatusOr<DurabilityGaps> FindDurabilityGaps(PostgresConnection& connection) {
  absl::StatusOr<std::vector<PostgresResult>> results = connection.Run(
      {{"SELECT current_setting('server_version_num')::bigint, current_setting('server_version'),"
        " pg_is_in_recovery(), current_setting('fsync') = 'on', current_setting('full_page_writes') = 'on',"
        " current_setting('synchronous_standby_names') <> ''"}});
  if (!results.ok()) return results.status();
  const PostgresResult& row = results->front();
  if (row.Number(0, 0) < kMinVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("the server is PostgreSQL ", row.Bytes(0, 1), "; PostgreSQL 15 or later is required"));
  }
  if (row.Number(0, 2) != 0) return absl::UnavailableError("the server is a standby");
  DurabilityGaps gaps;
  if (row.Number(0, 3) == 0) gaps.unsafe.push_back("the server's setting fsync is off");
  if (row.Number(0, 4) == 0) gaps.unsafe.push_back("the server's setting full_page_writes is off");
  if (row.Number(0, 5) == 0) gaps.single.push_back("the server's setting synchronous_standby_names is empty");
  return gaps;
}

}  // namespace stampgate
