// The metrics of the config in force.
#ifndef STAMPGATE_GATEWAY_CONFIG_CONFIG_METRICS_H_
#define STAMPGATE_GATEWAY_CONFIG_CONFIG_METRICS_H_

#include "gateway/config/reload_count.h"
#include "gateway/metrics/info.h"
#include "gateway/metrics/late_gauge.h"
#include "gateway/metrics/registry.h"

namespace stampgate {

// Thread-safe. The registry must outlive this.
class ConfigMetrics {
  MetricRegistry& registry_;  // initializes the other members

 public:
  explicit ConfigMetrics(MetricRegistry& registry) : registry_(registry) {}

  ReloadCount reloads{registry_, "config"};
  LateGauge taken{
      registry_.AddGauges("stampgate_config_last_reload_success_timestamp_seconds",
                          "When the current config was loaded, at the start or by a reload, in Unix time.")};
  LateGauge grants_without_their_file{registry_.AddGauges(
      "stampgate_grants_without_their_file",
      "Grants whose organizations are not those in their organizations_file, which cannot be used.")};
  Info policy{registry_, "stampgate_policy_info", "Version of the current policy.", "version"};
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_CONFIG_METRICS_H_
