// Tests a subscription whose events are damaged, lost or deleted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "gateway/subscriptions/served_subscription_testing.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(ServedSubscriptionTest, ASettleDoesNotWaitForAConsumerIfEventsAreMissingAfterAStart) {
  log_.Grow(4);
  const auto batch = Take(Join(10), 4);
  Stop();
  log_.Trim(3);
  Start();
  const absl::Status status = Settle({batch.back().id}).Wait().status();
  EXPECT_EQ(testing::DetailsOf(status).reason, "EVENT_LOG_UNAVAILABLE");
  const auto consumer = Join(10);
  EXPECT_EQ(Next(consumer).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(*Settle({batch.back().id}).Wait(), IsEmpty());
  subscription_->Leave(consumer, true);
}

TEST_F(ServedSubscriptionTest, OneConsumerHearsOnceOfEventsThatRetentionHasDeleted) {
  Stop();
  log_.Grow(9);
  log_.Trim(6);
  Start();
  const auto first = Join(10);
  const absl::Status status = Next(first).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(status.message(), HasSubstr("events from 1 to 5"));
  EXPECT_THAT(PositionsOf(Take(first, 4)), ElementsAre(6, 7, 8, 9));
  ASSERT_THAT(lost_, SizeIs(1));
  EXPECT_EQ(lost_.front().last, 5);
  EXPECT_EQ(lost_count_, 5);
  subscription_->Leave(first, true);
}

TEST_F(ServedSubscriptionTest, PassesADamagedEvent) {
  log_.Damage(2);
  log_.Grow(3);
  const auto consumer = Join(10);
  EXPECT_THAT(PositionsOf(Next(consumer)), ElementsAre(1));
  EXPECT_EQ(Next(consumer).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(PositionsOf(Take(consumer, 1)), ElementsAre(3));
  subscription_->Leave(consumer, true);
}

TEST_F(ServedSubscriptionTest, PassesADamagedEventAfterEventsThatDoNotPassTheFilter) {
  settings_.filter = std::make_shared<EventFilter>(EventFilter{.types = {"odd"}});
  subscription_->Use(settings_);
  log_.Damage(4);
  log_.Grow(5);
  const auto consumer = Join(10);
  std::vector<Position> seen;
  int missing = 0;
  while (seen.size() < 3) {
    const auto batch = Next(consumer);
    if (!batch.ok()) ++missing;
    if (!batch.ok()) continue;
    for (const Position position : PositionsOf(batch)) seen.push_back(position);
    EXPECT_TRUE(Settle(IdsOf(*batch)).Wait().ok());
  }
  EXPECT_THAT(seen, ElementsAre(1, 3, 5));
  EXPECT_EQ(missing, 1) << "it is not known whether the damaged event passes the filter";
  subscription_->Leave(consumer, true);
}

TEST_F(ServedSubscriptionTest, EachReportOfMissingEventsReachesAConsumer) {
  log_.Grow(2);
  const auto consumer = Join(10);
  EXPECT_TRUE(Settle(IdsOf(Take(consumer, 2)), SettleOutcome::kPark).Wait().ok());
  ComingBatch next = Ask(consumer);
  subscription_->OnTrimmed({.earliest = 2, .latest = 2});
  EXPECT_THAT(next.Wait().status().message(), HasSubstr("event 1 "));
  subscription_->OnTrimmed({.earliest = 3, .latest = 2});
  EXPECT_THAT(lost_, SizeIs(1)) << "no consumer can receive a report now";
  ComingBatch later = Ask(consumer);
  subscription_->OnTrimmed({.earliest = 3, .latest = 2});
  EXPECT_THAT(later.Wait().status().message(), HasSubstr("event 2 "));
  subscription_->Leave(consumer, true);
}

TEST_F(ServedSubscriptionTest, AReportOfMissingEventsOutlivesARestartIfThereIsNoConsumer) {
  log_.Grow(9);
  log_.Trim(6);
  subscription_->OnTrimmed({.earliest = 6, .latest = 9});
  Stop();
  Start();
  subscription_->OnTrimmed({.earliest = 6, .latest = 9});
  EXPECT_THAT(lost_, IsEmpty());
  const auto consumer = Join(10);
  ComingBatch next = Ask(consumer);
  subscription_->OnTrimmed({.earliest = 6, .latest = 9});
  EXPECT_THAT(next.Wait().status().message(), HasSubstr("events from 1 to 5"));
  subscription_->Leave(consumer, true);
}

TEST_F(ServedSubscriptionTest, ForgetsHeldAndParkedEventsThatRetentionHasDeleted) {
  log_.Grow(4);
  const auto consumer = Join(10);
  const auto batch = Take(consumer, 4);
  EXPECT_TRUE(Settle({batch.front().id}, SettleOutcome::kPark).Wait().ok());
  log_.Trim(3);
  ComingBatch next = Ask(consumer);
  subscription_->OnTrimmed({.earliest = 3, .latest = 4});
  EXPECT_EQ(next.Wait().status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(*subscription_->Parked(0, 10), IsEmpty());
  EXPECT_EQ(subscription_->state().all.held, 2);
  subscription_->OnTrimmed({.earliest = 3, .latest = 4});
  EXPECT_THAT(lost_, SizeIs(1)) << "it reports them once";
  EXPECT_EQ(lost_count_, 2);
  subscription_->Leave(consumer, true);
}

TEST_F(ServedSubscriptionTest, ReportsOnceThatRetentionWillDeleteItsEvents) {
  subscription_->OnTrimmed({.earliest = 1, .latest = 100});
  EXPECT_EQ(near_retention_, 0) << "retention has deleted nothing yet";
  log_.Grow(100);
  const auto consumer = Join(10);
  const auto batch = Take(consumer, 4);
  EXPECT_TRUE(Settle(IdsOf(batch)).Wait().ok());
  for (int i = 0; i < 2; ++i) subscription_->OnTrimmed({.earliest = 2, .latest = 100});
  EXPECT_EQ(near_retention_, 1);
  subscription_->Leave(consumer, true);
}

TEST_F(ServedSubscriptionTest, RetentionIsNearToAParkedEventToo) {
  log_.Grow(3);
  const auto consumer = Join(10);
  auto batch = Take(consumer, 3);
  EXPECT_TRUE(Settle({batch.back().id}, SettleOutcome::kPark).Wait().ok());
  batch.pop_back();
  EXPECT_TRUE(Settle(IdsOf(batch)).Wait().ok());
  EXPECT_EQ(subscription_->state().all.through, 3);
  subscription_->OnTrimmed({.earliest = 2, .latest = 100});
  EXPECT_EQ(near_retention_, 1);
  subscription_->Leave(consumer, true);
}

}  // namespace
}  // namespace stampgate
