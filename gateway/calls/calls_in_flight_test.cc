#include "gateway/calls/calls_in_flight.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "translate/error.h"

namespace stampgate {
namespace {

using Calls = CallsInFlight<int>;

constexpr Calls::Clock::time_point kPast = Calls::Clock::time_point::min();

Calls::Clock::time_point HangBound() { return Calls::Clock::now() + std::chrono::minutes(1); }

TEST(CallsInFlightTest, DoesNotWaitIfNoCallIsAdmitted) {
  Calls calls;
  const int call = 1;
  EXPECT_TRUE(calls.WaitUntilNone(kPast));
  EXPECT_TRUE(calls.Begin(call).ok());
  calls.End(call);
  EXPECT_TRUE(calls.WaitUntilNone(kPast));
}

TEST(CallsInFlightTest, StopsWaitingAtTheDeadline) {
  Calls calls;
  const int call = 1;
  ASSERT_TRUE(calls.Begin(call).ok());
  EXPECT_FALSE(calls.WaitUntilNone(kPast));
}

TEST(CallsInFlightTest, WaitsForTheLastAdmittedCall) {
  Calls calls;
  const int first = 1;
  const int second = 2;
  ASSERT_TRUE(calls.Begin(first).ok());
  ASSERT_TRUE(calls.Begin(second).ok());
  calls.End(first);
  std::thread last([&] { calls.End(second); });
  EXPECT_TRUE(calls.WaitUntilNone(HangBound()));
  last.join();
}

TEST(CallsInFlightTest, ADrainRefusesNewCallsAndWaitsForOldOnes) {
  Calls calls;
  const int before = 1;
  const int after = 2;
  EXPECT_TRUE(calls.Begin(before).ok());
  calls.Drain();
  EXPECT_EQ(ErrorReasonOf(calls.Begin(after)), "SHUTTING_DOWN");
  EXPECT_FALSE(calls.WaitUntilNone(kPast));
  calls.End(before);
  EXPECT_TRUE(calls.WaitUntilNone(kPast)) << "a refused call must not delay the drain";
  EXPECT_FALSE(calls.WaitUntilNoneRefused(kPast));
  calls.EndRefused();
  EXPECT_TRUE(calls.WaitUntilNoneRefused(kPast));
}

TEST(CallsInFlightTest, RefusesCallsBeyondTheMaximumUntilAnotherCallEnds) {
  Calls calls({.calls = 2});
  const std::vector<int> numbers = {0, 1, 2};
  ASSERT_TRUE(calls.Begin(numbers[0]).ok());
  ASSERT_TRUE(calls.Begin(numbers[1]).ok());
  const absl::Status refused = calls.Begin(numbers[2]);
  EXPECT_TRUE(absl::IsResourceExhausted(refused));
  EXPECT_EQ(ErrorReasonOf(refused), "TOO_MANY_CALLS");
  EXPECT_EQ(refused.message(), "the gateway may have at most 2 calls at the same time; nothing was sent upstream");
  EXPECT_FALSE(calls.WaitUntilNoneRefused(kPast));
  calls.EndRefused();
  EXPECT_TRUE(calls.WaitUntilNoneRefused(kPast));
  calls.End(numbers[0]);
  EXPECT_TRUE(calls.Begin(numbers[2]).ok());
}

TEST(CallsInFlightTest, ACallerAtItsMaximumLeavesPlacesToOtherCallers) {
  Calls calls({.calls = 3, .calls_per_caller = 1});
  const std::vector<int> numbers = {0, 1, 2};
  for (const int& number : numbers) ASSERT_TRUE(calls.Begin(number).ok());
  EXPECT_TRUE(calls.SetCaller(numbers[0], "a").ok());
  EXPECT_TRUE(calls.SetCaller(numbers[0], "a").ok()) << "the call already counts for its caller";
  const absl::Status refused = calls.SetCaller(numbers[1], "a");
  EXPECT_EQ(ErrorReasonOf(refused), "TOO_MANY_CALLS");
  EXPECT_EQ(refused.message(), "caller a may have at most 1 calls at the same time; nothing was sent upstream");
  EXPECT_TRUE(calls.SetCaller(numbers[2], "b").ok());
  calls.End(numbers[0]);
  EXPECT_TRUE(calls.SetCaller(numbers[1], "a").ok());
}

TEST(CallsInFlightTest, ADrainRefusesACallBeyondTheMaximumAsShuttingDown) {
  Calls calls({.calls = 0});
  const int call = 1;
  calls.Drain();
  EXPECT_EQ(ErrorReasonOf(calls.Begin(call)), "SHUTTING_DOWN");
}

TEST(CallsInFlightTest, VisitsTheAdmittedCalls) {
  Calls calls;
  const int first = 1;
  const int second = 2;
  const int refused = 3;
  ASSERT_TRUE(calls.Begin(first).ok());
  ASSERT_TRUE(calls.Begin(second).ok());
  calls.Drain();
  EXPECT_FALSE(calls.Begin(refused).ok());
  calls.End(first);
  std::vector<int> seen;
  calls.ForEach([&](int call) { seen.push_back(call); });
  EXPECT_EQ(seen, std::vector<int>{2});
}

struct FakeCall : Dismissable {
  void Dismiss() override {}
};

TEST(CallsInFlightTest, FindsTheCallsToDismiss) {
  Calls calls;
  const int first = 1;
  const int second = 2;
  const int third = 3;
  for (const int* call : {&first, &second, &third}) ASSERT_TRUE(calls.Begin(*call).ok());
  const auto one = std::make_shared<FakeCall>();
  auto two = std::make_shared<FakeCall>();
  ASSERT_TRUE(calls.SetCaller(first, "a", one).ok());
  ASSERT_TRUE(calls.SetCaller(second, "a", two).ok());
  ASSERT_TRUE(calls.SetCaller(third, "a").ok());
  const auto all = [](int) { return true; };
  EXPECT_EQ(calls.ToDismiss(all).size(), 2u);
  EXPECT_EQ(calls.ToDismiss([](int call) { return call == 1; }), std::vector<std::shared_ptr<Dismissable>>{one});
  two = nullptr;
  EXPECT_EQ(calls.ToDismiss(all), std::vector<std::shared_ptr<Dismissable>>{one});
  calls.End(first);
  EXPECT_TRUE(calls.ToDismiss(all).empty());
}

TEST(CallsInFlightTest, AfterADrainHasFoundNoCallNoNewCallIsAdmitted) {
  for (int round = 0; round < 200; ++round) {
    Calls calls;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&calls] {
        for (const int call = 0; calls.Begin(call).ok();) calls.End(call);
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
