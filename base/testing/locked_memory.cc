#include "base/testing/locked_memory.h"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace stampgate {

int LockedKb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmLck:", 0) == 0) return std::atoi(line.c_str() + 6);
  }
  ADD_FAILURE() << "no VmLck";
  return 0;
}

bool IsSanitized() {
#ifdef STAMPGATE_SANITIZED
  return true;
#else
  return false;
#endif
}

void ForbidLocking() {
  const rlimit none{0, 0};
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  // Drops all capabilities. The capability CAP_IPC_LOCK, which root has, would let the process exceed the limit.
  if (setrlimit(RLIMIT_MEMLOCK, &none) != 0 || syscall(SYS_capset, &header, data) != 0) _exit(99);
}

}  // namespace stampgate
