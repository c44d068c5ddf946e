#include "webhooks/log/sqlite/restored.h"

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/disk/disk.h"
#include "base/disk/exclusive_file.h"
#include "base/disk/mark_file.h"
#include "base/disk/sqlite.h"
#include "webhooks/log/sqlite/schema.h"
#include "webhooks/log/state.h"

namespace stampgate {
namespace {

absl::Status Mark(const std::string& path) {
  // Checks the file first, because ClaimLogFile creates a lock file and, if the log's file does not exist, also an
  // empty log file.
  if (absl::Status status = CheckLogFileHeader(path); !status.ok()) return status;
  const absl::StatusOr<ExclusiveFile> file = ClaimLogFile(path);
  if (!file.ok()) return file.status();
  if (absl::Status status = SettleLogFile(path, Disk::System()); !status.ok()) return status;
  absl::StatusOr<SqliteConnection> connection = OpenLogFileToWrite(path, /*vfs=*/"", /*synchronous_full=*/true);
  if (!connection.ok()) return connection.status();
  // After an error, the connection is closed, which rolls the transaction back.
  if (absl::Status status = connection->Run("BEGIN IMMEDIATE"); !status.ok()) return status;
  absl::StatusOr<LogRecordReader> reader = LogRecordReader::Open(*connection);
  if (!reader.ok()) return reader.status();
  absl::StatusOr<LogRecord> record = reader->Read();
  if (!record.ok()) return record.status();
  record->identity.cursor_key = MakeLogIdentity().cursor_key;
  absl::StatusOr<LogRecordWriter> writer = LogRecordWriter::Open(*connection);
  if (!writer.ok()) return writer.status();
  if (absl::Status status = writer->Write(*record); !status.ok()) return status;
  if (absl::Status status = connection->Run("COMMIT"); !status.ok()) return status;
  // Replaces the old mark, so that the next start does not report the events that the copy lacks as lost.
  absl::StatusOr<MarkFile> marks = MarkFile::Open(path + "-mark", record->identity.id, Disk::System());
  if (!marks.ok()) return marks.status();
  return marks->Replace({static_cast<uint64_t>(record->latest), record->latest_digest});
}

}  // namespace

absl::Status MarkLogAsRestored(const std::string& path) {
  const absl::Status status = Mark(path);
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat("event log ", path, ": ", status.message()));
}

}  // namespace stampgate
