#include "tests/bench/process_cpu.h"

#include <time.h>

#include <cstdio>

#include "absl/time/clock.h"

namespace stampgate::bench {

std::optional<absl::Duration> ProcessCpu(pid_t pid) {
  clockid_t clock;
  timespec used;
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0) return std::nullopt;
  return absl::DurationFromTimespec(used);
}

std::optional<Instant> Look(pid_t pid) {
  const std::optional<absl::Duration> cpu = ProcessCpu(pid);
  if (!cpu.has_value()) {
    std::fprintf(stderr, "no process has the id %d\n", pid);
    return std::nullopt;
  }
  return Instant{absl::Now(), *cpu};
}

}  // namespace stampgate::bench
