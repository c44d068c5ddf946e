#include "gateway/admission/shared_rate.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace stampgate {
namespace {

// A caller with fewer recent calls has no demand.
constexpr double kFewest = 0.01;

// Without a call for so long, a rate keeps no share, and takes no further block of its quotas.
constexpr absl::Duration kUnused = absl::Minutes(1);

bool IsQuota(const RateLimit& limit) { return limit.per > RateWindow::kLongestPaced; }

std::vector<RateLimit> WindowsOf(std::vector<RateLimit> limits, bool has_quotas) {
  if (has_quotas) limits.erase(std::remove_if(limits.begin(), limits.end(), IsQuota), limits.end());
  return limits;
}

}  // namespace

SharedRate::SharedRate(std::string name, const std::vector<RateLimit>& limits, double share, bool has_quotas,
                       int64_t begun)
    : name_(std::move(name)), rate_(WindowsOf(limits, has_quotas)), begun_(begun) {
  if (share < 1) rate_.SetShare(share, absl::UnixEpoch());
  for (const RateLimit& limit : limits) {
    if (!has_quotas || !IsQuota(limit)) {
      const double per_second = static_cast<double>(limit.requests) / absl::ToDoubleSeconds(limit.per);
      if (per_second_ > 0 && per_second >= per_second_) continue;
      per_second_ = per_second;
      whole_calls_ = limit.requests;
      continue;
    }
    const int64_t calls = std::max<int64_t>(static_cast<int64_t>(static_cast<double>(limit.requests) * share), 1);
    const auto same = std::find_if(quotas_.begin(), quotas_.end(),
                                   [&](const Quota& quota) { return quota.limit.window == limit.per; });
    if (same == quotas_.end()) {
      quotas_.push_back({{name_, limit.per, calls}, {}});
    } else {
      same->limit.calls = std::min(same->limit.calls, calls);
    }
  }
}

absl::Time SharedRate::When(int64_t count, absl::Time now) {
  absl::Time when = rate_.When(count, now);
  if (!has_share_) when = std::min(when, now + kFirstShare);
  for (const Quota& quota : quotas_) when = std::max(when, WhenPermitted(quota, count, now));
  return when;
}

bool SharedRate::HasPlaces(int64_t count, absl::Time now) {
  return rate_.HasPlaces(count, now) && std::all_of(quotas_.begin(), quotas_.end(), [&](const Quota& quota) {
           return quota.block.Left(begun_, now) >= count;
         });
}

absl::Time SharedRate::WhenPermitted(const Quota& quota, int64_t count, absl::Time now) const {
  if (quota.block.Left(begun_, now) >= count) return now;
  if (now < quota.block.freed_at) return quota.block.freed_at;
  return now + (store_fails_ ? kStoreFails : kTake);
}

std::optional<RateLimit> SharedRate::Narrowest(int64_t count, absl::Time now) {
  std::optional<RateLimit> narrowest = rate_.Narrowest(count, now);
  absl::Time latest = rate_.When(count, now);
  for (const Quota& quota : quotas_) {
    const absl::Time when = WhenPermitted(quota, count, now);
    if (when <= latest) continue;
    latest = when;
    narrowest = RateLimit{quota.limit.calls, quota.limit.window};
  }
  return narrowest;
}

void SharedRate::Begin(absl::Time now, bool waited) {
  rate_.Begin(now, waited);
  ++begun_;
}

void SharedRate::Arrive(absl::string_view caller, double weight, absl::Time now) {
  used_at_ = now;
  auto found = callers_.find(caller);
  if (found == callers_.end()) found = callers_.try_emplace(std::string(caller)).first;
  found->second.arrivals.Add(now);
  found->second.weight = weight;
}

void SharedRate::Apply(const HeldShares& shares, absl::Time now) {
  rate_.SetShare(shares.Share(name_, now), now);
  has_share_ = !shares.InForce(now) || shares.rates.find(name_) != shares.rates.end();
}

void SharedRate::Apply(const HeldQuotas& quotas) {
  store_fails_ = quotas.is_failing;
  for (Quota& quota : quotas_) quota.block = quotas.Find(name_, quota.limit.window);
}

bool SharedRate::is_used(absl::Time now) const { return now < used_at_ + kUnused; }

bool SharedRate::LacksBlock(absl::Time now) const {
  return std::any_of(quotas_.begin(), quotas_.end(), [&](const Quota& quota) {
    return quota.block.Left(begun_, now) == 0 && now >= quota.block.freed_at;
  });
}

RateDemand SharedRate::DemandNow(const absl::flat_hash_map<absl::string_view, int64_t>& waiting, absl::Time now) {
  RateDemand demand{name_, {}, whole_calls_};
  absl::erase_if(callers_, [&](const auto& entry) {
    return entry.second.arrivals.At(now) < kFewest && !waiting.contains(entry.first);
  });
  for (const auto& [name, caller] : callers_) {
    const auto waits = waiting.find(name);
    const double calls = caller.arrivals.At(now) + (waits == waiting.end() ? 0.0 : static_cast<double>(waits->second));
    const double wanted = std::min(calls / per_second_, 1.0);
    demand.callers.push_back({name, std::max<int64_t>(std::llround(caller.weight), 1),
                              static_cast<Millionths>(wanted * static_cast<double>(kWhole))});
  }
  return demand;
}

void SharedRate::AddQuotaDemand(int64_t waiting, bool is_used, absl::Time now, std::vector<QuotaDemand>* demand) const {
  for (const Quota& quota : quotas_) {
    demand->push_back({quota.limit, begun_, LacksBlock(now) ? waiting : 0, is_used});
  }
}

}  // namespace stampgate
