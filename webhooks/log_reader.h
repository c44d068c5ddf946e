// Reads events from the log's file, and notices damage.
#ifndef STAMPGATE_WEBHOOKS_LOG_READER_H_
#define STAMPGATE_WEBHOOKS_LOG_READER_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "webhooks/event_filter.h"
#include "webhooks/event_log.h"
#include "webhooks/event_row.h"
#include "webhooks/log_record.h"
#include "webhooks/sqlite.h"

namespace stampgate {

// Has a connection of its own. Each call sees the log as it is at one moment, and leaves nothing open.
class LogReader : public EventReader {
 public:
  // Errors: kUnavailable.
  static absl::StatusOr<std::unique_ptr<LogReader>> Open(const std::string& path, const std::string& vfs);

  absl::StatusOr<LogExtent> Extent() override;
  absl::StatusOr<Batch> Read(Position after, const EventFilter& filter, const Limits& limits) override;
  Position DamagedPosition() const override { return damaged_; }
  absl::StatusOr<std::optional<LoggedEvent>> Find(absl::string_view event_id) override;
  absl::StatusOr<Position> PlaceOf(absl::Time time) override;

 private:
  class Snapshot;

  explicit LogReader(SqliteConnection connection) : connection_(std::move(connection)) {}

  absl::Status Prepare();
  absl::Status ReadInto(Batch* batch, Position after, const LogRecord& record, const EventFilter& filter,
                        const Limits& limits);
  absl::Status CheckRow(const EventRow& row, Position expected, const LogRecord& record);
  absl::StatusOr<std::string> ReadBody(const EventRow& row);
  absl::StatusOr<LoggedEvent> ToEvent(const EventRow& row);
  absl::StatusOr<std::optional<EventRow>> NextGoodRow(Position from, Position before, const LogRecord& record);
  absl::Status Damaged(Position position, absl::string_view how);

  SqliteConnection connection_;
  LogRecordReader record_;
  SqliteStatement begin_;
  SqliteStatement end_;
  SqliteStatement rows_;
  SqliteStatement body_;
  SqliteStatement find_seen_;
  Position damaged_ = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_READER_H_
