// Counts what upstream sends beyond what the gateway's operations describe, which shows that upstream's API has
// changed.
#ifndef STAMPGATE_GATEWAY_PROCESS_UNRECOGNIZED_H_
#define STAMPGATE_GATEWAY_PROCESS_UNRECOGNIZED_H_

#include <initializer_list>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "base/threads/mutex.h"
#include "gateway/metrics/registry.h"

namespace stampgate {

enum class UnrecognizedKind {
  kValue,      // a response or an event has a value that no field can hold, such as a new member or enum value
  kEventType,  // an event has a type whose bodies the gateway does not decode
};

// Thread-safe. The registry must outlive this.
class UnrecognizedCounters {
 public:
  // Shows the series of the operations `shown` from the start, and each other series once it counts something.
  explicit UnrecognizedCounters(MetricRegistry& registry, std::initializer_list<const char*> shown = {});

  // Counts one response of `operation`, the full name of a method, or one event, whose `operation` is "events". Logs
  // the first one of each operation and kind, without what upstream sent. The caller bounds the number of operations.
  void Count(absl::string_view operation, UnrecognizedKind kind);

 private:
  Counter& Series(const std::string& operation, UnrecognizedKind kind);

  Counters& counters_;
  Mutex mutex_;
  absl::flat_hash_map<std::pair<std::string, UnrecognizedKind>, Counter*> counted_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_PROCESS_UNRECOGNIZED_H_
