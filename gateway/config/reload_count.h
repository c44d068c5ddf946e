// Counts the reloads of one kind of files.
#ifndef STAMPGATE_GATEWAY_CONFIG_RELOAD_COUNT_H_
#define STAMPGATE_GATEWAY_CONFIG_RELOAD_COUNT_H_

#include <string>
#include <utility>

#include "gateway/metrics/registry.h"

namespace stampgate {

// The series of a result is shown after the first reload with this result. Thread-safe. The registry must outlive this.
class ReloadCount {
 public:
  ReloadCount(MetricRegistry& registry, std::string what)
      : family_(
            registry.AddCounters("stampgate_reloads_total", "Reloads of changed configs and certificates, by result.")),
        what_(std::move(what)) {}

  void Count(bool ok) { family_.Add({{"what", what_}, {"result", ok ? "ok" : "failed"}}).Increment(); }

 private:
  Counters& family_;
  const std::string what_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_RELOAD_COUNT_H_
