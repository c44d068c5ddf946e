// A file that only one process at a time uses, and that only its owner can read.
#ifndef STAMPGATE_WEBHOOKS_DISK_EXCLUSIVE_FILE_H_
#define STAMPGATE_WEBHOOKS_DISK_EXCLUSIVE_FILE_H_

#include <initializer_list>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace stampgate {

// The right to use a file, while this object lives. It is a lock on `<path>.lock`. The lock file is never removed,
// because removing it could let two processes hold the right.
class ExclusiveFile {
 public:
  // Locks, and creates the file, empty and synced, if it does not exist. If others can use the file, its lock or one of
  // its existing `companions` (suffixes such as "-wal"), that file gets mode 0600. It is not refused, because
  // Kubernetes opens a volume's files to their group at each mount, and the gateway could then start only once.
  //
  // Errors: kFailedPrecondition if another process holds the lock, if the folder does not exist, or if one of the files
  // is not a regular file or belongs to another user; kUnavailable for other failures of the system.
  static absl::StatusOr<ExclusiveFile> Claim(const std::string& path,
                                             std::initializer_list<absl::string_view> companions);

  ExclusiveFile(ExclusiveFile&& other) noexcept;
  ExclusiveFile& operator=(ExclusiveFile&& other) noexcept;
  ExclusiveFile(const ExclusiveFile&) = delete;
  ExclusiveFile& operator=(const ExclusiveFile&) = delete;
  ~ExclusiveFile();

 private:
  explicit ExclusiveFile(int lock_fd) : lock_fd_(lock_fd) {}

  int lock_fd_;
};

// Refuses a file that has a second name (a hard link): under that name it would have another lock and other companions,
// and two processes could use it. Errors: kFailedPrecondition, and kUnavailable if the file cannot be examined.
absl::Status RefuseOtherNames(const std::string& path);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_DISK_EXCLUSIVE_FILE_H_
