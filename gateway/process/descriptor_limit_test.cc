#include "gateway/process/descriptor_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>

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

class ConnectionBoundsTest : public ::testing::Test {
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

TEST_F(ConnectionBoundsTest, TheNeedIsTheSumOfTheParts) {
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

config::v1::Config ConfigWithPorts() {
  config::v1::Config config = SomeConfig();
  config.mutable_tls();
  config.mutable_webhooks()->set_listen_address("127.0.0.1:0");
  return config;
}

TEST_F(ConnectionBoundsTest, AtTheNeedTheSettingsHold) {
  const config::v1::Config config = ConfigWithPorts();
  SetLimit(static_cast<rlim_t>(NeedOf(config).total()));
  EXPECT_EQ(DescriptorWarning(config), std::nullopt);
  const ConnectionBounds bounds(config);
  EXPECT_EQ(bounds.callers, 500u);
  EXPECT_EQ(bounds.handshakes, 100u);
  EXPECT_EQ(bounds.webhooks, 200);
  EXPECT_EQ(bounds.max_descriptor, NeedOf(config).total() - 64);
}

TEST_F(ConnectionBoundsTest, BelowTheNeedFewerConnectionsOfCallersAreAdmittedAndAWarningSaysSo) {
  const config::v1::Config config = ConfigWithPorts();
  SetLimit(static_cast<rlim_t>(NeedOf(config).total() - 10));
  const ConnectionBounds bounds(config);
  EXPECT_EQ(bounds.callers, 493u);
  EXPECT_EQ(bounds.handshakes, 100u);
  EXPECT_EQ(bounds.webhooks, 197);
  EXPECT_THAT(
      DescriptorWarning(config).value_or(""),
      ::testing::AllOf(::testing::HasSubstr("the gateway can need 1010 file descriptors"),
                       ::testing::HasSubstr("is 1000: the gateway admits at most 493 connections of callers and 197 "
                                            "for deliveries; raise the limit")));
}

// Whatever the limit and the settings are, all parts together stay within the limit, and each port gets connections.
TEST_F(ConnectionBoundsTest, AllPartsTogetherStayWithinEachLimit) {
  std::mt19937 random(1);
  const auto up_to = [&](uint32_t max) { return 1 + static_cast<uint32_t>(random() % max); };
  for (int i = 0; i < 20'000; ++i) {
    config::v1::Config config = i % 2 == 0 ? SomeConfig() : ConfigWithPorts();
    config.mutable_connections()->set_max(up_to(5000));
    config.mutable_connections()->set_max_handshakes(up_to(400));
    config.mutable_upstream()->set_max_connections(up_to(500));
    config.mutable_webhooks()->set_max_connections(up_to(1000));
    const int64_t limit = 20 + up_to(2 * static_cast<uint32_t>(NeedOf(config).total()));
    SetLimit(static_cast<rlim_t>(limit));
    const ConnectionBounds bounds(config);
    const DescriptorNeed need = NeedOf(config);
    const int64_t ports = static_cast<int64_t>(bounds.callers + (config.has_tls() ? bounds.handshakes : 0)) +
                          (need.webhooks > 0 ? bounds.webhooks : 0);
    ASSERT_LE(ports + std::min(need.upstream + need.others, limit / 2), limit);
    ASSERT_GE(bounds.callers, std::min<size_t>(config.connections().max(), 2));
    ASSERT_GE(bounds.handshakes, 1u);
    ASSERT_GE(bounds.webhooks, std::min<int>(static_cast<int>(config.webhooks().max_connections()), 2));
    ASSERT_LE(bounds.callers, config.connections().max());
    ASSERT_LE(bounds.handshakes, config.connections().max_handshakes());
    ASSERT_LE(bounds.webhooks, static_cast<int>(config.webhooks().max_connections()));
    ASSERT_LT(bounds.max_descriptor, limit);
    const bool lowered = bounds.callers < config.connections().max() ||
                         bounds.handshakes < config.connections().max_handshakes() ||
                         bounds.webhooks < static_cast<int>(config.webhooks().max_connections());
    ASSERT_EQ(DescriptorWarning(config).has_value(), need.total() > limit);
    ASSERT_TRUE(DescriptorWarning(config).has_value() || !lowered);
  }
}

}  // namespace
}  // namespace stampgate
