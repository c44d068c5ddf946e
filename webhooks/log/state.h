// The row that says what the log as a whole is and holds.
#ifndef STAMPGATE_WEBHOOKS_LOG_STATE_H_
#define STAMPGATE_WEBHOOKS_LOG_STATE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "webhooks/disk/age_clock.h"
#include "webhooks/disk/sqlite.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// Written in every transaction that changes which events there are, so readers need not look at events to know them,
// and positions and commit times go on from it when every event has been trimmed.
struct LogRecord {
  LogIdentity identity;
  Position earliest = 1;
  Position latest = 0;
  int64_t latest_commit_us = 0;    // of the latest event; since 1970
  ChainDigest latest_digest = {};  // of the latest event
  ChainDigest digest_before = {};  // of the event before `earliest`
  AgeClock clock;                  // all zeros until the log is first used; then it begins with the system's time

  EventPlace end() const { return {latest, latest_digest}; }
};

// An identity that no other log has.
LogIdentity MakeLogIdentity();

inline absl::string_view AsText(const std::array<uint8_t, 16>& id) {
  return absl::string_view(reinterpret_cast<const char*>(id.data()), id.size());
}

// The table, with no row in it.
extern const char kCreateLogRecord[];

// Reads the row of version 1, whose digests and clock are not set. Errors: those of LogRecordReader::Read.
absl::StatusOr<LogRecord> ReadLogRecordOfVersion1(const SqliteConnection& connection);

// Reads the row over a connection, which outlives this.
class LogRecordReader {
 public:
  static absl::StatusOr<LogRecordReader> Open(const SqliteConnection& connection);

  // Errors: kDataLoss if the row is missing or damaged, and those of SqliteStatus.
  absl::StatusOr<LogRecord> Read();

 private:
  SqliteStatement read_;
};

// Writes the row over a connection, which outlives this.
class LogRecordWriter {
 public:
  static absl::StatusOr<LogRecordWriter> Open(const SqliteConnection& connection);

  // Errors: those of SqliteStatus.
  absl::Status Write(const LogRecord& record);

 private:
  SqliteStatement write_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_STATE_H_
