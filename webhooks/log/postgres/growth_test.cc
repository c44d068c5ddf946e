#include "webhooks/log/postgres/growth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace stampgate {
namespace {

using ::testing::ElementsAre;

LogPoint At(Position position, uint8_t history = 1) {
  LogPoint point = {position, {}};
  point.digest[0] = history;
  return point;
}

class LogGrowthTest : public ::testing::Test {
 protected:
  LogGrowthTest() {
    growth_.SetOnGrowth([this](Position latest) { reported_.push_back(latest); });
  }

  LogGrowth growth_{At(3)};
  std::vector<Position> reported_;
};

TEST_F(LogGrowthTest, ReportsOnlyGrowth) {
  growth_.Grow(At(5));
  growth_.Grow(At(5));
  growth_.Grow(At(4));  // an older report of another thread
  growth_.Grow(At(6));
  EXPECT_THAT(reported_, ElementsAre(5, 6));
  EXPECT_EQ(growth_.end().position, 6);
}

TEST_F(LogGrowthTest, ReportsTheEndOfALogThatLostEvents) {
  EXPECT_TRUE(growth_.TakeBack(At(3), At(1)));
  EXPECT_THAT(reported_, ElementsAre(1));
  growth_.Grow(At(2, 2));
  EXPECT_THAT(reported_, ElementsAre(1, 2));
  EXPECT_EQ(growth_.end().digest, At(2, 2).digest);
}

TEST_F(LogGrowthTest, ReportsALossOnce) {
  EXPECT_TRUE(growth_.TakeBack(At(3), At(3, 2)));
  EXPECT_FALSE(growth_.TakeBack(At(3), At(3, 2))) << "the log is known to end at another event";
  EXPECT_THAT(reported_, ElementsAre(2, 3)) << "an earlier position shows that the log has lost events";
}

TEST_F(LogGrowthTest, IgnoresALossThatWasFoundBeforeTheLogGrew) {
  growth_.Grow(At(4));
  EXPECT_FALSE(growth_.TakeBack(At(3), At(1)));
  EXPECT_EQ(growth_.end().position, 4);
}

TEST(LogGrowthWithoutObserverTest, KeepsTheEnd) {
  LogGrowth growth(At(0));
  growth.Grow(At(2));
  EXPECT_EQ(growth.end().position, 2);
}

// Another gateway stores an event while this one starts.
TEST(LogGrowthWithoutObserverTest, ReportsLaterWhatChanged) {
  LogGrowth growth(At(0));
  growth.Grow(At(2));
  std::vector<Position> reported;
  growth.SetOnGrowth([&reported](Position latest) { reported.push_back(latest); });
  EXPECT_THAT(reported, ElementsAre(2));
}

}  // namespace
}  // namespace stampgate
