#include "gateway/telemetry/otlp_metrics.h"

#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace stampgate {
namespace {

// Returns the unit that the name of a metric states.
absl::string_view UnitOf(absl::string_view name) {
  absl::ConsumeSuffix(&name, "_total");
  if (absl::EndsWith(name, "_seconds")) return "s";
  if (absl::EndsWith(name, "_bytes")) return "By";
  return "";
}

// Makes the metric of one family.
class MetricMaker {
 public:
  MetricMaker(uint64_t start, uint64_t now) : start_(start), now_(now) {}

  void Fill(const prometheus::MetricFamily& family, otlp::Metric& metric) const {
    metric.set_name(family.name);
    metric.set_description(family.help);
    metric.set_unit(std::string(UnitOf(family.name)));
    for (const prometheus::ClientMetric& series : family.metric) {
      switch (family.type) {
        case prometheus::MetricType::Counter:
          metric.mutable_sum()->set_aggregation_temporality(otlp::AGGREGATION_TEMPORALITY_CUMULATIVE);
          metric.mutable_sum()->set_is_monotonic(true);
          FillSum(series, *metric.mutable_sum()->add_data_points());
          break;
        case prometheus::MetricType::Gauge:
          FillGauge(series, *metric.mutable_gauge()->add_data_points());
          break;
        case prometheus::MetricType::Histogram:
          metric.mutable_histogram()->set_aggregation_temporality(otlp::AGGREGATION_TEMPORALITY_CUMULATIVE);
          FillHistogram(series, *metric.mutable_histogram()->add_data_points());
          break;
        default:
          break;
      }
    }
  }

 private:
  template <typename Point>
  void FillPoint(const prometheus::ClientMetric& series, Point& point) const {
    point.set_time_unix_nano(now_);
    for (const prometheus::ClientMetric::Label& label : series.label) {
      AddAttribute(*point.mutable_attributes(), label.name, label.value);
    }
  }

  void FillGauge(const prometheus::ClientMetric& series, otlp::NumberDataPoint& point) const {
    FillPoint(series, point);
    point.set_as_double(series.gauge.value);
  }

  void FillSum(const prometheus::ClientMetric& series, otlp::NumberDataPoint& point) const {
    FillPoint(series, point);
    point.set_start_time_unix_nano(start_);
    point.set_as_double(series.counter.value);
  }

  void FillHistogram(const prometheus::ClientMetric& series, otlp::HistogramDataPoint& point) const {
    FillPoint(series, point);
    point.set_start_time_unix_nano(start_);
    point.set_count(series.histogram.sample_count);
    point.set_sum(series.histogram.sample_sum);
    // In Prometheus's form, each bucket also contains the values of the smaller buckets, and the last one has no bound.
    uint64_t smaller = 0;
    for (size_t i = 0; i < series.histogram.bucket.size(); ++i) {
      const prometheus::ClientMetric::Bucket& bucket = series.histogram.bucket[i];
      point.add_bucket_counts(bucket.cumulative_count - smaller);
      smaller = bucket.cumulative_count;
      if (i + 1 < series.histogram.bucket.size()) point.add_explicit_bounds(bucket.upper_bound);
    }
  }

  const uint64_t start_;
  const uint64_t now_;
};

}  // namespace

otlp::ExportMetricsServiceRequest ToOtlp(const std::vector<prometheus::MetricFamily>& families,
                                         const TelemetryResource& resource, absl::Time start, absl::Time now) {
  otlp::ExportMetricsServiceRequest request;
  otlp::ResourceMetrics& of_resource = *request.add_resource_metrics();
  *of_resource.mutable_resource() = ToOtlp(resource);
  otlp::ScopeMetrics& metrics = *of_resource.add_scope_metrics();
  *metrics.mutable_scope() = ScopeOf(resource);
  const MetricMaker maker(UnixNanos(start), UnixNanos(now));
  for (const prometheus::MetricFamily& family : families) {
    otlp::Metric metric;
    maker.Fill(family, metric);
    // A family without series has nothing to export.
    if (metric.data_case() != otlp::Metric::DATA_NOT_SET) *metrics.add_metrics() = std::move(metric);
  }
  return request;
}

}  // namespace stampgate
