#include "gateway/shares/memory_quota_store.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

namespace stampgate {
namespace {

using Name = std::pair<std::string, absl::Duration>;
// The taken calls of each part.
using Parts = std::map<int64_t, int64_t>;

absl::Duration LengthOf(absl::Duration window) { return window / QuotaLimit::kParts; }

int64_t PartOf(absl::Time time, absl::Duration window) {
  return absl::ToUnixMicros(time) / absl::ToInt64Microseconds(LengthOf(window));
}

// take_quota in rates_v2.sql has the same rules.
class MemoryQuotaStore final : public QuotaStore {
 public:
  explicit MemoryQuotaStore(std::function<absl::Time()> now) : now_(std::move(now)) {}

  absl::StatusOr<QuotaBlock> Take(const QuotaLimit& limit, int64_t wanted) override {
    const absl::Time now = now_();
    for (auto quota = quotas_.begin(); quota != quotas_.end();) {
      Parts& parts = quota->second;
      parts.erase(parts.begin(), parts.lower_bound(PartOf(now, quota->first.second) - QuotaLimit::kParts));
      quota = parts.empty() ? quotas_.erase(quota) : std::next(quota);
    }
    Parts& parts = quotas_[{limit.quota, limit.window}];
    const int64_t part = std::max(PartOf(now, limit.window), parts.empty() ? 0 : parts.rbegin()->first);
    int64_t used = 0;
    int64_t oldest = part;
    for (auto each = parts.lower_bound(part - QuotaLimit::kParts); each != parts.end(); ++each) {
      if (used == 0 && each->second > 0) oldest = each->first;
      used += each->second;
    }
    const int64_t calls = std::max<int64_t>(std::min(wanted, (limit.calls - used + 7) / 8), 0);
    parts[part] += calls;
    const auto begin_of = [&](int64_t each) { return absl::UnixEpoch() + LengthOf(limit.window) * each; };
    QuotaBlock block;
    block.calls = calls;
    block.part = part;
    block.left = begin_of(part + 1) - now;
    block.used = used + calls;
    block.freed_in = begin_of(oldest + QuotaLimit::kParts + 1) - now;
    return block;
  }

  absl::Status Return(const QuotaLimit& limit, int64_t part, int64_t calls) override {
    const auto quota = quotas_.find({limit.quota, limit.window});
    if (quota == quotas_.end()) return absl::OkStatus();
    const auto taken = quota->second.find(part);
    if (taken != quota->second.end()) taken->second = std::max<int64_t>(taken->second - calls, 0);
    return absl::OkStatus();
  }

 private:
  const std::function<absl::Time()> now_;
  std::map<Name, Parts> quotas_;
};

}  // namespace

std::unique_ptr<QuotaStore> MakeMemoryQuotaStore(std::function<absl::Time()> now) {
  return std::make_unique<MemoryQuotaStore>(std::move(now));
}

}  // namespace stampgate
