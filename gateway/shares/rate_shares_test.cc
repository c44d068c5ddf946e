#include "gateway/shares/rate_shares.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "base/threads/mutex.h"
#include "gateway/shares/memory_share_store.h"

namespace stampgate {
namespace {

constexpr char kRate[] = "upstream";
const absl::Duration kHang = absl::Minutes(1);

// A store in memory that several threads use, which the test can make fail or hang.
class SharedMemory {
 public:
  std::unique_ptr<ShareStore> Connect() { return std::make_unique<Connection>(*this); }

  void Set(bool lost, bool hangs) {
    const MutexLock lock(mutex_);
    lost_ = lost;
    hangs_ = hangs;
    changed_.WakeAll();
  }

  bool IsEmpty() {
    const MutexLock lock(mutex_);
    return shares_.Sum(kRate) == 0 && shares_.Sum(kReserveRate) == 0;
  }

 private:
  class Connection final : public ShareStore {
   public:
    explicit Connection(SharedMemory& memory) : memory_(memory) {}
    absl::StatusOr<ShareAnswer> Renew(const ShareRenewal& renewal) override {
      MutexLock lock(memory_.mutex_);
      while (memory_.hangs_) memory_.changed_.Wait(memory_.mutex_);
      if (memory_.lost_) return absl::UnavailableError("lost");
      return memory_.shares_.Renew(renewal);
    }
    absl::Status Release(const std::string& replica) override {
      const MutexLock lock(memory_.mutex_);
      if (memory_.lost_) return absl::UnavailableError("lost");
      memory_.shares_.Release(replica);
      return absl::OkStatus();
    }

   private:
    SharedMemory& memory_;
  };

  Mutex mutex_;
  Condition changed_;
  MemoryShares shares_ ABSL_GUARDED_BY(mutex_);
  bool lost_ ABSL_GUARDED_BY(mutex_) = false;
  bool hangs_ ABSL_GUARDED_BY(mutex_) = false;
};

RateSharesOptions Wanting(const std::string& caller) {
  RateSharesOptions options;
  options.demand = [caller] { return std::vector<RateDemand>{{kRate, {{caller, 1, kWhole}}}}; };
  options.apply = [](const std::shared_ptr<const HeldShares>&, absl::Time) {};
  return options;
}

double ShareOf(const RateShares& shares) { return shares.held()->Share(kRate, shares.now()); }

template <typename Predicate>
bool Eventually(Predicate condition) {
  const absl::Time until = absl::Now() + kHang;
  while (!condition()) {
    if (absl::Now() > until) return false;
    absl::SleepFor(absl::Milliseconds(2));
  }
  return true;
}

TEST(RateSharesTest, TwoProcessesShareARateAndOneThatEndsFreesItsPart) {
  SharedMemory memory;
  RateShares first(memory.Connect(), Wanting("a"));
  EXPECT_TRUE(Eventually([&] { return ShareOf(first) == 1; }));
  {
    RateShares second(memory.Connect(), Wanting("b"));
    EXPECT_TRUE(Eventually([&] { return ShareOf(first) == 0.5 && ShareOf(second) == 0.5; }));
  }
  EXPECT_TRUE(Eventually([&] { return ShareOf(first) == 1; }));
}

TEST(RateSharesTest, TheEndOfTheObjectReleasesTheShares) {
  SharedMemory memory;
  auto shares = std::make_unique<RateShares>(memory.Connect(), Wanting("a"));
  EXPECT_TRUE(Eventually([&] { return !memory.IsEmpty(); }));
  shares = nullptr;
  EXPECT_TRUE(memory.IsEmpty());
}

// The thread of the renewals waits for the store, and cannot make the shares end.
TEST(RateSharesTest, SharesEndWhileTheStoreHangs) {
  SharedMemory memory;
  std::atomic<double> applied = 0;
  RateSharesOptions options = Wanting("a");
  options.apply = [&](const std::shared_ptr<const HeldShares>& shares, absl::Time now) {
    applied = shares->InForce(now) ? shares->Share(kRate, now) : -shares->Share(kRate, now);
  };
  RateShares first(memory.Connect(), std::move(options));
  RateShares second(memory.Connect(), Wanting("b"));
  EXPECT_TRUE(Eventually([&] { return ShareOf(first) == 0.5 && ShareOf(second) == 0.5; }));
  memory.Set(/*lost=*/false, /*hangs=*/true);
  EXPECT_TRUE(Eventually([&] { return !first.held()->InForce(first.now()); }));
  EXPECT_LE(ShareOf(first), 0.5);
  EXPECT_GT(ShareOf(first), 0.0);
  EXPECT_TRUE(Eventually([&] { return applied < 0; }));
  EXPECT_GE(applied, -0.5);
  memory.Set(/*lost=*/false, /*hangs=*/false);
  EXPECT_TRUE(Eventually([&] { return applied == 0.5; }));
  EXPECT_TRUE(Eventually([&] { return first.held()->InForce(first.now()); }));
}

TEST(RateSharesTest, ReportsWhetherTheStoreCanBeReached) {
  SharedMemory memory;
  memory.Set(/*lost=*/true, /*hangs=*/false);
  Mutex mutex;
  RateSharesState last;
  RateSharesOptions options = Wanting("a");
  options.observe = [&](const RateSharesState& state) {
    const MutexLock lock(mutex);
    last = state;
  };
  const auto is = [&](absl::StatusCode code, bool uses_fallback, int replicas) {
    const MutexLock lock(mutex);
    return last.last.code() == code && last.uses_fallback == uses_fallback && last.replicas == replicas;
  };
  RateShares shares(memory.Connect(), std::move(options));
  EXPECT_TRUE(Eventually([&] { return is(absl::StatusCode::kUnavailable, true, 0); }));
  memory.Set(/*lost=*/false, /*hangs=*/false);
  EXPECT_TRUE(Eventually([&] { return is(absl::StatusCode::kOk, false, 1); }));
  memory.Set(/*lost=*/true, /*hangs=*/false);
  EXPECT_TRUE(Eventually([&] { return is(absl::StatusCode::kUnavailable, true, 1); }));
}

}  // namespace
}  // namespace stampgate
