// Counts the calls that all replicas have taken from quotas, which are limits in long windows, such as a day.
#ifndef STAMPGATE_GATEWAY_SHARES_QUOTA_STORE_H_
#define STAMPGATE_GATEWAY_SHARES_QUOTA_STORE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace stampgate {

// At most so many calls in each interval of this length, wherever it begins. A store counts by parts of the window, and
// a call of a part counts until the part has left the window. So a quota that is used evenly gives 1 % less than
// `calls` in a window.
struct QuotaLimit {
  static constexpr int64_t kParts = 96;

  std::string quota;  // the same at all replicas
  absl::Duration window = absl::Hours(24);
  int64_t calls = 0;
};

// Calls that a replica has taken, and may begin before the part of the window ends.
struct QuotaBlock {
  int64_t calls = 0;
  int64_t part = 0;     // the time of the part since 1970, by the clock of the store, divided by its length
  absl::Duration left;  // until the part ends
  int64_t used = 0;     // calls of the window that all replicas have taken, with those of this block
  // Until the oldest taken calls leave the window. If no call is left, none will be earlier, unless a replica gives
  // calls back.
  absl::Duration freed_in;
};

// One thread at a time may use a store. A call can wait for the disk, the network and a standby.
class QuotaStore {
 public:
  virtual ~QuotaStore() = default;

  // Takes `wanted` calls, or an eighth of the calls that are left if this is less, but at least one if any is left. If
  // this returns a block, the store does not forget that the calls are taken. After an error, they are perhaps taken,
  // and nobody may begin them.
  virtual absl::StatusOr<QuotaBlock> Take(const QuotaLimit& limit, int64_t wanted) = 0;

  // Gives back calls of a block that nobody has begun, and that nobody will begin.
  virtual absl::Status Return(const QuotaLimit& limit, int64_t part, int64_t calls) = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SHARES_QUOTA_STORE_H_
