// The latencies of the calls in a measurement.
#ifndef STAMPGATE_TESTS_BENCH_LATENCIES_H_
#define STAMPGATE_TESTS_BENCH_LATENCIES_H_

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <vector>

#include "absl/time/time.h"

namespace stampgate::bench {

class Latencies {
 public:
  void Clear() { all_.clear(); }
  void Add(absl::Duration latency) { all_.push_back(latency); }
  bool empty() const { return all_.empty(); }
  size_t size() const { return all_.size(); }

  // Prints the figures of the measurement as name=value pairs, without an end of line. `cpu` is the CPU time of all
  // calls.
  void Print(absl::Duration cpu, absl::Duration time) {
    if (all_.empty()) return;
    std::sort(all_.begin(), all_.end());
    const auto calls = static_cast<double>(all_.size());
    std::printf("cpu_us=%.2f per_second=%.0f p50_ms=%.3f p99_ms=%.3f calls=%.0f",
                absl::ToDoubleMicroseconds(cpu) / calls, calls / absl::ToDoubleSeconds(time), Percentile(0.5),
                Percentile(0.99), calls);
  }

 private:
  double Percentile(double share) const {
    return absl::ToDoubleMilliseconds(all_[static_cast<size_t>(share * static_cast<double>(all_.size() - 1))]);
  }

  std::vector<absl::Duration> all_;
};

}  // namespace stampgate::bench

#endif  // STAMPGATE_TESTS_BENCH_LATENCIES_H_
