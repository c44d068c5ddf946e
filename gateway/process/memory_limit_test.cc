#include "gateway/process/memory_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace stampgate {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;

constexpr int64_t kMib = 1 << 20;

class MemoryLimitTest : public testing::Test {
 protected:
  MemoryLimitTest() { fs::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) const {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }

  std::optional<MemoryLimit> Limit() const { return ControlGroupMemoryLimit(root_, root_ + "/membership"); }

  const std::string root_ = testing::TempDir() + "/memory_limit_test";
};

TEST_F(MemoryLimitTest, TheLowestLimitOfTheGroupAndAllAboveItHolds) {
  Write("/membership", "0::/pod/container\n");
  EXPECT_FALSE(Limit().has_value());
  Write("/pod/container/memory.max", "max\n");
  EXPECT_FALSE(Limit().has_value());
  Write("/pod/container/memory.max", "500000000\n");
  EXPECT_EQ(Limit()->bytes, 500'000'000);
  Write("/pod/memory.max", "400000000\n");
  EXPECT_EQ(Limit()->bytes, 400'000'000);
  EXPECT_EQ(Limit()->source, "the control group " + root_ + "/pod (memory.max)");
  Write("/memory.max", "450000000\n");
  EXPECT_EQ(Limit()->bytes, 400'000'000);
}

TEST_F(MemoryLimitTest, VersionOneHasALimitToo) {
  Write("/membership", "5:memory:/docker/7\n0::/\n");
  Write("/memory/docker/7/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(Limit()->bytes, 9223372036854771712);
  Write("/memory/docker/memory.limit_in_bytes", "300000000\n");
  EXPECT_EQ(Limit()->bytes, 300'000'000);
  EXPECT_THAT(Limit()->source, HasSubstr("/memory/docker (memory.limit_in_bytes)"));
  // In a container, `root` is the group of the container.
  Write("/memory/memory.limit_in_bytes", "200000000\n");
  EXPECT_EQ(Limit()->bytes, 200'000'000);
}

TEST_F(MemoryLimitTest, ALimitBelowTheNeedHasAWarning) {
  const int64_t need = kBaseMemoryBytes + 256 * kMib;
  EXPECT_EQ(MemoryWarning(MemoryLimit{need, "x"}, kBaseMemoryBytes, 256 * kMib, "a.b"), std::nullopt);
  EXPECT_EQ(MemoryWarning(std::nullopt, kBaseMemoryBytes, 256 * kMib, "a.b"), std::nullopt);
  EXPECT_EQ(MemoryWarning(MemoryLimit{need - 1, "the machine"}, kBaseMemoryBytes, 256 * kMib, "a.b"),
            "a.b: the gateway can need 384 MiB of memory (128 MiB for itself, 256 MiB for what its clients make it "
            "hold), but the machine gives it 383 MiB: the system can end the gateway; raise the limit, or lower a.b");
}

TEST_F(MemoryLimitTest, EachSubscriptionNeedsMemoryUpToABound) {
  config::v1::Config config;
  EXPECT_EQ(OwnMemoryBytes(config), 128 * kMib);
  config.add_subscriptions();
  EXPECT_EQ(OwnMemoryBytes(config), 144 * kMib);
  for (int i = 0; i < 99; ++i) config.add_subscriptions();
  EXPECT_EQ(OwnMemoryBytes(config), 288 * kMib);
}

TEST_F(MemoryLimitTest, TheLimitsOfTheProcessAndOfTheMachineHoldToo) {
  const std::optional<MemoryLimit> before = LowestMemoryLimit();
  ASSERT_TRUE(before.has_value());
  rlimit data{};
  ASSERT_EQ(getrlimit(RLIMIT_DATA, &data), 0);
  rlimit lower = data;
  lower.rlim_cur = static_cast<rlim_t>(before->bytes - 1);
  ASSERT_EQ(setrlimit(RLIMIT_DATA, &lower), 0);
  EXPECT_EQ(LowestMemoryLimit()->bytes, before->bytes - 1);
  EXPECT_THAT(LowestMemoryLimit()->source, HasSubstr("ulimit -d"));
  setrlimit(RLIMIT_DATA, &data);
}

}  // namespace
}  // namespace stampgate
