#include "gateway/admission/fair_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace stampgate {
namespace {

using ::testing::ElementsAre;

class FairQueueTest : public ::testing::Test {
 protected:
  FairQueue::Flow& Add(const std::string& caller, double weight, int calls, CallClass call_class = CallClass::kQuery) {
    FairQueue::Flow* flow = nullptr;
    for (int i = 0; i < calls; ++i) {
      flow = &queue_.Arrive(call_class, caller, weight, now_);
      FairQueue::Add(*flow);
      waiting_.push_back(flow);
    }
    return *flow;
  }

  // Lets waiting calls continue. Returns their callers.
  std::vector<std::string> Take(size_t count) {
    std::vector<std::string> taken;
    while (taken.size() < count && !waiting_.empty()) {
      auto first = waiting_.begin();  // the one that has waited longest
      for (auto call = waiting_.begin(); call != waiting_.end(); ++call) {
        if (FairQueue::Precedes(**call, **first)) first = call;
      }
      FairQueue::Flow& flow = **first;
      waiting_.erase(first);
      FairQueue::Remove(flow);
      FairQueue::Continue(flow);
      taken.emplace_back(FairQueue::CallerOf(flow));
    }
    return taken;
  }

  absl::Time now_ = absl::FromUnixSeconds(1000);
  FairQueue queue_;
  std::vector<FairQueue::Flow*> waiting_;  // the flow of each waiting call, in the order of arrival
};

TEST_F(FairQueueTest, CallersGetPlacesByTheirWeights) {
  Add("a", 1, 100);
  Add("b", 3, 100);
  std::map<std::string, int> counts;
  for (const std::string& caller : Take(80)) ++counts[caller];
  EXPECT_EQ(counts["a"], 20);
  EXPECT_EQ(counts["b"], 60);
}

TEST_F(FairQueueTest, ALargeWeightDoesNotMeanManyPlacesInARow) {
  Add("a", 100, 200);
  Add("b", 50, 200);
  int row = 0;
  for (const std::string& caller : Take(100)) {
    row = caller == "a" ? row + 1 : 0;
    EXPECT_LE(row, 3);
  }
}

TEST_F(FairQueueTest, AnEarlierClassGoesFirst) {
  Add("background", 1, 1, CallClass::kBackground);
  Add("query", 1, 1, CallClass::kQuery);
  Add("submit", 1, 2, CallClass::kSubmit);
  EXPECT_THAT(Take(9), ElementsAre("submit", "submit", "query", "background"));
}

TEST_F(FairQueueTest, ACallerThatWasAwayHasNoCredit) {
  Add("a", 1, 10);
  Take(10);
  Add("b", 1, 10);
  Add("a", 1, 10);
  std::map<std::string, int> counts;
  for (const std::string& caller : Take(10)) ++counts[caller];
  EXPECT_NEAR(counts["a"], 5, 1);
}

TEST_F(FairQueueTest, OfCallersWithTheSameVirtualTimeTheFirstOneIsNext) {
  std::vector<std::string> names;
  for (char name = 'a'; name <= 'z'; ++name) names.emplace_back(1, name);
  for (const std::string& name : names) Add(name, 1, 2);
  EXPECT_EQ(Take(names.size()), names);
  EXPECT_EQ(Take(names.size()), names);
}

TEST_F(FairQueueTest, ACallerWhoseWeightChangesIsAheadByAsManyCallsAsBefore) {
  FairQueue::Flow& a = queue_.Arrive(CallClass::kQuery, "a", 0.01, now_);
  FairQueue::Continue(a);  // with this weight, the next call of "a" would come after a hundred calls of "b"
  Add("b", 1, 6);
  Add("a", 1, 2);
  EXPECT_THAT(Take(5), ElementsAre("b", "b", "a", "b", "a"));
}

TEST_F(FairQueueTest, AWaitingCallMovesWhenTheWeightOfItsCallerChanges) {
  Add("a", 0.01, 2);
  Add("b", 1, 6);
  EXPECT_THAT(Take(3), ElementsAre("a", "b", "b"));
  queue_.Arrive(CallClass::kQuery, "a", 1, now_);
  EXPECT_THAT(Take(3), ElementsAre("a", "b", "b"));
}

TEST_F(FairQueueTest, CountsTheCallsAhead) {
  Add("submits", 1, 3, CallClass::kSubmit);
  Add("a", 1, 10);
  FairQueue::Flow& b = queue_.Arrive(CallClass::kQuery, "b", 1, now_);
  // The three submits, and the one call of "a" that has its turn before the first call of "b".
  EXPECT_EQ(queue_.Ahead(b, absl::ZeroDuration(), now_), 4);
  FairQueue::Add(b);
  EXPECT_EQ(queue_.Ahead(b, absl::ZeroDuration(), now_), 6);
}

TEST_F(FairQueueTest, ACallThatDoesNotWaitUsesATurnOfItsCallerToo) {
  FairQueue::Flow& a = Add("a", 1, 3);
  Add("b", 1, 3);
  FairQueue::Continue(a);
  EXPECT_THAT(Take(4), ElementsAre("b", "a", "b", "a"));
}

// Something else than this order has delayed the calls of "a".
TEST_F(FairQueueTest, ACallerThatWasPassedOverHasNoCredit) {
  Add("a", 1, 10);
  FairQueue::Flow& b = Add("b", 1, 10);
  for (int i = 0; i < 100; ++i) FairQueue::Continue(b);
  std::map<std::string, int> counts;
  for (const std::string& caller : Take(10)) ++counts[caller];
  EXPECT_NEAR(counts["a"], 5, 1);
}

TEST_F(FairQueueTest, CallsThatWaitElsewhereCountAsFarAsTheyGoFirst) {
  FairQueue::Flow& a = Add("a", 1, 1);
  for (int i = 0; i < 100; ++i) FairQueue::Add(a, /*elsewhere=*/true);
  FairQueue::Flow& b = Add("b", 0.1, 1);
  EXPECT_EQ(queue_.Ahead(b, absl::ZeroDuration(), now_), 12) << "ten turns of a for each one of b";
  EXPECT_EQ(queue_.Ahead(a, absl::ZeroDuration(), now_), 2);
  for (int i = 0; i < 100; ++i) FairQueue::Remove(a, /*elsewhere=*/true);
  EXPECT_EQ(queue_.Ahead(b, absl::ZeroDuration(), now_), 2);
}

TEST_F(FairQueueTest, CountsTheCallsThatWillOvertake) {
  for (int i = 0; i < 100; ++i) {
    now_ += absl::Milliseconds(100);
    queue_.Arrive(CallClass::kSubmit, "submits", 1, now_);
  }
  const FairQueue::Flow& b = queue_.Arrive(CallClass::kQuery, "b", 1, now_);
  EXPECT_NEAR(static_cast<double>(queue_.Ahead(b, absl::Seconds(1), now_)), 10, 1.5);
  now_ += absl::Seconds(10);
  EXPECT_LE(queue_.Ahead(b, absl::Seconds(1), now_), 1);
}

}  // namespace
}  // namespace stampgate
