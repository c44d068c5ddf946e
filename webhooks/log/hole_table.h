// The holes of a log: ranges of events that were acknowledged, and that the disk has lost.
#ifndef STAMPGATE_WEBHOOKS_LOG_HOLE_TABLE_H_
#define STAMPGATE_WEBHOOKS_LOG_HOLE_TABLE_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "webhooks/disk/sqlite.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// The table, with no row in it. Its rows stay, also when retention has passed them.
extern const char kCreateHoles[];

// Finds holes over a connection, which outlives this. Errors: those of SqliteStatus.
class HoleTable {
 public:
  static absl::StatusOr<HoleTable> Open(const SqliteConnection& connection);

  // The hole in which `position` lies.
  absl::StatusOr<std::optional<LostEvents>> Find(Position position);

 private:
  SqliteStatement find_;
};

// Adds a hole in the transaction that is under way.
absl::Status AddHole(const SqliteConnection& connection, Position first, Position last, absl::Time now);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_HOLE_TABLE_H_
