// The metrics of the admission of calls, of retries and of the circuit breaker.
#ifndef STAMPGATE_GATEWAY_ADMISSION_ADMISSION_METRICS_H_
#define STAMPGATE_GATEWAY_ADMISSION_ADMISSION_METRICS_H_

#include <prometheus/labels.h>

#include <array>
#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "gateway/admission/admission_refusal.h"
#include "gateway/admission/fair_queue.h"
#include "gateway/admission/retry_policy.h"
#include "gateway/metrics/by_value.h"
#include "gateway/metrics/late_gauge.h"
#include "gateway/metrics/registry.h"

namespace stampgate {

// The names of the values for metrics; empty for a number that is no value.
absl::string_view NameOf(CallClass call_class);
absl::string_view NameOf(AdmissionRefusal refusal);
absl::string_view NameOf(RetryCause cause);

// Thread-safe. The registry must outlive this.
class AdmissionMetrics {
  MetricRegistry& registry_;  // initializes the other members

 public:
  explicit AdmissionMetrics(MetricRegistry& registry) : registry_(registry) {}

  // The metrics of one class of calls.
  class OfClass {
    MetricRegistry& registry_;
    const prometheus::Labels labels_;

   public:
    OfClass(MetricRegistry& registry, CallClass call_class)
        : registry_(registry), labels_{{"class", std::string(NameOf(call_class))}} {}

    Counter& admitted =
        registry_.AddCounter("stampgate_admission_admitted_total",
                             "Calls that got a place within upstream's rates, with their retries.", labels_);
    ByValue<Counter, AdmissionRefusal> refused{
        registry_.AddCounters("stampgate_admission_refused_total",
                              "Calls that got no place within upstream's rates, by the reason."),
        "reason", labels_};
    Histogram& wait =
        registry_.AddDurations("stampgate_admission_wait_seconds",
                               "Time that admitted calls waited for a place within upstream's rates.", labels_);
    Gauge& waiting = registry_.AddGauge("stampgate_admission_waiting_calls",
                                        "Calls that wait for a place within upstream's rates.", labels_);
  };

  OfClass& operator[](CallClass call_class) { return classes_[static_cast<size_t>(call_class)]; }

  // Shown only if upstream as a whole has a rate.
  LateGauge upstream_rate{registry_.AddGauges(
      "stampgate_upstream_rate", "How many requests upstream's rates permit to this gateway now, in a second.")};
  // Shown only if anything limits calls.
  LateGauge slowed_operations{registry_.AddGauges(
      "stampgate_upstream_slowed_operations",
      "Operations that this gateway calls more slowly than configured, because upstream refused requests.")};

  ByValue<Counter, RetryCause> retries{
      registry_.AddCounters("stampgate_upstream_retries_total",
                            "Requests that were sent to upstream again, by the cause."),
      "cause"};
  ByValue<Counter, RetryCause> withheld_retries{
      registry_.AddCounters("stampgate_upstream_retries_withheld_total",
                            "Requests that were not sent again because too many others were, by the cause."),
      "cause"};

  // Whether the circuit breaker of a lane is open.
  Gauge& submit_breaker_open = AddBreaker("submit");
  Gauge& query_breaker_open = AddBreaker("query");

 private:
  Gauge& AddBreaker(const char* lane) {
    return registry_.AddGauge("stampgate_upstream_breaker_open",
                              "1 while the gateway sends only probes, because most requests of the lane failed.",
                              {{"lane", lane}});
  }

  std::array<OfClass, kCallClasses> classes_ = {OfClass(registry_, CallClass::kSubmit),
                                                OfClass(registry_, CallClass::kQuery),
                                                OfClass(registry_, CallClass::kBackground)};
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_ADMISSION_ADMISSION_METRICS_H_
