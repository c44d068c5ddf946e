#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "tests/machine/control.h"

namespace stampgate {

// A file of the watched folder in a system with a page cache and a disk. The file itself holds the content of the
// cache. In the control folder, "disk/<inode>" is the content of the disk, and "dirty/<inode>" has a byte for each page
// of 4 KiB that the cache has still to write. After a failed sync a clean page may differ from the disk.
//
// Not thread-safe: the caller holds one lock for all files.
class CachedFile {
 public:
  static constexpr int64_t kPageBytes = 4096;

  // The file of the descriptor; null if it is not tracked. Tracked are regular files below the watched folder, except
  // those that SQLite maps (-shm) and lock files (.lock). The result lives as long as the process.
  static CachedFile* Of(int fd);

  // Call before the cache changes these bytes.
  void MarkDirty(int64_t offset, int64_t size);
  // Call before the cache truncates or extends the file to this size.
  void Resize(int64_t size);

  // Writes the dirty pages and the size to the disk.
  void Sync();
  // Marks the dirty pages clean but writes only some of them, and the size only sometimes.
  void FailToSync(Control& control);
  // Writes some of the dirty pages.
  void WriteBack(Control& control);

  // Replaces the clean pages in this range by the disk's. A `size` of 0 means up to the end.
  void Drop(int64_t offset, int64_t size);

  int64_t Size() const;
  // Relative to the watched folder, when the file was first used.
  const std::string& name() const { return name_; }

 private:
  CachedFile(int fd, ino_t inode, std::string name);

  void WritePage(int64_t page);
  int64_t Pages() const;  // of the longer of the two contents

  const std::string name_;
  int cache_fd_;
  int disk_fd_;
  uint8_t* dirty_;
};

}  // namespace stampgate
