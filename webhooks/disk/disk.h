// What a database of the gateway stands on: SQLite's VFS, and what a crash asks for besides.
#ifndef STAMPGATE_WEBHOOKS_DISK_DISK_H_
#define STAMPGATE_WEBHOOKS_DISK_DISK_H_

#include <string>

#include "absl/status/status.h"

namespace stampgate {

// Thread-safe. Outlives every file that is opened on it.
class Disk {
 public:
  virtual ~Disk() = default;

  // The name of the VFS, for sqlite3_open_v2; empty for the system's.
  virtual std::string vfs() const = 0;

  // Writes to the disk what the system still keeps of the file in memory, and makes the system drop its copy. What is
  // read afterwards comes from the disk. Does nothing if there is no such file.
  //
  // To be called before anything believes a file that a process may have left in the middle of its work: after a failed
  // sync Linux keeps pages in memory that it calls clean and has never written. No connection to the file may be open
  // in this process, because closing the descriptor would release SQLite's locks.
  //
  // Errors: kUnavailable if the file cannot be opened or written.
  virtual absl::Status Settle(const std::string& path) = 0;

  // The system's.
  static Disk& System();
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_DISK_DISK_H_
