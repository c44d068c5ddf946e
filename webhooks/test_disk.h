// A disk in memory for SQLite, which keeps a history and fails on request.
//
// Several connections of this process may use it at once, write-ahead log included. It promises what SQLite's own VFS
// does on Linux: bytes next to those that are written stay as they are, whatever happens.
#ifndef STAMPGATE_WEBHOOKS_TEST_DISK_H_
#define STAMPGATE_WEBHOOKS_TEST_DISK_H_

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace stampgate {

// The content of each file, by name.
using DiskImage = std::map<std::string, std::string>;

// Something that was done to a file.
struct DiskChange {
  enum class Kind { kCreate, kWrite, kTruncate, kSync, kDelete };

  Kind kind;
  std::string file;
  int64_t offset = 0;   // of a write; the new size, of a truncation
  std::string data;     // of a write
  bool folder = false;  // of a creation, deletion or sync: the folder was synced too
};

// Thread-safe. Outlives every connection that uses it.
class TestDisk {
 public:
  explicit TestDisk(const DiskImage& image = {});
  ~TestDisk();

  TestDisk(const TestDisk&) = delete;
  TestDisk& operator=(const TestDisk&) = delete;

  // The name under which SQLite knows it.
  const std::string& vfs() const { return vfs_name_; }

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

  // The `n`th write or sync from now fails once with an I/O error, and nothing of it reaches the disk; 0: none does.
  void FailWrite(int n);
  void FailSync(int n);

  // How many writes and syncs have failed.
  int failures() const;

 private:
  struct Node;
  struct File;
  struct Methods;

  // Both with the lock held.
  int Write(File& file, const char* data, int size, int64_t offset);
  int Sync(File& file);

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
  int failures_ = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_TEST_DISK_H_
