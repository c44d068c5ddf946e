#include "gateway/process/descriptor_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <optional>

namespace stampgate {
namespace {

TEST(DescriptorLimitTest, TheSoftLimitRisesToTheHardLimit) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = 100;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(RaiseDescriptorLimit(), absl::OkStatus());
  rlimit raised{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &raised), 0);
  EXPECT_EQ(raised.rlim_cur, limit.rlim_max);
  EXPECT_EQ(raised.rlim_max, limit.rlim_max);
}

class DescriptorBoundsTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0); }
  void TearDown() override { setrlimit(RLIMIT_NOFILE, &before_); }

  void SetLimit(rlim_t limit) {
    rlimit next = before_;
    next.rlim_cur = limit;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &next), 0);
  }

  rlimit before_{};
};

config::v1::Config SomeConfig() {
  config::v1::Config config;
  config.mutable_connections()->set_max(500);
  config.mutable_connections()->set_max_handshakes(100);
  config.mutable_upstream()->set_max_connections(40);
  config.mutable_webhooks()->set_max_connections(200);
  return config;
}

TEST_F(DescriptorBoundsTest, TheNeedIsTheSumOfTheParts) {
  config::v1::Config config = SomeConfig();
  EXPECT_EQ(NeedOf(config).callers, 500);
  EXPECT_EQ(NeedOf(config).webhooks, 0);
  EXPECT_EQ(NeedOf(config).upstream, 82);
  config.mutable_tls();
  config.mutable_webhooks()->set_listen_address("127.0.0.1:0");
  const DescriptorNeed need = NeedOf(config);
  EXPECT_EQ(need.callers, 600);
  EXPECT_EQ(need.webhooks, 200);
  EXPECT_EQ(need.total(), 600 + 200 + 82 + need.others);
}

TEST_F(DescriptorBoundsTest, ALimitBelowTheNeedHasAWarning) {
  const DescriptorNeed need = NeedOf(SomeConfig());
  SetLimit(static_cast<rlim_t>(need.total()));
  EXPECT_EQ(DescriptorWarning(need), std::nullopt);
  SetLimit(static_cast<rlim_t>(need.total() - 1));
  EXPECT_THAT(DescriptorWarning(need).value_or(""), ::testing::HasSubstr("the gateway can need 710 file descriptors"));
}

TEST_F(DescriptorBoundsTest, EachPortLeavesDescriptorsToThePartsThatMatterMore) {
  const DescriptorNeed need{.callers = 1000, .webhooks = 50, .upstream = 60, .others = 40};
  SetLimit(600);
  EXPECT_EQ(DescriptorBounds(need).webhooks, 500);
  EXPECT_EQ(DescriptorBounds(need).callers, 450);
  // With a very low limit, each port still gets some descriptors.
  SetLimit(80);
  EXPECT_EQ(DescriptorBounds(need).webhooks, 40);
  EXPECT_EQ(DescriptorBounds(need).callers, 30);
}

}  // namespace
}  // namespace stampgate
