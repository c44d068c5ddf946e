// Reads events from the event log's file and detects damage.
#ifndef STAMPGATE_WEBHOOKS_LOG_SQLITE_READER_H_
#define STAMPGATE_WEBHOOKS_LOG_SQLITE_READER_H_

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/disk/sqlite.h"
#include "webhooks/log/event_filter.h"
#include "webhooks/log/event_log.h"
#include "webhooks/log/row.h"
#include "webhooks/log/sqlite/hole_table.h"
#include "webhooks/log/state.h"

namespace stampgate {

// A reader with its own connection. Each function uses one read transaction, so it sees the log's state at one moment.
class LogReader : public EventReader {
 public:
  // Opens a reader that returns only events up to the position `*visible`, or all events if `visible` is null. Errors:
  // kUnavailable.
  static absl::StatusOr<std::unique_ptr<LogReader>> Open(const std::string& path, const std::string& vfs,
                                                         std::shared_ptr<const std::atomic<Position>> visible);

  absl::StatusOr<LogExtent> Extent() override;
  absl::StatusOr<LogUsage> Usage() override;
  absl::StatusOr<Batch> Read(const LogPoint& after, const EventFilter& filter, const Limits& limits) override;
  LostEvents Lost() const override { return lost_; }
  absl::StatusOr<ChainDigest> DigestAt(Position position) override;
  absl::StatusOr<std::optional<LoggedEvent>> Find(const EventName& name, const EventFilter& filter) override;
  absl::StatusOr<Position> PositionBefore(absl::Time time) override;

 private:
  class Snapshot;

  LogReader(SqliteConnection connection, std::shared_ptr<const std::atomic<Position>> visible)
      : connection_(std::move(connection)), visible_(std::move(visible)) {}

  absl::Status Prepare();
  absl::Status ReadInto(Batch* batch, const LogPoint& after, Position latest, const LogState& state,
                        const EventFilter& filter, const Limits& limits);
  absl::StatusOr<std::vector<Position>> PositionsOf(const EventName& name);
  absl::StatusOr<std::optional<LoggedEvent>> EventAt(Position position, absl::string_view event_id,
                                                     const EventFilter& filter, const LogState& state);
  absl::Status CheckRow(const EventRow& row, Position expected, const LogState& state);
  absl::StatusOr<std::string> ReadBody(const EventRow& row);
  LogPoint FindLast(Position position, const LogState& state);
  absl::Status CheckChain(const EventRow& row, const LogState& state);
  absl::StatusOr<LoggedEvent> ToEvent(const EventRow& row);
  absl::StatusOr<std::optional<EventRow>> NextGoodRow(Position from, Position before, const LogState& state);
  absl::Status Damaged(Position position, absl::string_view how);
  absl::Status Missing(Position position);

  SqliteConnection connection_;
  const std::shared_ptr<const std::atomic<Position>> visible_;
  LogStateReader state_;
  SqliteStatement begin_;
  SqliteStatement end_;
  SqliteStatement rows_;
  SqliteStatement body_;
  SqliteStatement find_seen_;
  HoleTable holes_;
  LogPoint last_;  // the event that Read has examined last
  LostEvents lost_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_SQLITE_READER_H_
