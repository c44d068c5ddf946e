#include "base/disk/disk.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

absl::Status SystemError(const std::string& path, absl::string_view what) {
  return absl::UnavailableError(absl::StrCat(path, " ", what, ": ", std::strerror(errno)));
}

class SystemDisk final : public Disk {
 public:
  std::string vfs() const override { return ""; }

  absl::Status Settle(const std::string& path) override {
    const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return errno == ENOENT ? absl::OkStatus() : SystemError(path, "cannot be opened");
    const absl::Cleanup closing = [fd] { close(fd); };
    if (fsync(fd) != 0) return SystemError(path, "cannot be written to disk");
    const int error = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    if (error != 0) {
      errno = error;
      return SystemError(path, "cannot be dropped from the page cache");
    }
    return absl::OkStatus();
  }
};

}  // namespace

Disk& Disk::System() {
  static Disk& disk = *new SystemDisk;
  return disk;
}

}  // namespace stampgate
