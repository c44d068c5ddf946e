// Limits what callers can hold at the same time: in all, and for each caller.
#ifndef STAMPGATE_GATEWAY_CALLS_CALLER_QUOTA_H_
#define STAMPGATE_GATEWAY_CALLS_CALLER_QUOTA_H_

#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/threads/mutex.h"
#include "stampgate/v1/error_reason.pb.h"

namespace stampgate {

class CallerShare;

// Counts amounts, such as calls, streams or bytes. Thread-safe. Must outlive every CallerShare that it has returned.
class CallerQuota {
 public:
  struct Options {
    size_t max = std::numeric_limits<size_t>::max();  // in all
    size_t max_per_caller = std::numeric_limits<size_t>::max();
    std::string what;  // the things that are counted, such as "subscriptions", for errors
    v1::ErrorReason reason = v1::ERROR_REASON_UNSPECIFIED;
    absl::Duration retry_delay;
    std::string effect = {};  // what a refused call did, such as "; nothing was sent upstream", for errors
  };

  explicit CallerQuota(Options options) : options_(std::move(options)) {}

  CallerQuota(const CallerQuota&) = delete;
  CallerQuota& operator=(const CallerQuota&) = delete;

  // Takes `amount` for a caller that is not known yet. Errors: RESOURCE_EXHAUSTED with the reason and the delay of the
  // options if the callers would then hold more than `max`.
  absl::StatusOr<CallerShare> Take(size_t amount = 1);

  // Takes `amount` for `caller`. Errors: those of Take and of CallerShare::SetCaller.
  absl::StatusOr<CallerShare> TakeFor(absl::string_view caller, size_t amount = 1);

  // Returns the amount that all callers hold.
  size_t taken() const;

 private:
  friend class CallerShare;
  using Callers = std::map<std::string, size_t, std::less<>>;

  absl::Status Refusal(absl::string_view holder, size_t max) const;

  const Options options_;
  mutable Mutex mutex_;
  size_t taken_ ABSL_GUARDED_BY(mutex_) = 0;
  Callers callers_ ABSL_GUARDED_BY(mutex_);  // the amount of each caller that holds anything
};

// An amount that was taken from a quota. The quota gets it back when the share is destroyed. Not thread-safe.
class CallerShare {
 public:
  CallerShare(CallerShare&& other) noexcept;
  CallerShare& operator=(CallerShare&& other) noexcept;
  ~CallerShare();

  // Counts the amount for `caller` too. Does nothing if it already counts for a caller. Errors: RESOURCE_EXHAUSTED with
  // the reason and the delay of the options if the caller would then hold more than `max_per_caller`.
  absl::Status SetCaller(absl::string_view caller);

 private:
  friend class CallerQuota;

  CallerShare(CallerQuota& quota, size_t amount) : quota_(&quota), amount_(amount) {}

  CallerQuota* quota_;  // null after the share was moved
  size_t amount_;
  std::optional<CallerQuota::Callers::iterator> caller_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLS_CALLER_QUOTA_H_
