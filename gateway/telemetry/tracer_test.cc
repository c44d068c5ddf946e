#include "gateway/telemetry/tracer.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>

namespace stampgate {
namespace {

Tracer::Options Options(
    double ratio, std::function<uint64_t()> random = [] { return 7; }) {
  Tracer::Options options;
  options.sampling_ratio = ratio;
  options.max_queued = 4;
  options.random = std::move(random);
  options.now = absl::UnixEpoch;
  options.steady_now = [] { return Tracer::SteadyTime(); };
  options.on_drop = [] {};
  return options;
}

std::unique_ptr<const TracedCall> Call(const std::string& method) {
  TracedCall call;
  call.method = method;
  return std::make_unique<const TracedCall>(std::move(call));
}

TEST(TracerTest, TheFlagOfTheCallerDecides) {
  EXPECT_TRUE(Tracer(Options(0)).Samples(true));
  EXPECT_FALSE(Tracer(Options(1)).Samples(false));
}

TEST(TracerTest, ACallWithoutATraceIsSampledByTheRatio) {
  constexpr uint64_t kLargest = std::numeric_limits<uint64_t>::max();
  EXPECT_FALSE(Tracer(Options(0, [] { return uint64_t{0}; })).Samples(std::nullopt));
  EXPECT_TRUE(Tracer(Options(1, [] { return kLargest; })).Samples(std::nullopt));
  EXPECT_TRUE(Tracer(Options(0.25, [] { return kLargest / 4 - 4096; })).Samples(std::nullopt));
  EXPECT_FALSE(Tracer(Options(0.25, [] { return kLargest / 4 + 4096; })).Samples(std::nullopt));
}

TEST(TracerTest, ASpanIdIsNeverZero) {
  EXPECT_NE(Tracer(Options(1, [] { return 0; })).NewSpanId(), 0);
}

TEST(TracerTest, AFullQueueDropsAndCountsNewCalls) {
  int dropped = 0;
  Tracer::Options options = Options(1);
  options.on_drop = [&dropped] { ++dropped; };
  Tracer tracer(std::move(options));
  for (int i = 0; i < 6; ++i) tracer.Queue(Call(std::to_string(i)));
  EXPECT_EQ(dropped, 2);
  const auto taken = tracer.Take(10);
  ASSERT_EQ(taken.size(), 4);
  EXPECT_EQ(taken.front()->method, "0");
  EXPECT_EQ(taken.back()->method, "3");
  tracer.Queue(Call("6"));
  EXPECT_EQ(tracer.Take(10).size(), 1);
  EXPECT_EQ(dropped, 2);
}

TEST(TracerTest, AClosedQueueDropsNewCallsAndKeepsTheOthers) {
  int dropped = 0;
  int woken = 0;
  Tracer::Options options = Options(1);
  options.on_drop = [&dropped] { ++dropped; };
  Tracer tracer(std::move(options));
  tracer.OnHalfFull([&woken] { ++woken; });
  tracer.Queue(Call("0"));
  tracer.Close();
  tracer.Queue(Call("1"));
  EXPECT_EQ(dropped, 1);
  EXPECT_EQ(woken, 0);
  EXPECT_EQ(tracer.Take(10).size(), 1);
}

TEST(TracerTest, TheOldestCallsAreTakenFirst) {
  Tracer tracer(Options(1));
  for (int i = 0; i < 4; ++i) tracer.Queue(Call(std::to_string(i)));
  EXPECT_EQ(tracer.Take(3).back()->method, "2");
  EXPECT_EQ(tracer.Take(3).back()->method, "3");
  EXPECT_TRUE(tracer.Take(3).empty());
}

TEST(TracerTest, AHalfFullQueueWakesTheExporterOnce) {
  Tracer tracer(Options(1));
  int woken = 0;
  tracer.OnHalfFull([&woken] { ++woken; });
  tracer.Queue(Call("0"));
  EXPECT_EQ(woken, 0);
  tracer.Queue(Call("1"));
  EXPECT_EQ(woken, 1);
  for (int i = 2; i < 8; ++i) tracer.Queue(Call(std::to_string(i)));
  EXPECT_EQ(woken, 1);
}

}  // namespace
}  // namespace stampgate
