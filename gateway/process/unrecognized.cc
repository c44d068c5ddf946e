#include "gateway/process/unrecognized.h"

#include "gateway/process/log.h"

namespace stampgate {
namespace {

const char* NameOf(UnrecognizedKind kind) { return kind == UnrecognizedKind::kValue ? "value" : "event_type"; }

}  // namespace

UnrecognizedCounters::UnrecognizedCounters(MetricRegistry& registry, std::initializer_list<const char*> shown)
    : counters_(registry.AddCounters(
          "stampgate_unrecognized_total",
          "Responses and events of upstream with something that the gateway's operations do not describe, by kind.")) {
  for (const char* operation : shown) {
    for (const auto kind : {UnrecognizedKind::kValue, UnrecognizedKind::kEventType}) Series(operation, kind);
  }
}

Counter& UnrecognizedCounters::Series(const std::string& operation, UnrecognizedKind kind) {
  return counters_.Add({{"operation", operation}, {"kind", NameOf(kind)}});
}

void UnrecognizedCounters::Count(absl::string_view operation, UnrecognizedKind kind) {
  const std::string name(operation);
  MutexLock lock(mutex_);
  Counter*& counter = counted_[{name, kind}];
  if (counter == nullptr) {
    counter = &Series(name, kind);
    Log(Severity::kWarning, "unrecognized",
        {{"operation", name},
         {"kind", NameOf(kind)},
         {"message",
          "upstream has sent something that the gateway's operations do not describe; callers find values in the "
          "field `unrecognized`"}});
  }
  counter->Increment();
}

}  // namespace stampgate
