// One of upstream's rates as this process uses it: its share of the rate, its calls of the rate's quotas, and the
// demand.
#ifndef STAMPGATE_GATEWAY_ADMISSION_SHARED_RATE_H_
#define STAMPGATE_GATEWAY_ADMISSION_SHARED_RATE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gateway/admission/rate.h"
#include "gateway/admission/rate_window.h"
#include "gateway/admission/recent_count.h"
#include "gateway/shares/held_shares.h"
#include "gateway/shares/quota_blocks.h"
#include "gateway/shares/rate_demand.h"

namespace stampgate {

// Not thread-safe. See Rate for the functions with the same names.
//
// If quotas are counted elsewhere, a window that is longer than RateWindow::kLongestPaced is a quota: a call begins
// only if this process holds a call of the quota. A call that has begun counts, also if it sends nothing afterwards,
// because its part of the quota's window can have ended meanwhile.
class SharedRate {
 public:
  // How soon a process usually gets the next block of a quota, and how long a call should not be repeated while the
  // store of quotas cannot be used.
  static constexpr absl::Duration kTake = absl::Milliseconds(50);
  static constexpr absl::Duration kStoreFails = absl::Seconds(1);

  // How soon a process usually gets its share of a rate that it has not used lately.
  static constexpr absl::Duration kFirstShare = absl::Milliseconds(250);

  // `name` is the same in all processes that share the rate. `share` is the part of each limit that this process may
  // use. `begun` is at least the number of calls that an earlier object for this rate has begun.
  SharedRate(std::string name, const std::vector<RateLimit>& limits, double share, bool has_quotas, int64_t begun);

  absl::Time When(int64_t count, absl::Time now);
  // See RateWindow. Whether all windows and quotas have the places.
  bool HasPlaces(int64_t count, absl::Time now);
  // Returns the limit of the window or the quota that `count` further calls wait for longest; nothing if they need not
  // wait, or wait longer for the end of a pause.
  std::optional<RateLimit> Narrowest(int64_t count, absl::Time now);
  void Begin(absl::Time now, bool waited);
  void Sent(absl::Time now) { rate_.Sent(now); }
  void Withdraw() { rate_.Withdraw(); }
  void Refused(absl::Time now, std::optional<absl::Duration> retry_after) { rate_.Refused(now, retry_after); }
  void Remaining(int64_t limit, int64_t remaining, absl::Time now) { rate_.Remaining(limit, remaining, now); }
  double PerSecond(absl::Time now) { return rate_.PerSecond(now); }
  bool IsEmpty(absl::Time now) { return rate_.IsEmpty(now); }
  bool is_slowed(absl::Time now) const { return rate_.is_slowed(now); }
  bool has_windows() const { return rate_.has_windows() || !quotas_.empty(); }
  bool is_shared() const { return per_second_ > 0; }
  // Whether a call has arrived in the last minute.
  bool is_used(absl::Time now) const;
  const std::string& name() const { return name_; }

  // Counts a call that arrives, also one that will be refused.
  void Arrive(absl::string_view caller, double weight, absl::Time now);

  // Uses the shares from now on.
  void Apply(const HeldShares& shares, absl::Time now);
  // Begins only the calls of these blocks from now on.
  void Apply(const HeldQuotas& quotas);
  // Whether a call waits only for the next block of a quota.
  bool LacksBlock(absl::Time now) const;

  // Returns the demand of the callers. `waiting` contains the number of waiting calls of each caller.
  RateDemand DemandNow(const absl::flat_hash_map<absl::string_view, int64_t>& waiting, absl::Time now);
  // Adds the use of each quota. If `is_used`, this process keeps a block for the next call.
  void AddQuotaDemand(int64_t waiting, bool is_used, absl::Time now, std::vector<QuotaDemand>* demand) const;

 private:
  struct Caller {
    RecentCount arrivals;
    double weight = 1;
  };

  struct Quota {
    QuotaLimit limit;
    HeldQuotas::Block block;
  };

  // Returns when the quota permits `count` further calls.
  absl::Time WhenPermitted(const Quota& quota, int64_t count, absl::Time now) const;

  const std::string name_;
  Rate rate_;
  bool has_share_ = true;    // false if the shares do not name this rate yet
  double per_second_ = 0;    // what the limits allow to all processes; 0 if no share of them is used
  int64_t whole_calls_ = 0;  // the requests of the limit that allows so few
  std::vector<Quota> quotas_;
  int64_t begun_;
  bool store_fails_ = false;
  absl::Time used_at_ = absl::InfinitePast();
  absl::flat_hash_map<std::string, Caller> callers_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_ADMISSION_SHARED_RATE_H_
