// Makes sure that only one process at a time uses a file, and that only the file's owner can read it.
#ifndef STAMPGATE_BASE_DISK_EXCLUSIVE_FILE_H_
#define STAMPGATE_BASE_DISK_EXCLUSIVE_FILE_H_

#include <initializer_list>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace stampgate {

// The right of this process to use a file, as long as this object exists. The object holds a lock on the file
// `<path>.lock`. The lock file is never removed, because otherwise two processes could hold locks on different files of
// that name.
class ExclusiveFile {
 public:
  // Takes the lock, and creates an empty, synced file at `path` if no file exists there. `companions` are the suffixes
  // of other files, such as "-wal". If other users can access the file, its lock file or an existing companion, changes
  // the mode of that file to 0600. This is not an error, because Kubernetes makes a volume's files accessible to their
  // group at each mount.
  //
  // Errors: kFailedPrecondition if another process holds the lock, if the folder does not exist, or if one of the files
  // is not a regular file or belongs to another user, or if a copy to the file has not ended; kUnavailable for other
  // failures of the system.
  static absl::StatusOr<ExclusiveFile> Claim(const std::string& path,
                                             std::initializer_list<absl::string_view> companions);

  // Does the same for a new file, to which the caller copies a store. Before it creates the file, creates and syncs the
  // empty file `<path>-copying`. Until EndCopy removes it, also after a crash, Claim and ClaimForCopy return
  // kFailedPrecondition, because an interrupted copy would else look like a new store. Errors: those of Claim, and
  // kFailedPrecondition if there is a file at `path`.
  static absl::StatusOr<ExclusiveFile> ClaimForCopy(const std::string& path,
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

// Allows Claim for a file that ClaimForCopy has claimed. Returns when the disk has recorded this. Errors: kUnavailable.
absl::Status EndCopy(const std::string& path);

// Returns an error if the file has a second name (a hard link). With two names, the file would have two lock files, and
// two processes could use the file at the same time. Errors: kFailedPrecondition if the file has a second name;
// kUnavailable if the file cannot be examined.
absl::Status RefuseOtherNames(const std::string& path);

}  // namespace stampgate

#endif  // STAMPGATE_BASE_DISK_EXCLUSIVE_FILE_H_
