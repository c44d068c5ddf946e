#include "gateway/server/parts_of_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "gateway/metrics/registry.h"
#include "translate/testing/operations.h"

namespace stampgate {
namespace {

using testing::Proto;

TEST(PartsOfConfigTest, TheLimitsOfUpstreamAreThoseOfItsClient) {
  const auto options = UpstreamOptionsOf(
      Proto<config::v1::Upstream>("base_url: 'https://kms:1' ca_file: 'ca.pem' connect_timeout { seconds: 1 } "
                                  "exchange_timeout { seconds: 2 } max_connections: 3 max_detached: 4 "
                                  "max_idle { seconds: 5 } max_response_bytes: 6"),
      nullptr);
  EXPECT_EQ(options.base_url, "https://kms:1");
  EXPECT_EQ(options.ca_file, "ca.pem");
  EXPECT_EQ(options.connect_timeout, absl::Seconds(1));
  EXPECT_EQ(options.exchange_timeout, absl::Seconds(2));
  EXPECT_EQ(options.max_connections, 3);
  EXPECT_EQ(options.max_detached, 4);
  EXPECT_EQ(options.max_idle, absl::Seconds(5));
  EXPECT_EQ(options.max_response_bytes, 6);
}

TEST(PartsOfConfigTest, TheRulesOfWaitsAreThoseOfTheConfig) {
  CurrentAccess access(nullptr);
  const WaitTable::Options options =
      WaitOptionsOf(Proto<config::v1::Activities>("max_waiting: 1 poll_interval { seconds: 2 } "
                                                  "max_poll_interval { seconds: 3 } max_polls_per_second: 4"),
                    access);
  EXPECT_EQ(options.max_waiting, 1u);
  EXPECT_EQ(options.poll_interval, absl::Seconds(2));
  EXPECT_EQ(options.max_poll_interval, absl::Seconds(3));
  EXPECT_EQ(options.polls_per_second, 4);
}

TEST(PartsOfConfigTest, WithoutAStoreTheReplicaChoosesItsTimestamps) {
  const TimestampLease lease = LeaseOf(nullptr, Proto<config::v1::Replica>("index: 2 count: 5"));
  EXPECT_EQ(lease.index, 2u);
  EXPECT_EQ(lease.count, 5u);
}

TEST(PartsOfConfigTest, WithoutAStoreTimestampsBeginAboveThoseOfAnEarlierProcess) {
  EXPECT_GE(TimestampFloor(nullptr), static_cast<uint64_t>(absl::ToUnixMillis(absl::Now())) +
                                         absl::ToInt64Milliseconds(TimestampAllocator::kMaxAhead) - 60'000);
}

TEST(PartsOfConfigTest, AConfigWithoutAStoreOpensNone) {
  MetricRegistry registry;
  StoreMetrics metrics(registry);
  const auto store = OpenCallStore(
      config::v1::Config(), [] {}, metrics);
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ(*store, nullptr);
}

TEST(PartsOfConfigTest, AStoreThatCannotBeOpenedIsAnError) {
  config::v1::Config config;
  config.mutable_store()->mutable_sqlite()->set_folder("/no/such/folder");
  config.mutable_store()->mutable_key_retention()->set_seconds(60);
  MetricRegistry registry;
  StoreMetrics metrics(registry);
  EXPECT_FALSE(OpenCallStore(
                   config, [] {}, metrics)
                   .ok());
}

}  // namespace
}  // namespace stampgate
