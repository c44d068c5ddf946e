#include "base/postgres/durability.h"

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

constexpr int kMinVersion = 150000;

}  // namespace

absl::StatusOr<DurabilityGaps> FindDurabilityGaps(PostgresConnection& connection, const PostgresAddress& address) {
  ABSL_ASSIGN_OR_RETURN(
      std::vector<PostgresResult> results,
      connection.Run(
          {{"SELECT current_setting('server_version_num')::bigint, current_setting('server_version'),"
            " pg_is_in_recovery(), current_setting('fsync') = 'on', current_setting('full_page_writes') = 'on',"
            " current_setting('synchronous_standby_names') <> '', current_setting('max_wal_senders') <> '0'"}}));
  const PostgresResult& row = results.front();
  if (row.Number(0, 0) < kMinVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("the server is PostgreSQL ", row.Bytes(0, 1), "; PostgreSQL 15 or later is required"));
  }
  if (row.Number(0, 2) != 0) return absl::UnavailableError("the server is a standby");
  DurabilityGaps gaps;
  if (row.Number(0, 3) == 0) gaps.refused.push_back("the server's setting fsync is off");
  const auto add = [&gaps](bool is_accepted, const char* gap) {
    (is_accepted ? gaps.accepted : gaps.refused).push_back(gap);
  };
  if (row.Number(0, 4) == 0) {
    add(address.allow_full_page_writes_off,
        "the server's setting full_page_writes is off: a crash damages the store if the storage tears a page");
  }
  if (row.Number(0, 5) == 0) {
    add(address.allow_single_server,
        "the server's setting synchronous_standby_names is empty: the loss of the server loses acknowledged events");
  } else if (row.Number(0, 6) == 0) {
    add(address.allow_single_server,
        "the server's setting max_wal_senders is 0, so that no transaction waits for a standby: the loss of the server "
        "loses acknowledged events");
  }
  return gaps;
}

}  // namespace stampgate
