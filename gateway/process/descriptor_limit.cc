#include "gateway/process/descriptor_limit.h"

#include <sys/resource.h>

#include <cerrno>

namespace stampgate {

absl::Status RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return absl::ErrnoToStatus(errno, "the descriptor limit cannot be read");
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return absl::ErrnoToStatus(errno, "the descriptor limit cannot be raised to the hard limit");
  }
  return absl::OkStatus();
}

}  // namespace stampgate
