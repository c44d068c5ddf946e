#include "gateway/process/hardening.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>

namespace stampgate {

absl::Status HardenProcess() {
  umask(077);
  const rlimit none = {0, 0};
  if (setrlimit(RLIMIT_CORE, &none) != 0) return absl::ErrnoToStatus(errno, "core dumps cannot be turned off");
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
    return absl::ErrnoToStatus(errno, "the memory of the process cannot be protected from other processes");
  }
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return absl::ErrnoToStatus(errno, "child processes cannot be prevented from gaining privileges");
  return absl::OkStatus();
}

}  // namespace stampgate
