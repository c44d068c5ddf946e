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
    const auto calls = static_cast<double>(all_.size());
    std::printf("cpu_us=%.2f per_second=%.0f p50_ms=%.3f p99_ms=%.3f calls=%.0f",
                absl::ToDoubleMicroseconds(cpu) / calls, calls / absl::ToDoubleSeconds(time), PercentileMs(0.5),
                PercentileMs(0.99), calls);
  }

  // Returns the latency in milliseconds that the share of the calls does not exceed; 0 without a call.
  double PercentileMs(double share) {
    if (all_.empty()) return 0;
    const auto at = all_.begin() + static_cast<ptrdiff_t>(share * static_cast<double>(all_.size() - 1));
    std::nth_element(all_.begin(), at, all_.end());
    return absl::ToDoubleMilliseconds(*at);
  }

 private:
  std::vector<absl::Duration> all_;
};

}  // namespace stampgate::bench

#endif  // STAMPGATE_TESTS_BENCH_LATENCIES_H_
