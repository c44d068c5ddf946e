#include "base/disk/checkpointer.h"

#include "absl/status/status_macros.h"

namespace stampgate {
namespace {

// If the write-ahead log has this many times `pages` pages, a checkpoint waits for readers. Otherwise overlapping
// readers could let the log grow forever.
constexpr int kWaitForReaders = 8;

// How long a checkpoint waits for locks. Readers of this process finish soon. Another program can hold a lock for a
// long time, and commits would have to wait until the checkpoint gives up.
constexpr int kCheckpointBusyMs = 100;

}  // namespace

Checkpointer::Checkpointer(SqliteConnection& connection, int pages, int busy_ms)
    : connection_(connection), pages_(pages), busy_ms_(busy_ms), wait_for_readers_at_(kWaitForReaders * pages) {
  sqlite3_wal_hook(
      connection_.get(),
      [](void* self, sqlite3*, const char*, int wal_pages) {
        static_cast<Checkpointer*>(self)->wal_pages_ = wal_pages;
        return SQLITE_OK;
      },
      this);
}

Checkpointer::~Checkpointer() { sqlite3_wal_hook(connection_.get(), nullptr, nullptr); }

absl::Status Checkpointer::Run() {
  const int patience = kWaitForReaders * pages_;
  if (wal_pages_ < pages_) {
    wait_for_readers_at_ = patience;
    return absl::OkStatus();
  }
  if (wal_pages_ < wait_for_readers_at_) return RunNow();
  // If the readers do not finish in time, the next wait happens only after the log has grown by `patience` more pages.
  wait_for_readers_at_ = wal_pages_ + patience;
  return Move(SQLITE_CHECKPOINT_RESTART);
}

absl::Status Checkpointer::RunNow() { return Move(SQLITE_CHECKPOINT_PASSIVE); }

absl::Status Checkpointer::Finish() {
  ABSL_RETURN_IF_ERROR(Move(SQLITE_CHECKPOINT_TRUNCATE));
  sqlite3_db_config(connection_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
  return absl::OkStatus();
}

absl::Status Checkpointer::Move(int mode) {
  sqlite3_busy_timeout(connection_.get(), kCheckpointBusyMs);
  const int code = sqlite3_wal_checkpoint_v2(connection_.get(), "main", mode, nullptr, nullptr);
  sqlite3_busy_timeout(connection_.get(), busy_ms_);
  const absl::Status status = SqliteStatus(connection_.get(), code);
  return CanGoOn(status) ? absl::OkStatus() : status;
}

}  // namespace stampgate
