// A metric that shows a text.
#ifndef STAMPGATE_GATEWAY_METRICS_INFO_H_
#define STAMPGATE_GATEWAY_METRICS_INFO_H_

#include <string>
#include <utility>

#include "base/threads/mutex.h"
#include "gateway/metrics/registry.h"

namespace stampgate {

// A gauge that has the value 1 and shows the text in a label. It is shown when it has its first text. No collection
// shows two texts. Thread-safe. The registry must outlive this.
class Info {
 public:
  Info(MetricRegistry& registry, const char* name, const char* help, std::string label)
      : registry_(registry), family_(registry.AddGauges(name, help)), label_(std::move(label)) {}

  Info(const Info&) = delete;
  Info& operator=(const Info&) = delete;

  void Set(const std::string& text) {
    const MutexLock lock(registry_.mutex());
    Gauge& gauge = family_.Add({{label_, text}});
    gauge.Set(1);
    if (gauge_ != nullptr && gauge_ != &gauge) family_.Remove(gauge_);
    gauge_ = &gauge;
  }

 private:
  MetricRegistry& registry_;
  Gauges& family_;
  const std::string label_;
  Gauge* gauge_ ABSL_GUARDED_BY(registry_.mutex()) = nullptr;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_METRICS_INFO_H_
