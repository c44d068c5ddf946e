#include "base/postgres/durability.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/postgres/test_server.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

DurabilityGaps GapsOf(const PostgresAddress& address) {
  return FindDurabilityGaps(**PostgresConnection::Open(address), address).value();
}

TEST(DurabilityTest, ASingleServerLacksAStandby) {
  for (const PostgresVersion version : {PostgresVersion::k15, PostgresVersion::k18}) {
    const TestPostgres server(version);
    PostgresAddress address = server.address("public");
    address.allow_single_server = false;
    EXPECT_THAT(GapsOf(address).refused, ElementsAre(HasSubstr("synchronous_standby_names")));
    EXPECT_THAT(GapsOf(address).accepted, IsEmpty());
    address.allow_single_server = true;
    EXPECT_THAT(GapsOf(address).refused, IsEmpty());
    EXPECT_THAT(GapsOf(address).accepted, ElementsAre(HasSubstr("synchronous_standby_names")));
    server.Set("synchronous_standby_names", "'standby'");
    address.allow_single_server = false;
    EXPECT_THAT(GapsOf(address).refused, IsEmpty());
    EXPECT_THAT(GapsOf(address).accepted, IsEmpty());
  }
}

// Such a server waits for no standby, although it names one.
TEST(DurabilityTest, AServerThatSendsItsLogToNobodyLacksAStandby) {
  const TestPostgres server(PostgresVersion::k15, {"max_wal_senders = 0", "synchronous_standby_names = 'standby'"});
  PostgresAddress address = server.address("public");
  address.allow_single_server = false;
  EXPECT_THAT(GapsOf(address).refused, ElementsAre(HasSubstr("max_wal_senders")));
}

TEST(DurabilityTest, ASettingThatLosesCommitsIsRefused) {
  const TestPostgres server(PostgresVersion::k15, {"fsync = off", "full_page_writes = off"});
  EXPECT_THAT(GapsOf(server.address("public")).refused, ElementsAre(HasSubstr("fsync"), HasSubstr("full_page_writes")));
}

TEST(DurabilityTest, AnOperatorWhoseStorageTearsNoPageAcceptsThatFullPageWritesIsOff) {
  const TestPostgres server(PostgresVersion::k15, {"full_page_writes = off"});
  PostgresAddress address = server.address("public");
  EXPECT_THAT(GapsOf(address).refused, ElementsAre(HasSubstr("full_page_writes")));
  address.allow_full_page_writes_off = true;
  EXPECT_THAT(GapsOf(address).refused, IsEmpty());
  EXPECT_THAT(GapsOf(address).accepted, ElementsAre(HasSubstr("full_page_writes"), HasSubstr("standby")));
}

}  // namespace
}  // namespace stampgate
