// The state row: the identity of an event log, its extent and its clock.
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

// Every transaction that stores or deletes events writes it. So readers learn the extent without reading events, and
// positions and commit times continue when retention has deleted every event.
struct LogRecord {
  LogIdentity identity;
  Position earliest = 1;
  Position latest = 0;
  int64_t latest_commit_us = 0;    // of the latest event; since 1970
  ChainDigest latest_digest = {};  // of the latest event
  ChainDigest digest_before = {};  // of the event before `earliest`
  AgeClock clock;                  // all zeros until the log is first used; it then begins with the system's time

  EventPlace end() const { return {latest, latest_digest}; }
};

// Creates a random identity.
LogIdentity MakeLogIdentity();

inline absl::string_view AsText(const std::array<uint8_t, 16>& id) {
  return absl::string_view(reinterpret_cast<const char*>(id.data()), id.size());
}

// Creates the table, empty.
extern const char kCreateLogRecord[];

// Reads the row of version 1; leaves the digests and the clock unset. Errors: those of LogRecordReader::Read.
absl::StatusOr<LogRecord> ReadLogRecordOfVersion1(const SqliteConnection& connection);

// Reads the row over `connection`, which must outlive this.
class LogRecordReader {
 public:
  static absl::StatusOr<LogRecordReader> Open(const SqliteConnection& connection);

  // Errors: kDataLoss if the row is missing or damaged, and those of SqliteStatus.
  absl::StatusOr<LogRecord> Read();

 private:
  SqliteStatement read_;
};

// Writes the row over `connection`, which must outlive this.
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
