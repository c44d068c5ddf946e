#include "gateway/calls/caller_quota.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "translate/testing/status.h"

namespace stampgate {
namespace {

using testing::DetailsOf;
using ::testing::HasSubstr;
using testing::StatusIs;

CallerQuota::Options Most(size_t max, size_t max_per_caller) {
  return {.max = max,
          .max_per_caller = max_per_caller,
          .what = "things",
          .reason = v1::ERROR_REASON_TOO_MANY_CALLS,
          .retry_delay = absl::Seconds(3),
          .effect = "; nothing was done"};
}

std::string TextOf(const absl::Status& status) { return std::string(status.message()); }

TEST(CallerQuotaTest, RefusesMoreThanTheMaximumInAll) {
  CallerQuota quota(Most(2, 2));
  const absl::StatusOr<CallerShare> first = quota.TakeFor("a");
  std::optional<absl::StatusOr<CallerShare>> second = quota.TakeFor("b");
  ASSERT_TRUE(first.ok() && second->ok());
  for (int i = 0; i < 2; ++i) {
    const absl::Status refused = quota.TakeFor("c").status();
    EXPECT_THAT(refused, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("things")));
    EXPECT_EQ(TextOf(refused), "the gateway may have at most 2 things at the same time; nothing was done");
    EXPECT_EQ(DetailsOf(refused).reason, "TOO_MANY_CALLS");
    EXPECT_EQ(DetailsOf(refused).retry_delay, absl::Seconds(3));
  }
  EXPECT_EQ(quota.taken(), 2u);
  second.reset();
  EXPECT_EQ(quota.taken(), 1u);
  EXPECT_TRUE(quota.TakeFor("c").ok());
}

TEST(CallerQuotaTest, OneCallerAtItsMaximumLeavesTheRestToOthers) {
  CallerQuota quota(Most(3, 2));
  std::optional<absl::StatusOr<CallerShare>> first = quota.TakeFor("a");
  const absl::StatusOr<CallerShare> second = quota.TakeFor("a");
  const absl::Status refused = quota.TakeFor("a").status();
  EXPECT_EQ(TextOf(refused), "caller a may have at most 2 things at the same time; nothing was done");
  EXPECT_EQ(DetailsOf(refused).reason, "TOO_MANY_CALLS");
  EXPECT_EQ(quota.taken(), 2u) << "a refused caller must hold nothing";
  EXPECT_TRUE(quota.TakeFor("b").ok());
  first.reset();
  EXPECT_TRUE(quota.TakeFor("a").ok());
}

TEST(CallerQuotaTest, CountsAmounts) {
  CallerQuota quota(Most(100, 60));
  const absl::StatusOr<CallerShare> share = quota.TakeFor("a", 50);
  EXPECT_FALSE(quota.TakeFor("a", 11).ok());
  EXPECT_TRUE(quota.TakeFor("a", 10).ok());
  EXPECT_FALSE(quota.TakeFor("b", 51).ok());
  EXPECT_TRUE(quota.TakeFor("b", 50).ok());
  EXPECT_FALSE(quota.TakeFor("b", 101).ok());
  EXPECT_TRUE(quota.TakeFor("b", 0).ok());
  EXPECT_EQ(quota.taken(), 50u);
}

TEST(CallerQuotaTest, SharesOfNothingOutliveTheOtherSharesOfTheirCaller) {
  CallerQuota quota(Most(2, 2));
  const absl::StatusOr<CallerShare> nothing = quota.TakeFor("a", 0);
  std::optional<absl::StatusOr<CallerShare>> something = quota.TakeFor("a", 2);
  const absl::StatusOr<CallerShare> again = quota.TakeFor("a", 0);
  something.reset();
  EXPECT_EQ(quota.taken(), 0u);
}

TEST(CallerQuotaTest, AnAmountCountsForItsCallerAsSoonAsTheCallerIsKnown) {
  CallerQuota quota(Most(3, 1));
  absl::StatusOr<CallerShare> first = quota.Take();
  absl::StatusOr<CallerShare> second = quota.Take();
  EXPECT_EQ(quota.taken(), 2u);
  EXPECT_TRUE(first->SetCaller("a").ok());
  EXPECT_FALSE(second->SetCaller("a").ok());
  EXPECT_TRUE(second->SetCaller("b").ok());
  EXPECT_TRUE(second->SetCaller("a").ok()) << "the share counts for its first caller only";
  EXPECT_FALSE(quota.TakeFor("b").ok());
}

TEST(CallerQuotaTest, AMovedShareIsReturnedOnce) {
  CallerQuota quota(Most(3, 3));
  {
    absl::StatusOr<CallerShare> share = quota.TakeFor("a", 2);
    CallerShare moved = *std::move(share);
    EXPECT_EQ(quota.taken(), 2u);
    moved = *quota.TakeFor("b");
    EXPECT_EQ(quota.taken(), 1u);
  }
  EXPECT_EQ(quota.taken(), 0u);
}

TEST(CallerQuotaTest, ThreadsNeverHoldMoreThanTheMaximum) {
  static constexpr size_t kMax = 3;
  CallerQuota quota(Most(kMax, 2));
  std::vector<std::thread> threads;
  for (const std::string caller : {"a", "a", "b", "b"}) {
    threads.emplace_back([&quota, caller] {
      for (int i = 0; i < 20'000; ++i) {
        const absl::StatusOr<CallerShare> share = quota.TakeFor(caller);
        ASSERT_LE(quota.taken(), kMax);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(quota.taken(), 0u);
}

}  // namespace
}  // namespace stampgate
