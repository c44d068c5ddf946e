// The registry in which each room registers its metrics.
//
// A room declares its metrics in a class of its own, beside the code that counts. No label contains a text that a
// caller has sent, or the name of a caller, an organization or an activity. So the program bounds the number of series.
#ifndef STAMPGATE_GATEWAY_METRICS_REGISTRY_H_
#define STAMPGATE_GATEWAY_METRICS_REGISTRY_H_

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/labels.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

#include <functional>
#include <string>
#include <vector>

#include "base/threads/mutex.h"

namespace stampgate {

// All functions of these three are thread-safe, and those that change a value never block.
using Counter = prometheus::Counter;
using Gauge = prometheus::Gauge;
using Histogram = prometheus::Histogram;

// A family has one name, and one series for each set of labels.
using Counters = prometheus::Family<Counter>;
using Gauges = prometheus::Family<Gauge>;

// Owns the metrics, and collects them. Thread-safe. All references that it returns are valid as long as it is. It
// returns the same metric again for the same name and labels, so several rooms can have series of one family; they must
// then state the same help.
class MetricRegistry {
 public:
  MetricRegistry() = default;

  MetricRegistry(const MetricRegistry&) = delete;
  MetricRegistry& operator=(const MetricRegistry&) = delete;

  // The next three functions add a series, which is shown from now on.
  Counter& AddCounter(const char* name, const char* help, const prometheus::Labels& labels = {});
  Gauge& AddGauge(const char* name, const char* help, const prometheus::Labels& labels = {});
  // Adds a histogram of times in seconds. Its smallest bounds are for calls that the gateway itself refuses, and its
  // largest bounds are for upstream's slowest responses.
  Histogram& AddDurations(const char* name, const char* help, const prometheus::Labels& labels = {});

  // The next two functions add a family, which is shown when it has a series.
  Counters& AddCounters(const char* name, const char* help);
  Gauges& AddGauges(const char* name, const char* help);

  // Collect and Render call `update` first, which sets metrics whose values other code knows. It must not use the
  // registry, and must not block. What it uses must outlive the last call of Collect and Render.
  void BeforeCollect(std::function<void()> update);

  // While a thread holds it, no call of Collect and Render reads metrics.
  Mutex& mutex() ABSL_LOCK_RETURNED(mutex_) { return mutex_; }

  // Returns all metrics.
  std::vector<prometheus::MetricFamily> Collect();
  // Returns all metrics, in Prometheus's text format 0.0.4.
  std::string Render();
  static constexpr char kContentType[] = "text/plain; version=0.0.4; charset=utf-8";

 private:
  prometheus::Registry registry_;
  Mutex mutex_;
  std::vector<std::function<void()>> updates_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_METRICS_REGISTRY_H_
