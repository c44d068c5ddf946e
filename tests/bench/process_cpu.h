// Reads the CPU time that a process has used from the operating system.
#ifndef STAMPGATE_TESTS_BENCH_PROCESS_CPU_H_
#define STAMPGATE_TESTS_BENCH_PROCESS_CPU_H_

#include <sys/types.h>

#include <optional>

#include "absl/time/time.h"

namespace stampgate::bench {

// Returns the user and system time of all threads of the process `pid` (0: this process), including threads that have
// ended; nothing if there is no such process. The time is exact to nanoseconds, unlike that of /proc/PID/stat.
std::optional<absl::Duration> ProcessCpu(pid_t pid);

// The time, and the CPU that a process has used until this time.
struct Instant {
  absl::Time time;
  absl::Duration cpu;
};

// Reads the time and the CPU of the process. If there is none, prints an error and returns nothing.
std::optional<Instant> Look(pid_t pid);

}  // namespace stampgate::bench

#endif  // STAMPGATE_TESTS_BENCH_PROCESS_CPU_H_
