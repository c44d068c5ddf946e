#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "tests/machine/control.h"

namespace stampgate {

// A file of the watched folder as a system with a page cache and a disk has it. The file itself is what the cache
// shows. In the control folder, "disk/<inode>" is what the disk has, and "dirty/<inode>" has a byte for each page of 4
// KiB that the cache is still to write. A page that is clean may differ from the disk: after a failed sync.
//
// Not thread-safe: the caller holds the one lock of all files.
class CachedFile {
 public:
  static constexpr int64_t kPageBytes = 4096;

  // The file behind the descriptor; null if it is not tracked. Tracked are regular files below the watched folder but
  // those that SQLite maps (-shm) and those that only carry locks (.lock). The result lives as long as the process.
  static CachedFile* Of(int fd);

  // The cache is about to change these bytes.
  void MarkDirty(int64_t offset, int64_t size);
  // The cache is about to cut the file, or to make it longer, to this size.
  void Resize(int64_t size);

  // Writes the dirty pages and the size to the disk.
  void Sync();
  // Marks the dirty pages as clean and writes some of them; the size, too, only sometimes.
  void FailToSync(Control& control);
  // Writes some of the dirty pages.
  void WriteBack(Control& control);

  // Replaces the clean pages that lie in this range by the disk's. A `size` of 0 reaches to the end.
  void Drop(int64_t offset, int64_t size);

  int64_t Size() const;
  // Under the watched folder, as it was when the file was first used.
  const std::string& name() const { return name_; }

 private:
  CachedFile(int fd, ino_t inode, std::string name);

  void WritePage(int64_t page);
  int64_t Pages() const;  // of the longer of the two

  const std::string name_;
  int cache_fd_;
  int disk_fd_;
  uint8_t* dirty_;
};

}  // namespace stampgate
