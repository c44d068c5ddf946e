// Measures how much CPU a process has used, by the operating system's accounting.
#ifndef STAMPGATE_TESTS_BENCH_PROCESS_CPU_H_
#define STAMPGATE_TESTS_BENCH_PROCESS_CPU_H_

#include <sys/types.h>

#include <optional>

#include "absl/time/time.h"

namespace stampgate::bench {

// User and system time of all threads of `pid` (0: this process), including threads that have ended. As exact as the
// scheduler's nanoseconds, unlike /proc/PID/stat. Nothing if there is no such process.
std::optional<absl::Duration> ProcessCpu(pid_t pid);

}  // namespace stampgate::bench

#endif  // STAMPGATE_TESTS_BENCH_PROCESS_CPU_H_
