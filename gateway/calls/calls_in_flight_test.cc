#include "gateway/calls/calls_in_flight.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace stampgate {
namespace {

using Calls = CallsInFlight<int>;

constexpr Calls::Clock::time_point kPast = Calls::Clock::time_point::min();

Calls::Clock::time_point HangBound() { return Calls::Clock::now() + std::chrono::minutes(1); }

TEST(CallsInFlightTest, DoesNotWaitIfNoCallIsAdmitted) {
  Calls calls;
  const int call = 1;
  EXPECT_TRUE(calls.WaitUntilNone(kPast));
  EXPECT_TRUE(calls.Begin(call));
  calls.End(call);
  EXPECT_TRUE(calls.WaitUntilNone(kPast));
}

TEST(CallsInFlightTest, StopsWaitingAtTheDeadline) {
  Calls calls;
  const int call = 1;
  calls.Begin(call);
  EXPECT_FALSE(calls.WaitUntilNone(kPast));
}

TEST(CallsInFlightTest, WaitsForTheLastAdmittedCall) {
  Calls calls;
  const int first = 1;
  const int second = 2;
  calls.Begin(first);
  calls.Begin(second);
  calls.End(first);
  std::thread last([&] { calls.End(second); });
  EXPECT_TRUE(calls.WaitUntilNone(HangBound()));
  last.join();
}

TEST(CallsInFlightTest, ADrainRefusesNewCallsAndWaitsForOldOnes) {
  Calls calls;
  const int before = 1;
  const int after = 2;
  EXPECT_TRUE(calls.Begin(before));
  calls.Drain();
  EXPECT_FALSE(calls.Begin(after));
  EXPECT_FALSE(calls.WaitUntilNone(kPast));
  calls.End(before);
  EXPECT_TRUE(calls.WaitUntilNone(kPast)) << "a refused call must not delay the drain";
  EXPECT_FALSE(calls.WaitUntilNoneRefused(kPast));
  calls.EndRefused();
  EXPECT_TRUE(calls.WaitUntilNoneRefused(kPast));
}

TEST(CallsInFlightTest, VisitsTheAdmittedCalls) {
  Calls calls;
  const int first = 1;
  const int second = 2;
  const int refused = 3;
  calls.Begin(first);
  calls.Begin(second);
  calls.Drain();
  calls.Begin(refused);
  calls.End(first);
  std::vector<int> seen;
  calls.ForEach([&](int call) { seen.push_back(call); });
  EXPECT_EQ(seen, std::vector<int>{2});
}

TEST(CallsInFlightTest, AfterADrainHasFoundNoCallNoNewCallIsAdmitted) {
  for (int round = 0; round < 200; ++round) {
    Calls calls;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&calls] {
        for (const int call = 0; calls.Begin(call);) calls.End(call);
        calls.EndRefused();
      });
    }
    calls.Drain();
    EXPECT_TRUE(calls.WaitUntilNone(HangBound()));
    EXPECT_TRUE(calls.WaitUntilNone(kPast));
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(calls.WaitUntilNoneRefused(kPast));
  }
}

}  // namespace
}  // namespace stampgate
