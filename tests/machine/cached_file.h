#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "tests/machine/control.h"

namespace stampgate {

// A file of the watched folder, with its content in the simulated page cache and on the simulated disk. The file itself
// contains the data of the cache. In the control folder, the file "disk/<inode>" contains the data of the disk. The
// file "dirty/<inode>" has a byte for each page of 4 KiB, which is 1 if the page is dirty: changed in the cache and not
// written to the disk. After a failed sync, a page that is not dirty may differ from the disk.
//
// Not thread-safe: callers use one lock for all files.
class CachedFile {
 public:
  static constexpr int64_t kPageBytes = 4096;

  // Returns the file that `fd` refers to, or null if it is not tracked. Regular files below the watched folder are
  // tracked, except those that SQLite maps (-shm) and lock files (.lock). The result is never destroyed.
  static CachedFile* Of(int fd);

  // Marks the pages of this range dirty. Call before the range changes in the cache.
  void MarkDirty(int64_t offset, int64_t size);
  // Marks the changed pages dirty. Call before the file gets this size in the cache.
  void Resize(int64_t size);

  // Writes the dirty pages and the size to the disk.
  void Sync();
  // Simulates a failed sync: marks the dirty pages clean, but writes only some of them to the disk, and the size only
  // sometimes.
  void FailToSync(Control& control);
  // Writes some of the dirty pages to the disk.
  void WriteBack(Control& control);

  // Replaces the clean pages of this range in the cache by those of the disk. If `size` is 0, the range extends to the
  // end of the file.
  void Drop(int64_t offset, int64_t size);

  int64_t Size() const;
  // The path of the file relative to the watched folder, at the time of its first use.
  const std::string& name() const { return name_; }

 private:
  CachedFile(int fd, ino_t inode, std::string name);

  void WritePage(int64_t page);
  int64_t Pages() const;  // the number of pages in the cache or on the disk, whichever is larger

  const std::string name_;
  int cache_fd_;
  int disk_fd_;
  uint8_t* dirty_;
};

}  // namespace stampgate
