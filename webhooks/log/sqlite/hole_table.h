// The table of holes: ranges of positions whose acknowledged events the disk has lost.
#ifndef STAMPGATE_WEBHOOKS_LOG_SQLITE_HOLE_TABLE_H_
#define STAMPGATE_WEBHOOKS_LOG_SQLITE_HOLE_TABLE_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/disk/sqlite.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// SQL that creates the empty table. Retention never deletes rows of this table.
extern const char kCreateHoles[];

// Finds holes through `connection`, which must outlive this object. Errors: those of SqliteStatus.
class HoleTable {
 public:
  static absl::StatusOr<HoleTable> Open(const SqliteConnection& connection);

  // Returns the hole that contains `position`, or nothing if there is none.
  absl::StatusOr<std::optional<LostEvents>> Find(Position position);

 private:
  SqliteStatement find_;
};

// Adds a hole from `first` to `last` in the current transaction.
absl::Status AddHole(const SqliteConnection& connection, Position first, Position last, absl::Time now);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_SQLITE_HOLE_TABLE_H_
