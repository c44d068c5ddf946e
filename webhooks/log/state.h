// The state row of an event log: the log's identity, extent and clock.
#ifndef STAMPGATE_WEBHOOKS_LOG_STATE_H_
#define STAMPGATE_WEBHOOKS_LOG_STATE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/disk/age_clock.h"
#include "base/disk/sqlite.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// The content of the state row. Every transaction that stores or deletes events also writes this row, so readers get
// the extent without reading events. The row has the latest position and commit time even if retention has deleted all
// events, so later events continue from these values.
struct LogState {
  LogIdentity identity;
  Position earliest = 1;
  Position latest = 0;
  int64_t latest_commit_us = 0;    // commit time of the latest event; since 1970
  ChainDigest latest_digest = {};  // digest of the latest event
  ChainDigest digest_before = {};  // digest of the event before `earliest`
  AgeClock clock;                  // all zeros in a new log; starts at the system's time when the log is first used

  LogPoint end() const { return {latest, latest_digest}; }
};

// Returns a random identity.
LogIdentity MakeLogIdentity();

inline absl::string_view AsText(const std::array<uint8_t, 16>& id) {
  return absl::string_view(reinterpret_cast<const char*>(id.data()), id.size());
}

// SQL that creates the empty table of the state row.
extern const char kCreateLogState[];

// Reads the state row of version 1, which has no digests and no clock. Errors: those of LogStateReader::Read.
absl::StatusOr<LogState> ReadLogStateOfVersion1(const SqliteConnection& connection);

// Reads the state row through `connection`, which must outlive this object.
class LogStateReader {
 public:
  static absl::StatusOr<LogStateReader> Open(const SqliteConnection& connection);

  // Returns the content of the state row. Errors: kDataLoss if the row is missing or damaged, and those of
  // SqliteStatus.
  absl::StatusOr<LogState> Read();

 private:
  SqliteStatement read_;
};

// Writes the state row through `connection`, which must outlive this object.
class LogStateWriter {
 public:
  static absl::StatusOr<LogStateWriter> Open(const SqliteConnection& connection);

  // Errors: those of SqliteStatus.
  absl::Status Write(const LogState& state);

 private:
  SqliteStatement write_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_STATE_H_
