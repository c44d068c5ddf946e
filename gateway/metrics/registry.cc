#include "gateway/metrics/registry.h"

#include <prometheus/text_serializer.h>

#include <utility>

namespace stampgate {
namespace {

const Histogram::BucketBoundaries& DurationBounds() {
  static const auto& bounds =
      *new Histogram::BucketBoundaries{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};
  return bounds;
}

}  // namespace

Counter& MetricRegistry::AddCounter(const char* name, const char* help, const prometheus::Labels& labels) {
  return AddCounters(name, help).Add(labels);
}

Gauge& MetricRegistry::AddGauge(const char* name, const char* help, const prometheus::Labels& labels) {
  return AddGauges(name, help).Add(labels);
}

Histogram& MetricRegistry::AddDurations(const char* name, const char* help, const prometheus::Labels& labels) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry_).Add(labels, DurationBounds());
}

Counters& MetricRegistry::AddCounters(const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry_);
}

Gauges& MetricRegistry::AddGauges(const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry_);
}

void MetricRegistry::BeforeCollect(std::function<void()> update) {
  const MutexLock lock(mutex_);
  updates_.push_back(std::move(update));
}

std::vector<prometheus::MetricFamily> MetricRegistry::Collect() {
  const MutexLock lock(mutex_);
  for (const std::function<void()>& update : updates_) update();
  return registry_.Collect();
}

std::string MetricRegistry::Render() {
  return prometheus::TextSerializer().prometheus::Serializer::Serialize(Collect());
}

}  // namespace stampgate
