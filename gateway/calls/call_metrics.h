// The metrics of all calls.
#ifndef STAMPGATE_GATEWAY_CALLS_CALL_METRICS_H_
#define STAMPGATE_GATEWAY_CALLS_CALL_METRICS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gateway/metrics/registry.h"

namespace stampgate {

// Thread-safe. The registry must outlive this.
class CallMetrics {
  MetricRegistry& registry_;  // initializes the other members

 public:
  struct Method {
    std::string full_name;     // "/stampgate.v1.PolicyService/GetPolicy"
    std::string policy_class;  // "query"
    bool streams = false;      // if true, the duration of this method's calls is not measured
  };

  explicit CallMetrics(MetricRegistry& registry);

  // From now on, counts the calls of each of these methods separately, and the calls of all other methods together as
  // "other". Methods that it counts already keep their counts.
  void AddMethods(const std::vector<Method>& methods);

  // Counts the end of a call with its status and its duration.
  void CountEnd(absl::string_view method, const absl::Status& status, absl::Duration duration);

  Gauge& in_flight = registry_.AddGauge("stampgate_calls_in_flight", "Calls in progress, including streams.");

 private:
  static constexpr size_t kCodes = 17;  // the number of absl::StatusCode values

  // The series of one method, one for each status code. The series of OK exists from the beginning; each other series
  // exists after the first call with its code.
  struct Calls {
    std::string name;
    Histogram* duration = nullptr;  // null if the duration is not measured
    std::array<std::atomic<Counter*>, kCodes> ended{};
  };

  std::unique_ptr<Calls> MakeCalls(std::string name, Histogram* duration);
  Counter& EndedWith(Calls& calls, absl::StatusCode code);
  void CountError(const absl::Status& status, absl::Duration duration);
  Counter& AddErrors(const std::string& reason);
  // The reference is valid as long as this.
  Calls& CallsOf(absl::string_view method);

  Counters& ended_ =
      registry_.AddCounters("stampgate_calls_total", "Calls that have ended, by method and status code.");
  absl::flat_hash_map<std::string, Counter*> errors_;  // by the gateway's reason
  Counter& upstream_errors_ = AddErrors("UPSTREAM");
  Counter& other_errors_ = AddErrors("OTHER");
  Histogram& refusals_ = registry_.AddDurations("stampgate_admission_refusal_seconds",
                                                "Duration of calls that got no place within upstream's rates.");
  std::shared_mutex methods_mutex_;
  absl::flat_hash_map<std::string, std::unique_ptr<Calls>> methods_;  // guarded by methods_mutex_
  const std::unique_ptr<Calls> other_methods_ = MakeCalls("other", nullptr);
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLS_CALL_METRICS_H_
