#include "gateway/admission/fair_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using CallId = FairQueue::CallId;

class FairQueueTest : public ::testing::Test {
 protected:
  FairQueue::Flow& Add(const std::string& caller, double weight, int calls, CallClass call_class = CallClass::kQuery) {
    FairQueue::Flow* flow = nullptr;
    for (int i = 0; i < calls; ++i) {
      flow = &queue_.Arrive(call_class, caller, weight, now_);
      callers_[++last_] = caller;
      queue_.Add(*flow, last_);
    }
    return *flow;
  }

  std::vector<std::string> Take(size_t count) {
    std::vector<std::string> taken;
    while (taken.size() < count) {
      const std::optional<CallId> id = queue_.TakeNext([](CallId) { return true; });
      if (!id.has_value()) break;
      taken.push_back(callers_[*id]);
    }
    return taken;
  }

  absl::Time now_ = absl::FromUnixSeconds(1000);
  FairQueue queue_;
  CallId last_ = 0;
  std::map<CallId, std::string> callers_;
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
  queue_.Pass(a);  // with this weight, the next call of "a" would come after a hundred calls of "b"
  Add("b", 1, 6);
  Add("a", 1, 2);
  EXPECT_THAT(Take(5), ElementsAre("b", "a", "b", "a", "b"));
}

TEST_F(FairQueueTest, AWaitingCallMovesWhenTheWeightOfItsCallerChanges) {
  Add("a", 0.01, 2);
  Add("b", 1, 6);
  EXPECT_THAT(Take(3), ElementsAre("a", "b", "b"));
  queue_.Arrive(CallClass::kQuery, "a", 1, now_);
  EXPECT_THAT(Take(3), ElementsAre("a", "b", "b"));
}

TEST_F(FairQueueTest, ACallThatMayNotGoIsPassedOver) {
  Add("a", 1, 2);
  Add("b", 1, 1);
  EXPECT_EQ(queue_.TakeNext([](CallId id) { return id == 2; }), 2);
  EXPECT_EQ(queue_.TakeNext([](CallId) { return false; }), std::nullopt);
  EXPECT_EQ(queue_.size(), 2);
}

TEST_F(FairQueueTest, ARemovedCallIsGone) {
  FairQueue::Flow& flow = Add("a", 1, 1);
  queue_.Remove(flow, 1);
  queue_.Remove(flow, 1);
  EXPECT_THAT(Take(1), IsEmpty());
  EXPECT_EQ(queue_.size(), 0);
}

TEST_F(FairQueueTest, CountsTheCallsAhead) {
  Add("submits", 1, 3, CallClass::kSubmit);
  Add("a", 1, 10);
  FairQueue::Flow& b = queue_.Arrive(CallClass::kQuery, "b", 1, now_);
  // The three submits, and the one call of "a" that has its turn before the first call of "b".
  EXPECT_EQ(queue_.Ahead(b, absl::ZeroDuration(), now_), 4);
  queue_.Add(b, 100);
  EXPECT_EQ(queue_.Ahead(b, absl::ZeroDuration(), now_), 6);
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
