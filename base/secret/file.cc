#include "base/secret/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

constexpr mode_t kForbiddenMode = S_IWGRP | S_IRWXO;

// A regular file, open for reading.
class OpenFile {
 public:
  static absl::StatusOr<OpenFile> Open(const std::string& path) {
    // All checks use the opened file, so that nobody can replace the file between a check and the reading. With
    // O_NONBLOCK, open() of a FIFO does not wait for a writer.
    OpenFile file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    if (file.fd_ < 0) return absl::ErrnoToStatus(errno, "it cannot be opened");
    if (fstat(file.fd_, &file.state_) != 0) return absl::ErrnoToStatus(errno, "it cannot be examined");
    if (!S_ISREG(file.state_.st_mode)) return absl::FailedPreconditionError("it is not a regular file");
    return file;
  }

  OpenFile(OpenFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)), state_(other.state_) {}
  OpenFile& operator=(OpenFile&&) = delete;
  ~OpenFile() {
    if (fd_ >= 0) close(fd_);
  }

  const struct stat& state() const { return state_; }

  absl::Status CheckSize(size_t max_bytes) const {
    if (static_cast<uint64_t>(state_.st_size) <= max_bytes) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("it is larger than ", max_bytes, " bytes"));
  }

  // Reads the file into `bytes`, which has space for as many bytes as the file had when it was opened.
  absl::Status Read(char* bytes) {
    const auto size = static_cast<size_t>(state_.st_size);
    size_t done = 0;
    while (done < size) {
      const ssize_t got = read(fd_, bytes + done, size - done);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return absl::ErrnoToStatus(errno, "it cannot be read");
      if (got == 0) return absl::InvalidArgumentError("it became shorter while it was read");
      done += static_cast<size_t>(got);
    }
    return absl::OkStatus();
  }

 private:
  explicit OpenFile(int fd) : fd_(fd) {}

  int fd_;
  struct stat state_ = {};
};

absl::Status CheckOwnerAndMode(const struct stat& file, const SecretOwners& owners) {
  if (file.st_uid != 0 && file.st_uid != geteuid() && std::ranges::find(owners, file.st_uid) == owners.end()) {
    return absl::PermissionDeniedError(
        absl::StrCat("its owner is the user ", file.st_uid, ", who is neither root nor the user of this process (",
                     geteuid(), "): change the owner, or list ", file.st_uid, " in the setting secret_file_owners"));
  }
  if ((file.st_mode & kForbiddenMode) != 0) {
    return absl::PermissionDeniedError(
        "others may use it or its group may write it: its mode must be 0600, 0400 or 0440");
  }
  return absl::OkStatus();
}

// Writes all of `content` to the file `fd` and syncs the file.
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

// Syncs the directory of `path`. Without this sync, a new file could be missing after a crash.
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

absl::StatusOr<std::string> ReadPublicFile(const std::string& path, size_t max_bytes) {
  ABSL_ASSIGN_OR_RETURN(OpenFile file, OpenFile::Open(path));
  ABSL_RETURN_IF_ERROR(file.CheckSize(max_bytes));
  std::string bytes(static_cast<size_t>(file.state().st_size), '\0');
  ABSL_RETURN_IF_ERROR(file.Read(bytes.data()));
  return bytes;
}

absl::StatusOr<SecretBytes> ReadSecretFile(const std::string& path, const SecretOwners& owners) {
  ABSL_ASSIGN_OR_RETURN(OpenFile file, OpenFile::Open(path));
  ABSL_RETURN_IF_ERROR(CheckOwnerAndMode(file.state(), owners));
  if (file.state().st_size == 0) return absl::InvalidArgumentError("it is empty");
  ABSL_RETURN_IF_ERROR(file.CheckSize(kMaxSecretFileBytes));
  absl::StatusOr<SecretBytes> bytes = SecretBytes::Create(static_cast<size_t>(file.state().st_size));
  if (!bytes.ok()) return bytes.status();
  ABSL_RETURN_IF_ERROR(file.Read(reinterpret_cast<char*>(bytes->data())));
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
