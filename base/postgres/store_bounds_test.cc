#include "base/postgres/store_bounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/postgres/rates_sql.h"
#include "base/postgres/schema.h"
#include "base/postgres/schema_sql.h"
#include "base/postgres/test_server.h"

namespace stampgate {
namespace {

using ::testing::HasSubstr;

constexpr StoreBounds kBounds = {.retention_age = absl::Hours(5),
                                 .retention_bytes = 7,
                                 .deduplication_age = absl::Hours(6),
                                 .key_retention = absl::Hours(7)};

std::unique_ptr<PostgresConnection> Connect(const std::string& schema, const std::string& user = "postgres") {
  PostgresAddress address = SharedServer().address(schema);
  address.user = user;
  return PostgresConnection::Open(address).value();
}

TEST(StoreBoundsTest, TheOwnerOfANewStoreDecidesAndItsEventsNeedSeals) {
  const std::unique_ptr<PostgresConnection> owner = Connect("fresh");
  ASSERT_EQ(MigrateStore(*owner, "fresh"), absl::OkStatus());
  EXPECT_EQ(ReadStoreDecisions(*owner)->bounds, std::nullopt);
  EXPECT_EQ(ReadStoreDecisions(*owner)->unsealed_through, 0);
  ASSERT_EQ(WriteStoreBounds(*owner, kBounds), absl::OkStatus());
  EXPECT_EQ(ReadStoreDecisions(*owner)->bounds, kBounds);
}

TEST(StoreBoundsTest, AGatewayCanOnlyReadWhatTheOwnerHasDecided) {
  const std::unique_ptr<PostgresConnection> owner = Connect("decided");
  ASSERT_EQ(MigrateStore(*owner, "decided"), absl::OkStatus());
  ASSERT_EQ(WriteStoreBounds(*owner, kBounds), absl::OkStatus());
  SharedServer().Sql("CREATE ROLE reader LOGIN");
  ASSERT_EQ(GrantStore(*owner, "decided", "reader"), absl::OkStatus());
  const std::unique_ptr<PostgresConnection> gateway = Connect("decided", "reader");
  EXPECT_EQ(ReadStoreDecisions(*gateway)->bounds, kBounds);
  for (const absl::Status& status : {WriteStoreBounds(*gateway, StoreBounds()), SealStore(*gateway)}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(status.message(), HasSubstr("permission denied"));
  }
}

TEST(StoreBoundsTest, SealingRevokesTheFunctionsOfEarlierReleases) {
  const std::unique_ptr<PostgresConnection> owner = Connect("revoked");
  ASSERT_EQ(MigrateStore(*owner, "revoked", StoreSteps{{kSchemaSql, kRatesSql}, 1}), absl::OkStatus());
  SharedServer().Sql("SELECT create_log(sha256('id'), sha256('key'))", "revoked");
  // As 0.1.0 has done it. Another role has the rights too.
  for (const std::string role : {"older", "\"an older\""}) {
    SharedServer().Sql(absl::StrCat("CREATE ROLE ", role, " LOGIN; GRANT USAGE ON SCHEMA revoked TO ", role,
                                    "; GRANT EXECUTE ON FUNCTION trim_log, take_lease, take_quota, time_us TO ", role),
                       "revoked");
  }
  ASSERT_EQ(MigrateStore(*owner, "revoked"), absl::OkStatus());
  ASSERT_EQ(GrantStore(*owner, "revoked", "older"), absl::OkStatus());
  const auto may = [](const std::string& role, const std::string& function) {
    return SharedServer().Sql(
        absl::StrCat("SELECT has_function_privilege('", role, "', 'revoked.", function, "', 'EXECUTE')"));
  };
  const std::string kTrim = "trim_log(bigint, bigint, bigint, bigint)";
  const std::string kTake = "take_lease(bytea, bigint, bigint)";
  for (const std::string role : {"older", "an older"}) {
    EXPECT_EQ(may(role, kTrim), "t");
    EXPECT_EQ(may(role, kTake), "t");
  }
  EXPECT_EQ(ReadStoreDecisions(*owner)->unsealed_through, std::nullopt);
  ASSERT_EQ(SealStore(*owner), absl::OkStatus());
  for (const std::string role : {"older", "an older"}) {
    EXPECT_EQ(may(role, kTrim), "f");
    EXPECT_EQ(may(role, kTake), "f");
  }
  EXPECT_EQ(may("older", "trim_events()"), "t");
  EXPECT_EQ(ReadStoreDecisions(*owner)->unsealed_through, 0);
}

}  // namespace
}  // namespace stampgate
