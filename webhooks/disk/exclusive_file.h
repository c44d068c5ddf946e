// A file that one process at a time uses, and nobody but its owner reads.
#ifndef STAMPGATE_WEBHOOKS_DISK_EXCLUSIVE_FILE_H_
#define STAMPGATE_WEBHOOKS_DISK_EXCLUSIVE_FILE_H_

#include <initializer_list>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace stampgate {

// The right to use a file, as long as this lives. It is a lock on `<path>.lock`, which stays when the file is no longer
// used, because removing it could give the right to two.
class ExclusiveFile {
 public:
  // Takes the lock, and makes the file, empty and on disk, if it is not there. The file, its lock and its `companions`
  // (suffixes, as "-wal") that are there get mode 0600 if others can use them: Kubernetes opens the files of a volume
  // to their group each time it mounts it, so refusing would end in a gateway that starts once.
  //
  // Errors: kFailedPrecondition if another process has it, if its folder does not exist, or if one of the files is not
  // a regular one or belongs to somebody else; kUnavailable for what else the system refuses.
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
// and so two processes could use it. Errors: kFailedPrecondition, and kUnavailable if the file cannot be examined.
absl::Status RefuseOtherNames(const std::string& path);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_DISK_EXCLUSIVE_FILE_H_
