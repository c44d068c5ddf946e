#include "webhooks/threads/core_count.h"

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <thread>

namespace stampgate {
namespace {

constexpr size_t kMaxCores = 16;

// Returns the path of the process's control group in the hierarchy of version 2, such as "/system.slice/x.service".
// Returns nothing if the file names none.
std::string GroupIn(const std::string& membership) {
  std::ifstream file(membership);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("0::/")) return line.substr(3);
  }
  return "";
}

}  // namespace

size_t CoreCount() {
  cpu_set_t cores;
  // The system refuses the small mask only if the machine has more cores than fit in it.
  const bool fits = sched_getaffinity(0, sizeof(cores), &cores) == 0;
  const size_t count = fits ? static_cast<size_t>(CPU_COUNT(&cores)) : std::thread::hardware_concurrency();
  return CoreCountInGroup(std::clamp<size_t>(count, 1, kMaxCores), "/sys/fs/cgroup", "/proc/self/cgroup");
}

size_t CoreCountInGroup(size_t cores, const std::string& root, const std::string& membership) {
  std::string group = GroupIn(membership);
  if (group.empty()) return cores;
  // The quota of every group above limits the process, too.
  while (true) {
    while (group.ends_with('/')) group.pop_back();
    // The file contains two times in microseconds, or `max` instead of the first one.
    std::ifstream file(root + group + "/cpu.max");
    int64_t quota_us = 0;
    int64_t period_us = 0;
    if (file >> quota_us >> period_us && quota_us > 0 && period_us > 0) {
      cores = std::min(cores, static_cast<size_t>((quota_us - 1) / period_us + 1));
    }
    if (group.empty()) return cores;
    group.resize(group.rfind('/'));
  }
}

}  // namespace stampgate
