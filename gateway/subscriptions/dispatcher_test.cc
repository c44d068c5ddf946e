#include "gateway/subscriptions/dispatcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class DispatcherTest : public ::testing::Test {
 protected:
  Dispatcher::ConsumerId AddReceiving(size_t max_held) {
    const Dispatcher::ConsumerId id = dispatcher_.AddConsumer(max_held);
    dispatcher_.SetReceiving(id, true);
    return id;
  }

  void OfferToAny(const std::vector<Position>& positions) {
    for (const Position position : positions) dispatcher_.Offer(position, 0);
  }

  // Returns who gets which event in a round.
  std::vector<std::pair<Dispatcher::ConsumerId, Position>> Round(size_t max_each = 100, size_t in_a_row = 1) {
    std::vector<std::pair<Dispatcher::ConsumerId, Position>> turns;
    dispatcher_.BeginRound(max_each, in_a_row);
    while (const auto turn = dispatcher_.Next()) {
      turns.emplace_back(turn->consumer, turn->position);
      dispatcher_.Withdraw(turn->position, turn->consumer);
      dispatcher_.AddHeld(turn->consumer, 1);
    }
    dispatcher_.EndRound();
    return turns;
  }

  Dispatcher dispatcher_;
};

TEST_F(DispatcherTest, TheConsumerWithTheMostPlacesGetsTheNextEvent) {
  const auto small = AddReceiving(1);
  const auto large = AddReceiving(3);
  OfferToAny({1, 2, 3, 4, 5});
  EXPECT_THAT(Round(), ElementsAre(Pair(large, 1), Pair(large, 2), Pair(small, 3), Pair(large, 4)));
  EXPECT_TRUE(dispatcher_.HasFree()) << "nobody has a place for event 5";
}

TEST_F(DispatcherTest, ConsumersWithEquallyManyPlacesTakeTurns) {
  const auto first = AddReceiving(2);
  const auto second = AddReceiving(2);
  for (const Position position : {1, 3}) {
    for (const auto consumer : {first, second}) dispatcher_.SetReceiving(consumer, true);
    OfferToAny({position});
    EXPECT_THAT(Round(), ElementsAre(Pair(first, position)));
    dispatcher_.AddHeld(first, -1);
    for (const auto consumer : {first, second}) dispatcher_.SetReceiving(consumer, true);
    OfferToAny({position + 1});
    EXPECT_THAT(Round(), ElementsAre(Pair(second, position + 1)));
    dispatcher_.AddHeld(second, -1);
  }
}

TEST_F(DispatcherTest, AConsumerCanGetSeveralEventsInARow) {
  const auto first = AddReceiving(10);
  const auto second = AddReceiving(10);
  OfferToAny({1, 2, 3, 4, 5});
  EXPECT_THAT(Round(100, /*in_a_row=*/2),
              ElementsAre(Pair(first, 1), Pair(first, 2), Pair(second, 3), Pair(second, 4), Pair(first, 5)));
}

TEST_F(DispatcherTest, NoConsumerGetsMoreThanItsPartOfARound) {
  const auto consumer = AddReceiving(10);
  OfferToAny({1, 2, 3});
  EXPECT_THAT(Round(/*max_each=*/2), ElementsAre(Pair(consumer, 1), Pair(consumer, 2)));
  EXPECT_THAT(Round(), IsEmpty()) << "it does not receive until SetReceiving";
  dispatcher_.SetReceiving(consumer, true);
  EXPECT_THAT(Round(), ElementsAre(Pair(consumer, 3)));
}

TEST_F(DispatcherTest, AnEventThatIsOfferedToOneConsumerGoesToNoOther) {
  const auto small = AddReceiving(2);
  const auto large = AddReceiving(10);
  dispatcher_.Offer(1, small);
  EXPECT_THAT(Round(), ElementsAre(Pair(small, 1)));
  dispatcher_.Offer(2, small);
  EXPECT_THAT(Round(), IsEmpty()) << "it does not receive";
  dispatcher_.Withdraw(2, small);
  dispatcher_.SetReceiving(small, true);
  dispatcher_.SetReceiving(large, true);
  EXPECT_THAT(Round(), IsEmpty());
}

TEST_F(DispatcherTest, AConsumerGetsTheFirstOfTheEventsThatItCanGet) {
  const auto consumer = AddReceiving(10);
  dispatcher_.Offer(2, consumer);
  dispatcher_.Offer(4, consumer);
  OfferToAny({1, 3});
  EXPECT_THAT(Round(), ElementsAre(Pair(consumer, 1), Pair(consumer, 2), Pair(consumer, 3), Pair(consumer, 4)));
}

TEST_F(DispatcherTest, CountsThePlacesOfConsumersThatReceive) {
  EXPECT_EQ(dispatcher_.Places(100), 0);
  const auto first = AddReceiving(3);
  AddReceiving(4);
  dispatcher_.AddConsumer(5);
  EXPECT_EQ(dispatcher_.Places(100), 7);
  EXPECT_EQ(dispatcher_.Places(2), 2);
  dispatcher_.AddHeld(first, 9);
  EXPECT_EQ(dispatcher_.Places(100), 4) << "a consumer that has resumed can hold more than it has places";
  dispatcher_.AddHeld(first, -9);
  dispatcher_.RemoveConsumer(first);
  EXPECT_EQ(dispatcher_.Places(100), 4);
}

}  // namespace
}  // namespace stampgate
