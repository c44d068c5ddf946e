#include "base/threads/core_count.h"

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <thread>

#include "base/threads/control_groups.h"

namespace stampgate {
namespace {

constexpr size_t kMaxCores = 16;

}  // namespace

size_t CoreCount() {
  cpu_set_t cores;
  // The system refuses the small mask only if the machine has more cores than fit in it.
  const bool fits = sched_getaffinity(0, sizeof(cores), &cores) == 0;
  const size_t count = fits ? static_cast<size_t>(CPU_COUNT(&cores)) : std::thread::hardware_concurrency();
  return CoreCountInGroup(std::clamp<size_t>(count, 1, kMaxCores), kControlGroupRoot, kControlGroupMembership);
}

size_t CoreCountInGroup(size_t cores, const std::string& root, const std::string& membership) {
  // The quota of every group above limits the process, too.
  for (const std::string& folder : ControlGroupFolders("cpu", root, membership)) {
    // The file contains two times in microseconds, or `max` instead of the first one.
    std::ifstream file(folder + "/cpu.max");
    int64_t quota_us = 0;
    int64_t period_us = 0;
    if (file >> quota_us >> period_us && quota_us > 0 && period_us > 0) {
      cores = std::min(cores, static_cast<size_t>((quota_us - 1) / period_us + 1));
    }
  }
  return cores;
}

}  // namespace stampgate
