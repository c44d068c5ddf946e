// A simulated disk with a page cache, for tests. It records all changes and fails on request.
//
// Several connections of this process may use the disk at the same time, even with a write-ahead log. Like SQLite's own
// VFS on Linux, it guarantees that a write, even an interrupted one, changes no bytes outside of the written range.
//
// Reads return the content of the cache, and the cache outlives the process that wrote it, as on a real machine. As on
// Linux, a failed write-back marks pages as clean although the disk does not have them: reads still return these pages,
// and no later sync writes them. Reads return the disk's content only after Settle or a power cut (power_cut.h).
#ifndef STAMPGATE_BASE_DISK_TEST_DISK_H_
#define STAMPGATE_BASE_DISK_TEST_DISK_H_

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/disk/disk.h"
#include "base/threads/mutex.h"

namespace stampgate {

// The content of each file, by the file's name.
using DiskImage = std::map<std::string, std::string>;

// The page size of the cache.
inline constexpr size_t kPageBytes = 4096;

// One operation on a file.
struct DiskChange {
  enum class Kind { kCreate, kWrite, kTruncate, kSync, kDelete };

  Kind kind;
  std::string file;
  int64_t offset = 0;   // for a write; for a truncation, the new size
  std::string data;     // for a write
  bool folder = false;  // for a creation, deletion or sync: whether the folder was synced too
  // For a sync: the numbers of the pages whose writes since the last sync did not reach the disk and never will.
  std::set<size_t> lost = {};
};

// The simulated disk. Thread-safe. Must outlive every connection that uses it.
class TestDisk : public Disk {
 public:
  explicit TestDisk(const DiskImage& image = {});
  ~TestDisk() override;

  TestDisk(const TestDisk&) = delete;
  TestDisk& operator=(const TestDisk&) = delete;

  // Returns the name of the VFS with which SQLite uses this disk.
  std::string vfs() const override { return vfs_name_; }

  // Requires that no connection to the file is open.
  absl::Status Settle(const std::string& path) override;

  // Writes the file's cached pages to the disk as Settle does, but keeps them in the cache.
  absl::Status SyncOnly(const std::string& path);

  // Returns the content of the files in the cache, as processes read it.
  DiskImage image() const;

  // Returns all changes since the disk was created. Call this function when no connection uses the disk.
  const std::vector<DiskChange>& history() const ABSL_NO_THREAD_SAFETY_ANALYSIS { return history_; }
  size_t steps() const;

  // Makes the disk full from the `n`th write on (1 is the next). From this write on, writes past the end of a file
  // fail. If `everywhere` is true, all writes fail. Enlarging a file counts as a write. If the `n`th write fails, it
  // still stores half of its bytes.
  void FillAtWrite(int n, bool everywhere);
  void MakeRoom();

  // Makes the `n`th write from now fail with an I/O error. That write stores nothing, and later writes succeed. If `n`
  // is 0, cancels a planned failure.
  void FailWrite(int n);

  // Makes the `n`th sync from now fail; later syncs succeed. If `n` is 0, cancels a planned failure. The failed sync
  // marks all pages of the file as clean. `seed` selects whether the sync has written all of these pages, none or some.
  void FailSync(int n, uint64_t seed = 1);

  // After the `n`th write from now, simulates that the system writes that file's pages back on its own, and that this
  // write-back fails like a sync of FailSync. The file's next sync returns the error.
  void FailWriteBack(int n, uint64_t seed);

  // Simulates that the process is killed after `operations` more operations that change the disk: all later operations
  // fail and change nothing. Restart ends this state, and cancels all planned failures.
  void StopAfter(int operations);
  void Restart();
  bool stopped() const;

  // Returns the total time for which SQLite has waited for locks.
  int64_t waited_us() const;

  // Returns the number of failed writes and syncs.
  int failures() const;

 private:
  struct Node;
  struct File;
  struct Methods;

  bool Stopped() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int Write(File& file, const char* data, int size, int64_t offset) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int Sync(const std::string& name, Node& node, bool folder) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteBack(const std::string& name, Node& node, uint64_t seed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MarkDirty(const std::string& name, Node& node, size_t page) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string vfs_name_;
  std::unique_ptr<sqlite3_vfs> vfs_;
  mutable Mutex mutex_;
  std::map<std::string, std::shared_ptr<Node>> files_ ABSL_GUARDED_BY(mutex_);
  std::vector<DiskChange> history_ ABSL_GUARDED_BY(mutex_);
  int writes_until_full_ ABSL_GUARDED_BY(mutex_) = 0;  // 0: the disk does not become full
  bool full_ ABSL_GUARDED_BY(mutex_) = false;
  bool full_everywhere_ ABSL_GUARDED_BY(mutex_) = false;
  int writes_until_failure_ ABSL_GUARDED_BY(mutex_) = 0;
  int syncs_until_failure_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t sync_failure_seed_ ABSL_GUARDED_BY(mutex_) = 0;
  int writes_until_write_back_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t write_back_seed_ ABSL_GUARDED_BY(mutex_) = 0;
  int operations_left_ ABSL_GUARDED_BY(mutex_) = -1;  // until the simulated kill; -1: none is planned
  int64_t waited_us_ ABSL_GUARDED_BY(mutex_) = 0;
  int failures_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_BASE_DISK_TEST_DISK_H_
