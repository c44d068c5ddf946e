#include "gateway/upstream/lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"

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
    lanes_ = std::make_unique<UpstreamLanes>(options_);
  }

  // Enters the call `name`. Returns its ticket; its name is in entered_ when it has a place.
  UpstreamLanes::Ticket Enter(const std::string& name, UpstreamLane lane = kSubmit) {
    UpstreamLanes::Ticket ticket;
    if (lanes_->Enter(lane, ticket, [this, name] { entered_.push_back(name); })) entered_.push_back(name);
    return ticket;
  }

  UpstreamOptions options_;
  std::unique_ptr<UpstreamLanes> lanes_;
  std::vector<std::string> entered_;
};

TEST_F(UpstreamLanesTest, CallsWaitInOrderOfArrival) {
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
  // The only place for detached submits is taken, so no submit begins.
  EXPECT_THAT(entered_, ElementsAre("a", "b"));
  lanes_->Leave(b);
  EXPECT_THAT(entered_, ElementsAre("a", "b"));
  Enter("q", kQuery);
  lanes_->EndDetached(since);
  EXPECT_THAT(entered_, ElementsAre("a", "b", "q", "c"));
}

TEST_F(UpstreamLanesTest, ReportsItsState) {
  std::vector<std::string> reports;
  options_.observe_lane = [&](UpstreamLane lane, int in_flight, int waiting) {
    if (lane == kSubmit) reports.push_back(absl::StrCat(in_flight, "+", waiting));
  };
  options_.observe_detached = [&](int count, std::chrono::steady_clock::time_point oldest) {
    EXPECT_EQ(oldest == std::chrono::steady_clock::time_point(), count == 0);
    reports.push_back(absl::StrCat("detached ", count));
  };
  const auto a = Enter("a");
  const auto b = Enter("b");
  Enter("c");
  lanes_->Leave(b);
  lanes_->EndDetached(lanes_->Detach(a));
  EXPECT_THAT(reports, ElementsAre("1+0", "2+0", "2+1", "2+0", "detached 1", "1+0", "detached 0", "1+0"));
}

TEST_F(UpstreamLanesTest, NoPlaceIsLostWithManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this] {
      for (int i = 0; i < 5000; ++i) {
        auto has_place = std::make_shared<std::atomic<bool>>(false);
        UpstreamLanes::Ticket ticket;
        if (lanes_->Enter(kQuery, ticket, [has_place] { *has_place = true; })) *has_place = true;
        // A third of the calls leave before their turn.
        while (i % 3 != 0 && !*has_place) std::this_thread::yield();
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
