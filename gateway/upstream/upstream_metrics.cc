#include "gateway/upstream/upstream_metrics.h"

namespace stampgate {

absl::string_view NameOf(UpstreamLane lane) {
  switch (lane) {
    case UpstreamLane::kSubmit:
      return "submit";
    case UpstreamLane::kQuery:
      return "query";
    case UpstreamLane::kKeySet:
      return "key_set";
  }
  return "";
}

UpstreamMetrics::UpstreamMetrics(MetricRegistry& registry) : registry_(registry) {
  registry.BeforeCollect([this] {
    const std::chrono::duration<double> age = std::chrono::steady_clock::now() - oldest_detached_.load();
    oldest_detached_age_.Set(detached.Value() > 0 ? age.count() : 0);
  });
}

}  // namespace stampgate
