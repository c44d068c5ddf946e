#include "gateway/admission/held_places.h"

#include <gtest/gtest.h>

namespace stampgate {
namespace {

constexpr absl::Time kStart = absl::FromUnixSeconds(1'000'000);

TEST(HeldPlacesTest, UntilACallHasEndedTheHoldTimeIsAGuess) {
  HeldPlaces places;
  EXPECT_EQ(places.HoldTime(kStart), HeldPlaces::kFirstHoldTime);
  places.Take(kStart);
  EXPECT_EQ(places.HoldTime(kStart), HeldPlaces::kFirstHoldTime);
}

TEST(HeldPlacesTest, TheHoldTimeFollowsTheLastCalls) {
  HeldPlaces places;
  absl::Time now = kStart;
  const auto hold = [&](absl::Duration time) {
    places.Take(now);
    now += time;
    places.GiveBack(now - time, now);
  };
  hold(absl::Milliseconds(3));
  EXPECT_EQ(places.HoldTime(now), absl::Milliseconds(3));
  for (int i = 0; i < 40; ++i) hold(absl::Milliseconds(500));
  EXPECT_GE(places.HoldTime(now), absl::Milliseconds(490));
  EXPECT_LE(places.HoldTime(now), absl::Milliseconds(500));
  EXPECT_EQ(places.count(), 0);
}

TEST(HeldPlacesTest, TheHoldTimeGrowsWhileTheCallsDoNotEnd) {
  HeldPlaces places;
  places.Take(kStart);
  places.GiveBack(kStart, kStart + absl::Milliseconds(10));
  places.Take(kStart);
  places.Take(kStart + absl::Seconds(2));
  EXPECT_EQ(places.count(), 2);
  EXPECT_EQ(places.HoldTime(kStart + absl::Seconds(4)), absl::Seconds(3));
  EXPECT_EQ(places.HoldTime(kStart + absl::Minutes(4)), HeldPlaces::kLongestHoldTime);
}

}  // namespace
}  // namespace stampgate
