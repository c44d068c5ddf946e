// A disk in memory, with a page cache in front of it, which keeps a history and fails on request.
//
// Several connections of this process may use it at once, write-ahead log included. It promises what SQLite's own VFS
// does on Linux: bytes next to those that are written stay as they are, whatever happens.
//
// What is read comes from the cache, and the cache outlives the process that wrote it, as it does when a process dies.
// As on Linux, a write-back that fails marks pages clean that the disk does not have: they are read as if nothing had
// happened, and no later sync writes them. Only Settle shows the disk's content again, and a power cut (power_cut.h).
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

// Of the cache.
inline constexpr size_t kPageBytes = 4096;

// Something that was done to a file.
struct DiskChange {
  enum class Kind { kCreate, kWrite, kTruncate, kSync, kDelete };

  Kind kind;
  std::string file;
  int64_t offset = 0;   // of a write; the new size, of a truncation
  std::string data;     // of a write
  bool folder = false;  // of a creation, deletion or sync: the folder was synced too
  // Of a sync: the pages, by number, whose writes since the last sync did not reach the disk and never will.
  std::set<size_t> lost = {};
};

// Thread-safe. Outlives every connection that uses it.
class TestDisk : public Disk {
 public:
  explicit TestDisk(const DiskImage& image = {});
  ~TestDisk() override;

  TestDisk(const TestDisk&) = delete;
  TestDisk& operator=(const TestDisk&) = delete;

  // The name under which SQLite knows it.
  std::string vfs() const override { return vfs_name_; }

  // No connection to the file may be open.
  absl::Status Settle(const std::string& path) override;

  // Half of what Settle does: the cache keeps what it has.
  absl::Status SyncOnly(const std::string& path);

  // As the processes that use it see it.
  DiskImage image() const;

  // Everything that was done since it was made. Take it when nothing uses the disk.
  const std::vector<DiskChange>& history() const { return history_; }
  size_t steps() const;

  // From the `n`th write on (1 is the next), writes that need room find none: those behind the end of a file or, if
  // `everywhere`, all. Making a file larger counts as a write here. The first of them gets half of its bytes onto the
  // disk.
  void FillAtWrite(int n, bool everywhere);
  void MakeRoom();

  // The `n`th write from now fails once with an I/O error, and nothing of it reaches the disk; 0: none does.
  void FailWrite(int n);

  // The `n`th sync from now fails once; 0: none does. The pages that it was to write are clean afterwards, and `seed`
  // chooses which of them the disk has: all, none or some.
  void FailSync(int n, uint64_t seed = 1);

  // Behind the `n`th write from now the system writes that file's pages back by itself, and fails as a sync does. The
  // file's next sync returns the error.
  void FailWriteBack(int n, uint64_t seed);

  // Whatever uses the disk is stopped, as by a kill, once it has done `operations` more things that change the disk:
  // all it does afterwards fails and changes nothing. Restart ends that, and every plan for a failure.
  void StopAfter(int operations);
  void Restart();
  bool stopped() const;

  // What SQLite has waited, in all. Nothing really waits.
  int64_t waited_us() const;

  // How many writes and syncs have failed.
  int failures() const;

 private:
  struct Node;
  struct File;
  struct Methods;

  // All with the lock held.
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
  int operations_left_ = -1;  // until it stops; -1: not planned
  int64_t waited_us_ = 0;
  int failures_ = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_DISK_TEST_DISK_H_
