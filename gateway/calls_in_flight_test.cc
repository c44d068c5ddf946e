#include "gateway/calls_in_flight.h"

#include <gtest/gtest.h>

#include <thread>

#include "absl/time/clock.h"

namespace stampgate {
namespace {

TEST(CallsInFlightTest, NoneIsNoReasonToWait) {
  CallsInFlight calls;
  EXPECT_TRUE(calls.WaitUntilNone(absl::InfinitePast()));
  calls.Begin();
  calls.End();
  EXPECT_TRUE(calls.WaitUntilNone(absl::InfinitePast()));
}

TEST(CallsInFlightTest, GivesUpAtTheDeadline) {
  CallsInFlight calls;
  calls.Begin();
  EXPECT_FALSE(calls.WaitUntilNone(absl::InfinitePast()));
}

TEST(CallsInFlightTest, WaitsForTheLast) {
  CallsInFlight calls;
  calls.Begin();
  calls.Begin();
  calls.End();
  std::thread last([&] { calls.End(); });
  EXPECT_TRUE(calls.WaitUntilNone(absl::Now() + absl::Minutes(1)));
  last.join();
}

}  // namespace
}  // namespace stampgate
