#include "webhooks/log/sqlite/event_table.h"

#include <string>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "webhooks/log/sqlite/seen_table.h"

namespace stampgate {

absl::StatusOr<EventTable> EventTable::Open(const SqliteConnection& connection) {
  EventTable table;
  const std::pair<SqliteStatement*, const char*> statements[] = {
      {&table.insert_event_,
       "INSERT INTO events (seq, commit_us, event_id, organization_id, parent_organization_id, type, key_id,"
       " timestamp_ms, signature, headers, body_sha256, checksum, previous, body)"
       " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)"},
      {&table.insert_id_,
       "INSERT INTO seen (event_id, scope, seq, body_sha256, stored_us) VALUES (?1, ?2, ?3, ?4, ?5)"},
  };
  for (const auto& [statement, sql] : statements) {
    ABSL_ASSIGN_OR_RETURN(SqliteStatement prepared, SqliteStatement::Prepare(connection, sql));
    *statement = std::move(prepared);
  }
  return table;
}

absl::Status EventTable::Add(const EventRow& row, const Digest& digest, absl::string_view body) {
  insert_event_.Bind(1, row.position);
  insert_event_.Bind(2, row.commit_us);
  insert_event_.BindText(3, row.event_id);
  insert_event_.BindText(4, row.organization_id);
  insert_event_.BindText(5, row.parent_organization_id);
  insert_event_.BindText(6, row.type);
  insert_event_.BindText(7, row.key_id);
  insert_event_.Bind(8, row.timestamp_ms);
  insert_event_.BindBlob(9, row.signature);
  insert_event_.BindBlob(10, row.headers);
  insert_event_.BindBlob(11, row.body_sha256);
  insert_event_.BindBlob(12, AsText(digest));
  insert_event_.BindBlob(13, row.previous);
  insert_event_.BindBlob(14, body);
  return insert_event_.Run();
}

absl::Status EventTable::AddId(const StoredId& id) {
  const std::string scope = EncodeScope(id.scope);
  insert_id_.BindText(1, id.event_id);
  insert_id_.BindText(2, scope);
  insert_id_.Bind(3, id.position);
  insert_id_.BindBlob(4, AsText(id.body_sha256));
  insert_id_.Bind(5, id.age_us);
  return insert_id_.Run();
}

absl::Status SetLastPosition(SqliteConnection& connection, Position latest) {
  // Deletes and inserts the row, because a log that never had an event has no row to update.
  ABSL_RETURN_IF_ERROR(connection.Run("DELETE FROM sqlite_sequence WHERE name = 'events'"));
  return connection.Run(
      absl::StrCat("INSERT INTO sqlite_sequence (name, seq) VALUES ('events', ", latest, ")").c_str());
}

}  // namespace stampgate
