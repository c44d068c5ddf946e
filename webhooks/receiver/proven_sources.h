// The sources from which valid deliveries have come.
#ifndef STAMPGATE_WEBHOOKS_RECEIVER_PROVEN_SOURCES_H_
#define STAMPGATE_WEBHOOKS_RECEIVER_PROVEN_SOURCES_H_

#include <chrono>
#include <cstddef>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "base/threads/mutex.h"

namespace stampgate {

// Thread-safe. A source is proven for kTime after its last valid delivery. Only upstream can make a source proven,
// because it alone can sign a delivery. At most kMost sources are proven; a further one replaces the one whose last
// valid delivery is the oldest.
class ProvenSources {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // A day, so that upstream's addresses stay proven although an organization has no events at night.
  static constexpr std::chrono::hours kTime{24};
  static constexpr size_t kMost = 1024;

  // Notes that a valid delivery has come from `source`.
  void Prove(absl::string_view source, Time now);

  bool Has(absl::string_view source, Time now) const;

 private:
  mutable Mutex mutex_;
  absl::flat_hash_map<std::string, Time> proven_ ABSL_GUARDED_BY(mutex_);  // when the last valid delivery came
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_RECEIVER_PROVEN_SOURCES_H_
