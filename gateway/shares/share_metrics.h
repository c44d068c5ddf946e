// The metrics of the shares and quotas of upstream's rates.
#ifndef STAMPGATE_GATEWAY_SHARES_SHARE_METRICS_H_
#define STAMPGATE_GATEWAY_SHARES_SHARE_METRICS_H_

#include <cstdint>

#include "absl/time/time.h"
#include "gateway/metrics/late_gauge.h"
#include "gateway/metrics/registry.h"

namespace stampgate {

// Thread-safe. The registry must outlive this.
class ShareMetrics {
  MetricRegistry& registry_;  // initializes the other members

 public:
  explicit ShareMetrics(MetricRegistry& registry) : registry_(registry) {}

  // Sets how many calls of the quota of upstream with this window nobody has taken.
  void SetUnused(absl::Duration window, int64_t calls) {
    quota_unused_.Add({{"window", absl::FormatDuration(window)}}).Set(static_cast<double>(calls));
  }

  // Shown only if the config has rates.
  LateGauge share{
      registry_.AddGauges("stampgate_rate_share", "The part of upstream's rate that this gateway may use, up to 1.")};
  LateGauge replicas{registry_.AddGauges(
      "stampgate_rate_replicas", "Gateways that share upstream's rates, including this one; 0 if it does not know.")};
  LateGauge shares_failing{registry_.AddGauges("stampgate_rate_shares_failing",
                                               "1 while this gateway has no share of the rates from the store.")};
  // Shown only if the config has quotas and a store.
  LateGauge quotas_failing{
      registry_.AddGauges("stampgate_quotas_failing", "1 while no calls of quotas can be taken from the store.")};

 private:
  Gauges& quota_unused_ = registry_.AddGauges("stampgate_quota_unused_calls",
                                              "Calls of a quota of upstream that no gateway has taken yet.");
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SHARES_SHARE_METRICS_H_
