#include "gateway/upstream/lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gateway/metrics/registry.h"
#include "gateway/upstream/upstream_metrics.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;

constexpr UpstreamLane kSubmit = UpstreamLane::kSubmit;
constexpr UpstreamLane kQuery = UpstreamLane::kQuery;

class UpstreamLanesTest : public ::testing::Test {
 protected:
  UpstreamLanesTest() {
    options_.max_connections = 2;
    options_.max_detached = 1;
    lanes_ = std::make_unique<UpstreamLanes>(options_, metrics_);
  }

  // Enters the call `name`. Returns its ticket; its name is in entered_ when it has a slot.
  UpstreamLanes::Ticket Enter(const std::string& name, UpstreamLane lane = kSubmit, const std::string& caller = "one",
                              double weight = 1) {
    UpstreamLanes::Ticket ticket;
    const auto turn = [this, name] { entered_.push_back(name); };
    if (lanes_->Enter(lane, caller, weight, ticket, turn)) entered_.push_back(name);
    return ticket;
  }

  UpstreamOptions options_;
  MetricRegistry registry_;
  UpstreamMetrics metrics_{registry_};
  std::unique_ptr<UpstreamLanes> lanes_;
  std::vector<std::string> entered_;
};

TEST_F(UpstreamLanesTest, TheCallsOfACallerWaitInOrderOfArrival) {
  const auto a = Enter("a");
  const auto b = Enter("b");
  Enter("c");
  Enter("d");
  EXPECT_THAT(entered_, ElementsAre("a", "b"));
  lanes_->Leave(b);
  EXPECT_THAT(entered_, ElementsAre("a", "b", "c"));
  lanes_->Leave(a);
  EXPECT_THAT(entered_, ElementsAre("a", "b", "c", "d"));
}

TEST_F(UpstreamLanesTest, AFullLaneDelaysNoOtherLane) {
  for (const char* name : {"a", "b", "c"}) Enter(name);
  Enter("q", kQuery);
  Enter("k", UpstreamLane::kKeySet);
  EXPECT_THAT(entered_, ElementsAre("a", "b", "q", "k"));
}

TEST_F(UpstreamLanesTest, ACallThatWaitsMayLeave) {
  const auto a = Enter("a");
  Enter("b");
  const auto c = Enter("c");
  Enter("d");
  lanes_->Leave(c);
  lanes_->Leave(a);
  EXPECT_THAT(entered_, ElementsAre("a", "b", "d"));
}

TEST_F(UpstreamLanesTest, DetachedSubmitsTakePlacesOfTheirOwn) {
  const auto a = Enter("a");
  const auto b = Enter("b");
  Enter("c");
  const auto since = lanes_->Detach(a);
  // The only slot for detached submits is taken, so no submit begins.
  EXPECT_THAT(entered_, ElementsAre("a", "b"));
  lanes_->Leave(b);
  EXPECT_THAT(entered_, ElementsAre("a", "b"));
  Enter("q", kQuery);
  lanes_->EndDetached(a, since);
  EXPECT_THAT(entered_, ElementsAre("a", "b", "q", "c"));
}

// A thousand queries of one caller wait; the query of another caller is the next.
TEST_F(UpstreamLanesTest, ACallWaitsOnlyForAPlaceIfItsCallerHasNone) {
  std::vector<UpstreamLanes::Ticket> greedy;
  for (int i = 0; i < 1000; ++i) greedy.push_back(Enter("greedy", kQuery, "greedy"));
  const auto honest = Enter("honest", kQuery, "honest");
  EXPECT_EQ(entered_.size(), 2u);
  lanes_->Leave(greedy[0]);
  EXPECT_THAT(entered_, ElementsAre("greedy", "greedy", "honest"));
  // Each of the two callers has one of the two slots now, and the first call of both is next.
  Enter("honest 2", kQuery, "honest");
  lanes_->Leave(honest);
  EXPECT_EQ(entered_.back(), "honest 2");
  lanes_->Leave(greedy[1]);
  EXPECT_EQ(entered_.back(), "greedy");
}

