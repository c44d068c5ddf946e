#include "webhooks/log/sqlite/restored.h"

#include <algorithm>

#include "absl/status/status_macros.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/disk/disk.h"
#include "base/disk/exclusive_file.h"
#include "base/disk/mark_file.h"
#include "base/disk/sqlite.h"
#include "webhooks/log/sqlite/schema.h"
#include "webhooks/log/sqlite/subscription_table.h"
#include "webhooks/log/state.h"
#include "webhooks/log/subscription_store.h"

namespace stampgate {
namespace {

// Returns the change after which the subscription is not ahead of a log that ends at `end`.
SubscriptionChange CutBack(const std::string& name, const SubscriptionState& state, Position end) {
  SubscriptionChange change;
  change.subscription = name;
  change.head = state.head;
  for (PartitionProgress& progress : change.head->partitions) {
    progress.through = std::min(progress.through, end);
    progress.reserved = std::min(progress.reserved, end);
  }
  for (const SubscriptionRow& row : state.rows) {
    if (row.position > end) change.erase.push_back(row.position);
  }
  for (const auto& [key, position] : state.lagging) {
    if (position > end) change.put_lagging.emplace_back(key, end);
  }
  return change;
}

// Cuts all subscriptions back that are not damaged, in the current transaction.
absl::Status CutSubscriptionsBack(SqliteConnection& connection, const LogState& log) {
  ABSL_ASSIGN_OR_RETURN(const SubscriptionStates states, LoadSubscriptions(connection, log.identity));
  if (states.empty()) return absl::OkStatus();
  ABSL_ASSIGN_OR_RETURN(SubscriptionTable table, SubscriptionTable::Open(connection, log.identity));
  for (const auto& [name, state] : states) {
    if (!state.damage.empty()) continue;
    ABSL_RETURN_IF_ERROR(table.Apply(CutBack(name, state, log.end().position)));
  }
  return absl::OkStatus();
}

absl::Status Mark(const std::string& path) {
  // Checks the file first, because ClaimLogFile creates a lock file and, if the log's file does not exist, also an
  // empty log file.
  ABSL_RETURN_IF_ERROR(CheckLogFileHeader(path));
  ABSL_ASSIGN_OR_RETURN(const ExclusiveFile file, ClaimLogFile(path));
  ABSL_RETURN_IF_ERROR(SettleLogFile(path, Disk::System()));
  ABSL_ASSIGN_OR_RETURN(SqliteConnection connection, OpenLogFileToWrite(path, /*vfs=*/"", /*synchronous_full=*/true));
  // After an error, the connection is closed, which rolls the transaction back.
  ABSL_RETURN_IF_ERROR(connection.Run("BEGIN IMMEDIATE"));
  ABSL_ASSIGN_OR_RETURN(LogStateReader reader, LogStateReader::Open(connection));
  ABSL_ASSIGN_OR_RETURN(LogState state, reader.Read());
  state.identity.cursor_key = MakeLogIdentity().cursor_key;
  ABSL_ASSIGN_OR_RETURN(LogStateWriter writer, LogStateWriter::Open(connection));
  ABSL_RETURN_IF_ERROR(writer.Write(state));
  ABSL_RETURN_IF_ERROR(CutSubscriptionsBack(connection, state));
  ABSL_RETURN_IF_ERROR(connection.Run("COMMIT"));
  // Replaces the old mark, so that the next start does not report the events that the copy lacks as lost.
  ABSL_ASSIGN_OR_RETURN(MarkFile marks, MarkFile::Open(path + "-mark", state.identity.id, Disk::System()));
  return marks.Replace({static_cast<uint64_t>(state.latest), state.latest_digest});
}

}  // namespace

absl::Status MarkLogAsRestored(const std::string& path) {
  const absl::Status status = Mark(path);
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat("event log ", path, ": ", status.message()));
}

}  // namespace stampgate
