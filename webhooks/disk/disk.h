// The disk under a database: SQLite's VFS, and the page cache operations that crash recovery needs.
#ifndef STAMPGATE_WEBHOOKS_DISK_DISK_H_
#define STAMPGATE_WEBHOOKS_DISK_DISK_H_

#include <string>

#include "absl/status/status.h"

namespace stampgate {

// Thread-safe. Must outlive every file that is opened on it.
class Disk {
 public:
  virtual ~Disk() = default;

  // The name of the VFS for sqlite3_open_v2; empty for the system's.
  virtual std::string vfs() const = 0;

  // Writes the file's cached pages to the disk and drops them from the page cache, so that later reads come from the
  // disk. Does nothing if there is no such file.
  //
  // Call this before the content of a file is used that an earlier process may not have finished writing: after a
  // failed sync Linux keeps pages in its cache that it marks clean but has never written. This process must have no
  // connection to the file, because closing the descriptor would release SQLite's locks.
  //
  // Errors: kUnavailable if the file cannot be opened or written.
  virtual absl::Status Settle(const std::string& path) = 0;

  // The system's disk.
  static Disk& System();
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_DISK_DISK_H_
