#include "webhooks/postgres/durability.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "webhooks/postgres/test_server.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::unique_ptr<PostgresConnection> Connect(const TestPostgres& server) {
  return PostgresConnection::Open(server.address("public")).value();
}

TEST(DurabilityTest, ASingleServerLacksAStandby) {
  for (const PostgresVersion version : {PostgresVersion::k15, PostgresVersion::k18}) {
    const TestPostgres server(version);
    DurabilityGaps gaps = FindDurabilityGaps(*Connect(server)).value();
    EXPECT_THAT(gaps.unsafe, IsEmpty());
    EXPECT_THAT(gaps.single, ElementsAre(HasSubstr("synchronous_standby_names")));
    server.Set("synchronous_standby_names", "'standby'");
    gaps = FindDurabilityGaps(*Connect(server)).value();
    EXPECT_THAT(gaps.unsafe, IsEmpty());
    EXPECT_THAT(gaps.single, IsEmpty());
  }
}

TEST(DurabilityTest, ASettingThatLosesCommitsIsUnsafe) {
  const TestPostgres server(PostgresVersion::k15, {"fsync = off", "full_page_writes = off"});
  const DurabilityGaps gaps = FindDurabilityGaps(*Connect(server)).value();
  EXPECT_THAT(gaps.unsafe, ElementsAre(HasSubstr("fsync"), HasSubstr("full_page_writes")));
}

}  // namespace
}  // namespace stampgate
