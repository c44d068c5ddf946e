#include "gateway/admission/retry_budget.h"

#include <gtest/gtest.h>

#include "gateway/admission/admission_metrics.h"
#include "gateway/metrics/registry.h"

namespace stampgate {
namespace {

constexpr absl::Time kStart = absl::FromUnixSeconds(1000);

class RetryBudgetTest : public ::testing::Test {
 protected:
  int TakeAll(absl::Time now) {
    int taken = 0;
    while (budget_.Take(RetryCause::kBroken, now)) ++taken;
    return taken;
  }

  MetricRegistry registry_;
  AdmissionMetrics metrics_{registry_};
  RetryBudget budget_{metrics_};
};

TEST_F(RetryBudgetTest, TenRetriesInTenSecondsAreAlwaysAllowed) {
  EXPECT_EQ(TakeAll(kStart), 10);
  EXPECT_EQ(TakeAll(kStart + absl::Seconds(9)), 0);
  EXPECT_EQ(TakeAll(kStart + absl::Seconds(10)), 10);
}

TEST_F(RetryBudgetTest, ATenthOfTheRequestsMayBeSentAgain) {
  for (int i = 0; i < 1000; ++i) budget_.CountRequest(kStart + absl::Milliseconds(i));
  EXPECT_EQ(TakeAll(kStart + absl::Seconds(1)), 100);
}

TEST_F(RetryBudgetTest, CountsEachResult) {
  TakeAll(kStart);
  EXPECT_EQ(metrics_.retries[RetryCause::kBroken].Value(), 10);
  EXPECT_EQ(metrics_.withheld_retries[RetryCause::kBroken].Value(), 1);
  EXPECT_EQ(metrics_.retries[RetryCause::kError].Value(), 0);
}

}  // namespace
}  // namespace stampgate
