// Copies a call store to another engine: the idempotency keys with their ages and outcomes, and the bound of the used
// timestamps.
#ifndef STAMPGATE_GATEWAY_STORE_CALL_COPY_H_
#define STAMPGATE_GATEWAY_STORE_CALL_COPY_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/disk/age_clock.h"
#include "gateway/store/call_row.h"

namespace stampgate {

// What a copy keeps besides the keys.
struct CallStoreOutline {
  AgeClock clock;  // by which the keys age
  // The age of `clock` when the store was restored or lost keys; negative if neither has ever happened.
  int64_t distrusted_age_us = -1;
  uint64_t timestamp_bound_ms = 0;  // all used timestamps are below
};

// A store to which nobody adds keys. Its functions block.
class CallSource {
 public:
  virtual ~CallSource() = default;

  virtual const CallStoreOutline& outline() const = 0;

  // Returns the next rows in the order of their ages, at most kCopiedRows. Returns none at the end. Errors: kDataLoss
  // if a row is damaged; those of the engine.
  virtual absl::StatusOr<std::vector<CallRow>> Next() = 0;
};

inline constexpr int kCopiedRows = 500;

// An empty store. Its functions block. No gateway can open the store until its creator allows this, after Finish has
// returned OK: see OpenCopiedCalls and OpenClaimedStore.
class CallTarget {
 public:
  virtual ~CallTarget() = default;

  virtual absl::Status Add(const std::vector<CallRow>& rows) = 0;
  virtual absl::Status Finish(const CallStoreOutline& outline) = 0;
};

// Copies the store. Returns the number of keys. Errors: those of the source and the target.
absl::StatusOr<int64_t> CopyCalls(CallSource& source, CallTarget& target);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_CALL_COPY_H_
