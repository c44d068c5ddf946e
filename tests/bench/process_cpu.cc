#include "tests/bench/process_cpu.h"

#include <time.h>

namespace stampgate::bench {

std::optional<absl::Duration> ProcessCpu(pid_t pid) {
  clockid_t clock;
  timespec used;
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0) return std::nullopt;
  return absl::DurationFromTimespec(used);
}

}  // namespace stampgate::bench
