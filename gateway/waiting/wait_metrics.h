// The metrics of the calls that wait for the end of an activity.
#ifndef STAMPGATE_GATEWAY_WAITING_WAIT_METRICS_H_
#define STAMPGATE_GATEWAY_WAITING_WAIT_METRICS_H_

#include "absl/strings/string_view.h"
#include "gateway/metrics/by_value.h"
#include "gateway/metrics/registry.h"
#include "gateway/waiting/wait_table.h"

namespace stampgate {

// Returns the name of the value for metrics; empty for a number that is no value.
absl::string_view NameOf(WaitEnd end);

// Thread-safe. The registry must outlive this.
class WaitMetrics {
  MetricRegistry& registry_;  // initializes the other members

 public:
  explicit WaitMetrics(MetricRegistry& registry) : registry_(registry) {}

  Gauge& waiting =
      registry_.AddGauge("stampgate_waiting_calls", "Calls that wait for the end of an activity (wait_until).");
  ByValue<Counter, WaitEnd> ends{
      registry_.AddCounters("stampgate_waits_total",
                            "Calls that no longer wait for the end of an activity, by what ended the wait."),
      "end"};
  Counter& good_polls = AddPolls("ok");
  Counter& failed_polls = AddPolls("failed");

 private:
  Counter& AddPolls(const char* result) {
    return registry_.AddCounter("stampgate_activity_polls_total",
                                "Readings of activities for which calls wait, by result.", {{"result", result}});
  }
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_WAITING_WAIT_METRICS_H_
