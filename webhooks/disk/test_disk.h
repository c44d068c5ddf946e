// A disk in memory with a page cache, which records its history and fails on request.
//
// Several connections of this process may use it at once, with a write-ahead log too. It keeps the promises of SQLite's
// own VFS on Linux: a write never changes the bytes beside it.
//
// Reads come from the cache, and the cache outlives the process that wrote it, as on a real machine. As on Linux, a
// failed write-back marks pages clean that the disk does not have: reads return them as if nothing had happened, and no
// later sync writes them. Only Settle and a power cut (power_cut.h) reveal the disk's content again.
#ifndef STAMPGATE_WEBHOOKS_DISK_TEST_DISK_H_
#define STAMPGATE_WEBHOOKS_DISK_TEST_DISK_H_

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "webhooks/disk/disk.h"

namespace stampgate {

// The content of each file, by name.
using DiskImage = std::map<std::string, std::string>;

// The page size of the cache.
inline constexpr size_t kPageBytes = 4096;

// One operation on a file.
struct DiskChange {
  enum class Kind { kCreate, kWrite, kTruncate, kSync, kDelete };

  Kind kind;
  std::string file;
  int64_t offset = 0;   // of a write; for a truncation, the new size
  std::string data;     // of a write
  bool folder = false;  // for a creation, deletion or sync: the folder was synced too
  // For a sync: the pages, by number, whose writes since the last sync did not reach the disk and never will.
  std::set<size_t> lost = {};
};

// Thread-safe. Must outlive every connection that uses it.
class TestDisk : public Disk {
 public:
  explicit TestDisk(const DiskImage& image = {});
  ~TestDisk() override;

  TestDisk(const TestDisk&) = delete;
  TestDisk& operator=(const TestDisk&) = delete;

  // The name under which it is registered with SQLite.
  std::string vfs() const override { return vfs_name_; }

  // No connection to the file may be open.
  absl::Status Settle(const std::string& path) override;

  // Half of Settle: writes the pages but leaves them in the cache.
  absl::Status SyncOnly(const std::string& path);

  // The files as processes see them.
  DiskImage image() const;

  // All operations since its creation. Call it when nothing uses the disk.
  const std::vector<DiskChange>& history() const { return history_; }
  size_t steps() const;

  // From the `n`th write on (1 is the next), the disk is full: writes past the end of a file fail or, with
  // `everywhere`, all writes. Enlarging a file counts as a write. Half of the bytes of the first failing write reach
  // the disk.
  void FillAtWrite(int n, bool everywhere);
  void MakeRoom();

  // The `n`th write from now fails once with an I/O error and writes nothing; 0: no write fails.
  void FailWrite(int n);

  // The `n`th sync from now fails once; 0: no sync fails. Its pages are clean afterwards, and `seed` chooses which of
  // them the disk has: all, none or some.
  void FailSync(int n, uint64_t seed = 1);

  // After the `n`th write from now the system writes that file's pages back by itself, and fails like a failing sync.
  // The file's next sync returns the error.
  void FailWriteBack(int n, uint64_t seed);

  // Simulates a kill after `operations` more operations that change the disk: later ones fail and change nothing.
  // Restart ends this, and cancels every planned failure.
  void StopAfter(int operations);
  void Restart();
  bool stopped() const;

  // How long SQLite has waited for locks, in all.
  int64_t waited_us() const;

  // The number of failed writes and syncs.
  int failures() const;

 private:
  struct Node;
  struct File;
  struct Methods;

  // Call these with the lock held.
  bool Stopped();
  int Write(File& file, const char* data, int size, int64_t offset);
  int Sync(const std::string& name, Node& node, bool folder);
  void WriteBack(const std::string& name, Node& node, uint64_t seed);
  void MarkDirty(const std::string& name, Node& node, size_t page);

  const std::string vfs_name_;
  std::unique_ptr<sqlite3_vfs> vfs_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Node>> files_;
  std::vector<DiskChange> history_;
  int writes_until_full_ = 0;  // 0: not planned
  bool full_ = false;
  bool full_everywhere_ = false;
  int writes_until_failure_ = 0;
  int syncs_until_failure_ = 0;
  uint64_t sync_failure_seed_ = 0;
  int writes_until_write_back_ = 0;
  uint64_t write_back_seed_ = 0;
  int operations_left_ = -1;  // until the simulated kill; -1: none is planned
  int64_t waited_us_ = 0;
  int failures_ = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_DISK_TEST_DISK_H_
