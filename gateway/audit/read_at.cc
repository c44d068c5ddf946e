#include "gateway/audit/read_at.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace stampgate {

absl::StatusOr<size_t> ReadAt(int fd, int64_t offset, char* data, size_t size) {
  ssize_t got;
  do {
    got = pread(fd, data, size, offset);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return absl::UnavailableError(absl::StrCat("cannot be read: ", std::strerror(errno)));
  return static_cast<size_t>(got);
}

}  // namespace stampgate
