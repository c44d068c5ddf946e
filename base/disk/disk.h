// The interface of a disk: the VFS through which SQLite uses it, and a function that writes and drops a file's cached
// pages.
#ifndef STAMPGATE_BASE_DISK_DISK_H_
#define STAMPGATE_BASE_DISK_DISK_H_

#include <string>

#include "absl/status/status.h"

namespace stampgate {

// The interface of a disk. Thread-safe. Must outlive every file that is opened on it.
class Disk {
 public:
  virtual ~Disk() = default;

  // Returns the name of the VFS for sqlite3_open_v2; empty for SQLite's default VFS.
  virtual std::string vfs() const = 0;

  // Writes the file's cached pages to the disk and drops them from the page cache, so that later reads return the
  // content of the disk. Does nothing if there is no such file.
  //
  // Call Settle before using the content of a file that an earlier process has written. If a sync of that process
  // failed, the page cache of Linux can contain pages that are marked clean but were never written to the disk.
  // Requires that this process has no connection to the file, because Settle would release SQLite's locks.
  //
  // Errors: kUnavailable if the file cannot be opened or written.
  virtual absl::Status Settle(const std::string& path) = 0;

  // Returns the real disk.
  static Disk& System();
};

}  // namespace stampgate

#endif  // STAMPGATE_BASE_DISK_DISK_H_
