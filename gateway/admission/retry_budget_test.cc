#include "gateway/admission/retry_budget.h"

#include <gtest/gtest.h>

namespace stampgate {
namespace {

constexpr absl::Time kStart = absl::FromUnixSeconds(1000);

int TakeAll(RetryBudget& budget, absl::Time now) {
  int taken = 0;
  while (budget.Take(RetryCause::kBroken, now)) ++taken;
  return taken;
}

TEST(RetryBudgetTest, TenRetriesInTenSecondsAreAlwaysAllowed) {
  RetryBudget budget;
  EXPECT_EQ(TakeAll(budget, kStart), 10);
  EXPECT_EQ(TakeAll(budget, kStart + absl::Seconds(9)), 0);
  EXPECT_EQ(TakeAll(budget, kStart + absl::Seconds(10)), 10);
}

TEST(RetryBudgetTest, ATenthOfTheRequestsMayBeSentAgain) {
  RetryBudget budget;
  for (int i = 0; i < 1000; ++i) budget.CountRequest(kStart + absl::Milliseconds(i));
  EXPECT_EQ(TakeAll(budget, kStart + absl::Seconds(1)), 100);
}

TEST(RetryBudgetTest, ObservesEachResult) {
  int allowed = 0;
  int refused = 0;
  RetryBudget budget([&](RetryCause cause, bool may) {
    EXPECT_EQ(cause, RetryCause::kBroken);
    ++(may ? allowed : refused);
  });
  TakeAll(budget, kStart);
  EXPECT_EQ(allowed, 10);
  EXPECT_EQ(refused, 1);
}

}  // namespace
}  // namespace stampgate
