#include "gateway/metrics/testing.h"

#include <prometheus/metric_family.h>
#include <prometheus/metric_type.h>

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace stampgate {
namespace {

absl::string_view TypeOf(prometheus::MetricType type) {
  if (type == prometheus::MetricType::Counter) return "counter";
  return type == prometheus::MetricType::Gauge ? "gauge" : "histogram";
}

}  // namespace

std::string ValueOf(MetricRegistry& registry, absl::string_view series) {
  const std::string text = registry.Render();
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::StartsWith(line, series) || line.substr(series.size(), 1) != " ") continue;
    return std::string(line.substr(series.size() + 1));
  }
  return "none";
}

std::vector<std::string> SeriesOf(MetricRegistry& registry) {
  std::vector<std::string> all;
  for (const prometheus::MetricFamily& family : registry.Collect()) {
    for (const prometheus::ClientMetric& metric : family.metric) {
      std::vector<std::string> labels;
      for (const auto& label : metric.label) labels.push_back(absl::StrCat(label.name, "=\"", label.value, "\""));
      std::sort(labels.begin(), labels.end());
      all.push_back(absl::StrCat(TypeOf(family.type), " ", family.name,
                                 labels.empty() ? "" : absl::StrCat("{", absl::StrJoin(labels, ","), "}")));
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace stampgate
