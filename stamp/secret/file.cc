#include "stamp/secret/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/cleanup/cleanup.h"

namespace stampgate {
namespace {

constexpr off_t kMaxFileBytes = 4096;
constexpr mode_t kForbiddenMode = S_IWGRP | S_IRWXO;

absl::Status CheckFile(const struct stat& file) {
  if (!S_ISREG(file.st_mode)) return absl::FailedPreconditionError("it is not a regular file");
  if (file.st_uid != 0 && file.st_uid != geteuid()) {
    return absl::PermissionDeniedError("it belongs to neither root nor the user that we run as");
  }
  if ((file.st_mode & kForbiddenMode) != 0) {
    return absl::PermissionDeniedError(
        "others may use it or its group may write it: its mode must be 0600, 0400 or 0440");
  }
  if (file.st_size == 0) return absl::InvalidArgumentError("it is empty");
  if (file.st_size > kMaxFileBytes) return absl::InvalidArgumentError("it is larger than 4096 bytes");
  return absl::OkStatus();
}

// Writes all of `content` and syncs it.
absl::Status WriteAndSync(int fd, const SecretBytes& content) {
  size_t done = 0;
  while (done < content.size()) {
    const ssize_t put = write(fd, content.data() + done, content.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return absl::ErrnoToStatus(errno, "cannot write it");
    done += static_cast<size_t>(put);
  }
  return fsync(fd) == 0 ? absl::OkStatus() : absl::ErrnoToStatus(errno, "cannot write it to disk");
}

// A new file survives a crash only if its directory has been synced.
absl::Status SyncDirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, "cannot open its directory");
  const absl::Status status =
      fsync(fd) == 0 ? absl::OkStatus() : absl::ErrnoToStatus(errno, "cannot write its directory to disk");
  close(fd);
  return status;
}

}  // namespace

absl::StatusOr<SecretBytes> ReadSecretFile(const std::string& path) {
  // Opens once and checks the opened file, so that it cannot be replaced in between. O_NONBLOCK: opening a FIFO must
  // not block.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0) return absl::ErrnoToStatus(errno, "it cannot be opened");
  absl::Cleanup close_fd = [fd] { close(fd); };
  struct stat file;
  if (fstat(fd, &file) != 0) return absl::ErrnoToStatus(errno, "it cannot be examined");
  if (absl::Status status = CheckFile(file); !status.ok()) return status;
  absl::StatusOr<SecretBytes> bytes = SecretBytes::Create(static_cast<size_t>(file.st_size));
  if (!bytes.ok()) return bytes.status();
  size_t done = 0;
  while (done < bytes->size()) {
    const ssize_t got = read(fd, bytes->data() + done, bytes->size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::ErrnoToStatus(errno, "it cannot be read");
    if (got == 0) return absl::InvalidArgumentError("it became shorter while it was read");
    done += static_cast<size_t>(got);
  }
  return bytes;
}

absl::Status WriteNewSecretFile(const std::string& path, const SecretBytes& content) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return absl::ErrnoToStatus(errno, "cannot create it");
  absl::Status status = WriteAndSync(fd, content);
  if (close(fd) != 0 && status.ok()) status = absl::ErrnoToStatus(errno, "cannot close it");
  if (status.ok()) status = SyncDirectoryOf(path);
  if (!status.ok()) unlink(path.c_str());
  return status;
}

}  // namespace stampgate
