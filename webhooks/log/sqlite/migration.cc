#include "webhooks/log/sqlite/migration.h"

#include <algorithm>

#include "absl/status/status_macros.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "webhooks/log/sqlite/hole_table.h"
#include "webhooks/log/sqlite/seen_table.h"
#include "webhooks/log/sqlite/subscription_table.h"
#include "webhooks/log/state.h"

namespace stampgate {
namespace {

// Returns the checksum of the last event, or zeros if there are no events.
absl::StatusOr<ChainDigest> LastChecksum(const SqliteConnection& connection) {
  ABSL_ASSIGN_OR_RETURN(SqliteStatement last,
                        SqliteStatement::Prepare(connection, "SELECT checksum FROM events ORDER BY seq DESC LIMIT 1"));
  ABSL_ASSIGN_OR_RETURN(bool row, last.Step());
  ChainDigest digest = {};
  if (!row) return digest;
  const absl::string_view checksum = last.Bytes(0);
  if (checksum.size() != digest.size()) return absl::DataLossError("the checksum of the last event is damaged");
  std::copy(checksum.begin(), checksum.end(), digest.begin());
  return digest;
}

}  // namespace

absl::Status MigrateFromVersion1(SqliteConnection& connection) {
  ABSL_ASSIGN_OR_RETURN(LogState state, ReadLogStateOfVersion1(connection));
  ABSL_ASSIGN_OR_RETURN(ChainDigest last, LastChecksum(connection));
  state.latest_digest = last;
  if (state.earliest == state.latest + 1) state.digest_before = last;
  // Version 1 stored ids with the system's time, so the AgeClock of the migrated log continues from the commit time of
  // the latest event.
  state.clock = {.age_us = state.latest_commit_us, .wall_us = state.latest_commit_us};
  for (const char* sql : {"ALTER TABLE events ADD COLUMN previous BLOB NOT NULL DEFAULT x''", "DROP TABLE log",
                          kCreateLogState, kCreateHoles}) {
    ABSL_RETURN_IF_ERROR(connection.Run(sql));
  }
  ABSL_ASSIGN_OR_RETURN(LogStateWriter writer, LogStateWriter::Open(connection));
  return writer.Write(state);
}

absl::Status MigrateFromVersion2(SqliteConnection& connection) {
  for (const char* sql : {"DROP INDEX seen_by_seq", "ALTER TABLE seen RENAME TO seen_of_version_2", kCreateSeen,
                          kCopySeenOfVersion2, kIndexSeen, "DROP TABLE seen_of_version_2"}) {
    ABSL_RETURN_IF_ERROR(connection.Run(sql));
  }
  return absl::OkStatus();
}

absl::Status MigrateFromVersion3(SqliteConnection& connection) {
  ABSL_RETURN_IF_ERROR(connection.Run(kCreateSubscriptions));
  return connection.Run(absl::StrCat("PRAGMA user_version = ", kVersionWithSubscriptions).c_str());
}

}  // namespace stampgate
