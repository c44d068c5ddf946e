// The tables of events and of their ids in the event log's file, to which rows are added.
#ifndef STAMPGATE_WEBHOOKS_LOG_SQLITE_EVENT_TABLE_H_
#define STAMPGATE_WEBHOOKS_LOG_SQLITE_EVENT_TABLE_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/disk/sqlite.h"
#include "webhooks/log/event_log.h"
#include "webhooks/log/row.h"
#include "webhooks/log/stored_id.h"

namespace stampgate {

// Adds rows through `connection`, which must outlive this object. Errors: those of SqliteStatus.
class EventTable {
 public:
  static absl::StatusOr<EventTable> Open(const SqliteConnection& connection);

  // Adds an event whose checksum is `digest`.
  absl::Status Add(const EventRow& row, const Digest& digest, absl::string_view body);

  absl::Status AddId(const StoredId& id);

 private:
  SqliteStatement insert_event_;
  SqliteStatement insert_id_;
};

// Sets the counter of positions, so that the next event gets the position after `latest`. Errors: those of
// SqliteStatus.
absl::Status SetLastPosition(SqliteConnection& connection, Position latest);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_SQLITE_EVENT_TABLE_H_