TEST_F(UpstreamLanesTest, CallersShareThePlacesByTheirWeights) {
  options_.max_connections = 40;
  lanes_ = std::make_unique<UpstreamLanes>(options_, metrics_);
  std::deque<std::pair<std::string, UpstreamLanes::Ticket>> in_flight;
  std::map<std::string, int> begun;
  std::deque<std::unique_ptr<UpstreamLanes::Ticket>> tickets;
  const std::map<std::string, double> weights = {{"light", 1}, {"heavy", 3}, {"late", 4}};
  const auto call = [&](const std::string& caller) {
    UpstreamLanes::Ticket& ticket = *tickets.emplace_back(std::make_unique<UpstreamLanes::Ticket>());
    const auto begin = [&, caller] {
      ++begun[caller];
      in_flight.emplace_back(caller, ticket);
    };
    if (lanes_->Enter(kQuery, caller, weights.at(caller), ticket, begin)) begin();
  };
  // Every caller always wants more slots than there are, and every call takes equally long.
  const auto run = [&](const std::vector<std::string>& callers) {
    for (const std::string& caller : callers) {
      for (int i = 0; i < 3000; ++i) call(caller);
    }
    for (int i = 0; i < 400; ++i) {
      const UpstreamLanes::Ticket ticket = in_flight.front().second;
      in_flight.pop_front();
      lanes_->Leave(ticket);
    }
    begun.clear();
    for (int i = 0; i < 400; ++i) {
      const UpstreamLanes::Ticket ticket = in_flight.front().second;
      in_flight.pop_front();
      lanes_->Leave(ticket);
    }
    return begun;
  };
  EXPECT_THAT(run({"light"}), ElementsAre(std::pair("light", 400)));
  EXPECT_THAT(run({"heavy"}), ElementsAre(std::pair("heavy", 300), std::pair("light", 100)));
  EXPECT_THAT(run({"late"}), ElementsAre(std::pair("heavy", 150), std::pair("late", 200), std::pair("light", 50)));
}

TEST_F(UpstreamLanesTest, TheDetachedSubmitsOfOneCallerDoNotStopTheSubmitsOfAnother) {
  options_.max_detached = 4;
  lanes_ = std::make_unique<UpstreamLanes>(options_, metrics_);
  std::vector<std::pair<UpstreamLanes::Ticket, UpstreamLanes::Clock::time_point>> detached;
  const auto detach = [&](const std::string& name, const std::string& caller) {
    const UpstreamLanes::Ticket ticket = Enter(name, kSubmit, caller);
    ASSERT_EQ(entered_.back(), name);
    detached.emplace_back(ticket, lanes_->Detach(ticket));
  };
  for (const char* name : {"a1", "a2", "a3", "a4"}) detach(name, "a");
  Enter("a5", kSubmit, "a");
  EXPECT_EQ(entered_.size(), 4u) << "a caller alone may use all";
  // Beside another caller, each has half of them.
  for (const char* name : {"b1", "b2"}) detach(name, "b");
  Enter("b3", kSubmit, "b");
  EXPECT_EQ(entered_.back(), "b2");
  // However many are detached, a caller that has left nothing is not stopped.
  for (const char* caller : {"c", "d", "e", "f", "g"}) detach(caller, caller);
  // When the other callers are gone, the first one may use all again.
  for (size_t i = 4; i < detached.size(); ++i) lanes_->EndDetached(detached[i].first, detached[i].second);
  EXPECT_EQ(entered_.back(), "b3");
  lanes_->EndDetached(detached[0].first, detached[0].second);
  EXPECT_EQ(entered_.back(), "a5");
}

TEST_F(UpstreamLanesTest, ShowsItsState) {
  const UpstreamMetrics::OfLane& submits = metrics_[kSubmit];
  const auto state = [&] { return std::pair(submits.in_flight.Value(), submits.waiting.Value()); };
  const auto a = Enter("a");
  EXPECT_EQ(state(), std::pair(1.0, 0.0));
  const auto b = Enter("b");
  Enter("c");
  EXPECT_EQ(state(), std::pair(2.0, 1.0));
  lanes_->Leave(b);
  EXPECT_EQ(state(), std::pair(2.0, 0.0));
  const auto detached_at = lanes_->Detach(a);
  EXPECT_EQ(state(), std::pair(1.0, 0.0));
  EXPECT_EQ(metrics_.detached.Value(), 1);
  lanes_->EndDetached(a, detached_at);
  EXPECT_EQ(state(), std::pair(1.0, 0.0));
  EXPECT_EQ(metrics_.detached.Value(), 0);
}

TEST_F(UpstreamLanesTest, NoPlaceIsLostWithManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 5000; ++i) {
        auto has_slot = std::make_shared<std::atomic<bool>>(false);
        UpstreamLanes::Ticket ticket;
        if (lanes_->Enter(kQuery, absl::StrCat("caller ", t, i % 7), 1, ticket, [has_slot] { *has_slot = true; }))
          *has_slot = true;
        // A third of the calls leave before their turn.
        while (i % 3 != 0 && !*has_slot) std::this_thread::yield();
        lanes_->Leave(ticket);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const char* name : {"x", "y", "z"}) Enter(name, kQuery);
  EXPECT_THAT(entered_, ElementsAre("x", "y"));
}

}  // namespace
}  // namespace stampgate
