#include "gateway/shares/rate_quotas.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "absl/time/clock.h"
#include "base/threads/current.h"
#include "gateway/shares/memory_quota_store.h"

namespace stampgate {
namespace {

const QuotaLimit kLimit{"a", absl::Hours(24), 1000};

// Forwards to a store that outlives it.
class Borrowed final : public QuotaStore {
 public:
  explicit Borrowed(QuotaStore& store) : store_(store) {}
  absl::StatusOr<QuotaBlock> Take(const QuotaLimit& limit, int64_t wanted) override {
    return store_.Take(limit, wanted);
  }
  absl::Status Return(const QuotaLimit& limit, int64_t part, int64_t calls) override {
    return store_.Return(limit, part, calls);
  }

 private:
  QuotaStore& store_;
};

TEST(RateQuotasTest, TakesBlocksOnItsThreadAndGivesBackTheRestAtTheEnd) {
  const std::unique_ptr<QuotaStore> memory = MakeMemoryQuotaStore([] { return absl::FromUnixSeconds(1'700'000'000); });
  std::atomic<int64_t> begun = 0;
  std::atomic<int64_t> waiting = 0;
  {
    RateQuotasOptions options;
    options.demand = [&] { return std::vector<QuotaDemand>{{kLimit, begun, waiting}}; };
    Current<const HeldQuotas> held(std::make_shared<HeldQuotas>());
    options.apply = [&](const std::shared_ptr<const HeldQuotas>& quotas) { held.Set(quotas); };
    options.now = [] { return absl::Now(); };
    options.interval = absl::Hours(1);
    RateQuotas quotas(std::make_unique<Borrowed>(*memory), std::move(options));
    const auto left = [&] { return held.Get()->Find("a", kLimit.window).Left(begun, absl::Now()); };
    const absl::Time until = absl::Now() + absl::Minutes(1);
    while (left() < 5 && absl::Now() < until) absl::SleepFor(absl::Milliseconds(1));
    EXPECT_EQ(left(), 5);
    begun += 5;
    waiting = 8;
    quotas.Wake();
    while (left() < 8 && absl::Now() < until) absl::SleepFor(absl::Milliseconds(1));
    EXPECT_EQ(left(), 8);
    begun += 1;
  }
  EXPECT_EQ(memory->Take({"a", kLimit.window, 7}, 100)->calls, 1) << "six calls have begun, and seven are allowed";
}

}  // namespace
}  // namespace stampgate
