#include "base/disk/exclusive_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

constexpr mode_t kForbiddenMode = S_IRWXG | S_IRWXO;

absl::Status SystemStatus(absl::string_view what) {
  const int error = errno;
  const bool our_fault = error == ENOENT || error == ENOTDIR || error == ELOOP;
  return absl::Status(our_fault ? absl::StatusCode::kFailedPrecondition : absl::StatusCode::kUnavailable,
                      absl::StrCat(what, ": ", error == ENOENT ? "its folder does not exist" : std::strerror(error)));
}

// Changes the file's mode to 0600 if other users can access the file. Uses the path and opens no descriptor, because
// closing a descriptor would release the SQLite locks of this process.
absl::Status MakePrivate(const std::string& path) {
  struct stat file;
  if (lstat(path.c_str(), &file) != 0) {
    return errno == ENOENT ? absl::OkStatus() : SystemStatus("cannot be examined");
  }
  if (!S_ISREG(file.st_mode)) return absl::FailedPreconditionError(absl::StrCat(path, " is not a regular file"));
  if (file.st_uid != geteuid()) {
    return absl::FailedPreconditionError(absl::StrCat(path, " does not belong to the gateway's user"));
  }
  if ((file.st_mode & kForbiddenMode) == 0) return absl::OkStatus();
  return chmod(path.c_str(), S_IRUSR | S_IWUSR) == 0 ? absl::OkStatus()
                                                     : SystemStatus("its mode cannot be changed to 0600");
}

absl::StatusOr<int> TakeLock(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return SystemStatus("its lock file cannot be opened");
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  const absl::Status status = errno == EWOULDBLOCK ? absl::FailedPreconditionError("another process has it open")
                                                   : SystemStatus("cannot be locked");
  close(fd);
  return status;
}

// Syncs the folder of a file, because a new file survives a crash only if its folder was synced.
absl::Status SyncFolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return SystemStatus("its folder cannot be opened");
  const absl::Status status = fsync(fd) == 0 ? absl::OkStatus() : SystemStatus("its folder cannot be written to disk");
  close(fd);
  return status;
}

absl::Status MakeIfMissing(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0 && errno != EEXIST) return SystemStatus("cannot be created");
  if (fd >= 0) close(fd);
  // Also syncs the folder of an existing file, because the process that created the file might have died before it
  // synced the folder.
  return SyncFolderOf(path);
}

std::string CopyMarkOf(const std::string& path) { return absl::StrCat(path, "-copying"); }

absl::Status CheckNoCopy(const std::string& path) {
  struct stat file;
  const std::string mark = CopyMarkOf(path);
  if (lstat(mark.c_str(), &file) == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("a copy to this file has not ended; if it was interrupted, delete ", mark,
                     " and the other files of the new store, and start again"));
  }
  return errno == ENOENT ? absl::OkStatus() : SystemStatus("cannot be examined");
}

// Creates the mark of a copy. Requires the lock.
absl::Status BeginCopy(const std::string& path) {
  struct stat file;
  if (lstat(path.c_str(), &file) == 0) return absl::FailedPreconditionError("there is a file already");
  if (errno != ENOENT) return SystemStatus("cannot be examined");
  const int fd = open(CopyMarkOf(path).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return SystemStatus("cannot be created");
  close(fd);
  return SyncFolderOf(path);
}

enum class Purpose { kUse, kCopy };

absl::StatusOr<int> ClaimLock(const std::string& path, std::initializer_list<absl::string_view> companions,
                              Purpose purpose) {
  const std::string lock = absl::StrCat(path, ".lock");
  absl::StatusOr<int> fd = TakeLock(lock);
  if (!fd.ok()) return fd;
  absl::Cleanup release = [&fd] { close(*fd); };
  ABSL_RETURN_IF_ERROR(MakePrivate(lock));
  ABSL_RETURN_IF_ERROR(CheckNoCopy(path));
  if (purpose == Purpose::kCopy) {
    ABSL_RETURN_IF_ERROR(BeginCopy(path));
  }
  ABSL_RETURN_IF_ERROR(MakeIfMissing(path));
  ABSL_RETURN_IF_ERROR(MakePrivate(path));
  for (absl::string_view suffix : companions) {
    ABSL_RETURN_IF_ERROR(MakePrivate(absl::StrCat(path, suffix)));
  }
  std::move(release).Cancel();
  return fd;
}

}  // namespace

absl::StatusOr<ExclusiveFile> ExclusiveFile::Claim(const std::string& path,
                                                   std::initializer_list<absl::string_view> companions) {
  ABSL_ASSIGN_OR_RETURN(int fd, ClaimLock(path, companions, Purpose::kUse));
  return ExclusiveFile(fd);
}

absl::StatusOr<ExclusiveFile> ExclusiveFile::ClaimForCopy(const std::string& path,
                                                          std::initializer_list<absl::string_view> companions) {
  ABSL_ASSIGN_OR_RETURN(int fd, ClaimLock(path, companions, Purpose::kCopy));
  return ExclusiveFile(fd);
}

absl::Status EndCopy(const std::string& path) {
  if (unlink(CopyMarkOf(path).c_str()) != 0) return SystemStatus("the mark of the copy cannot be removed");
  return SyncFolderOf(path);
}

absl::Status RefuseOtherNames(const std::string& path) {
  struct stat file;
  if (lstat(path.c_str(), &file) != 0) return SystemStatus("cannot be examined");
  if (file.st_nlink == 1) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(path, " has another name (a hard link)"));
}

ExclusiveFile::ExclusiveFile(ExclusiveFile&& other) noexcept : lock_fd_(std::exchange(other.lock_fd_, -1)) {}

ExclusiveFile& ExclusiveFile::operator=(ExclusiveFile&& other) noexcept {
  std::swap(lock_fd_, other.lock_fd_);
  return *this;
}

ExclusiveFile::~ExclusiveFile() {
  if (lock_fd_ >= 0) close(lock_fd_);
}

}  // namespace stampgate
