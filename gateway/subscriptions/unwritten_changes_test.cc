#include "gateway/subscriptions/unwritten_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

SubscriptionRow Done(Position position) { return {.position = position, .mark = EventMark::kDone}; }

TEST(UnwrittenChangesTest, GathersWhileAWriteIsInProgress) {
  UnwrittenChanges changes;
  EXPECT_FALSE(changes.CanTake());
  EXPECT_EQ(changes.last(), 0) << "there is nothing for which to wait";
  changes.Put(Done(7));
  EXPECT_EQ(changes.last(), 1);
  EXPECT_THAT(changes.Take("s").put, SizeIs(1));
  changes.SetHead(HeadAt(8));
  EXPECT_FALSE(changes.CanTake()) << "one write at a time";
  EXPECT_EQ(changes.last(), 2);
  changes.Finish(true);
  EXPECT_EQ(changes.written(), 1);
  EXPECT_EQ(changes.Take("s").head, HeadAt(8));
}

TEST(UnwrittenChangesTest, ARowThatComesAndGoesBetweenTwoWritesCostsNothing) {
  UnwrittenChanges changes;
  changes.AddStored(Done(3));
  changes.Put(Done(7));
  changes.Erase(7);
  EXPECT_FALSE(changes.CanTake());
  changes.Erase(3);
  EXPECT_THAT(changes.Take("s").erase, ElementsAre(3)) << "the store has this row";
}

TEST(UnwrittenChangesTest, ALaterWriteContainsWhatFailed) {
  UnwrittenChanges changes;
  changes.SetHead(HeadAt(1));
  changes.Put(Done(7));
  changes.Put(Done(8));
  changes.PutLagging("a", 1);
  changes.PutLagging("b", 1);
  changes.Take("s");
  changes.Erase(8);
  changes.PutLagging("a", 2);
  changes.EraseLagging("b");
  changes.Finish(false);
  EXPECT_EQ(changes.written(), 0);
  const SubscriptionChange change = changes.Take("s");
  EXPECT_EQ(change.head, HeadAt(1));
  ASSERT_THAT(change.put, SizeIs(1));
  EXPECT_EQ(change.put[0].position, 7);
  EXPECT_THAT(change.erase, ElementsAre(8)) << "the write that failed may have taken effect";
  EXPECT_THAT(change.put_lagging, ElementsAre(::testing::Pair("a", 2)));
  EXPECT_THAT(change.erase_lagging, ElementsAre("b"));
  changes.Finish(true);
  EXPECT_EQ(changes.written(), 2);
}

TEST(UnwrittenChangesTest, ARowIsErasedAlsoIfItComesAndGoesAfterAFailedErase) {
  UnwrittenChanges changes;
  changes.AddStored(Done(1));
  changes.Erase(1);
  changes.Take("s");
  changes.Finish(false);
  changes.Put(Done(1));
  changes.Erase(1);
  EXPECT_THAT(changes.Take("s").erase, ElementsAre(1));
  changes.Finish(true);
  changes.Put(Done(1));
  changes.Erase(1);
  EXPECT_FALSE(changes.CanTake());
}

TEST(UnwrittenChangesTest, APartitionIsForgottenAlsoIfItsWriteFailsLater) {
  UnwrittenChanges changes;
  changes.AddStored({.position = 1, .partition = 4});
  changes.AddStored({.position = 2, .partition = 5});
  changes.Put({.position = 3, .partition = 4});
  changes.PutLagging("=a", 1);  // of partition 4
  changes.Answer(71, 4, "settled");
  changes.Take("s");
  EXPECT_TRUE(changes.HasAnswer(71));
  changes.Erase(1);
  changes.Erase(2);
  changes.Put({.position = 4, .partition = 5});
  changes.Answer(72, 5, "settled");
  changes.Forget(4);
  EXPECT_FALSE(changes.HasAnswer(71));
  changes.Finish(false);
  const SubscriptionChange change = changes.Take("s");
  EXPECT_THAT(change.erase, ElementsAre(2));
  ASSERT_THAT(change.put, SizeIs(1));
  EXPECT_EQ(change.put[0].position, 4);
  EXPECT_THAT(change.put_lagging, ::testing::IsEmpty());
  EXPECT_THAT(change.answers, ElementsAre(::testing::Pair(72, "settled")));
  EXPECT_TRUE(changes.HasAnswer(72));
  changes.Finish(true);
  EXPECT_FALSE(changes.HasAnswer(72));
}

}  // namespace
}  // namespace stampgate
