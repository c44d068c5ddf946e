#include "gateway/store/postgres/store_owner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/postgres/schema.h"
#include "base/postgres/store_bounds.h"
#include "base/postgres/test_server.h"
#include "gateway/store/postgres/store_tables.h"

namespace stampgate {
namespace {

using ::testing::HasSubstr;

constexpr auto kFailed = absl::StatusCode::kFailedPrecondition;

std::unique_ptr<PostgresConnection> Connect(const std::string& schema, const std::string& user = "postgres") {
  PostgresAddress address = SharedServer().address(schema);
  address.user = user;
  return PostgresConnection::Open(address).value();
}

absl::Status Migrate(const std::string& schema) { return MigrateStore(*Connect(schema), schema, StepsOfThisProgram()); }

// Creates a store as 0.1.0 did, with a log.
void CreateEarlierStore(const std::string& schema) {
  StoreSteps earlier = StepsOfThisProgram();
  earlier.version = 2;
  ASSERT_EQ(MigrateStore(*Connect(schema), schema, earlier), absl::OkStatus());
  SharedServer().Sql("SELECT create_log(sha256('id'), sha256('key'))", schema);
}

// Stores an event without a seal, as gateways of 0.1.0 do.
absl::Status StoreWithoutSeal(const std::string& schema, const std::string& id) {
  return Connect(schema)
      ->Commit({{absl::StrCat("SELECT append_events(NULL, false, '{", id,
                              "}', '{a}', '{a}', '{a}', '{a}', '{a}', '{1}', '{a}', '{a}', '{a}', '{a}', '{a}')")}})
      .status();
}

TEST(StoreOwnerTest, EventsOfANewStoreNeedSeals) {
  ASSERT_EQ(Migrate("fresh"), absl::OkStatus());
  SharedServer().Sql("SELECT create_log(sha256('id'), sha256('key'))", "fresh");
  EXPECT_EQ(ReadStoreDecisions(*Connect("fresh"))->unsealed_through, 0);
  EXPECT_THAT(StoreWithoutSeal("fresh", "one").message(), HasSubstr("events_are_sealed"));
}

TEST(StoreOwnerTest, EventsOfAnEarlierStoreNeedSealsAfterItIsSealed) {
  CreateEarlierStore("earlier");
  EXPECT_EQ(StoreWithoutSeal("earlier", "one"), absl::OkStatus());
  ASSERT_EQ(Migrate("earlier"), absl::OkStatus());
  EXPECT_EQ(StoreWithoutSeal("earlier", "two"), absl::OkStatus()) << "a gateway of the earlier release still runs";
  const std::unique_ptr<PostgresConnection> owner = Connect("earlier");
  EXPECT_EQ(ReadStoreDecisions(*owner)->unsealed_through, std::nullopt);
  EXPECT_EQ(SharedServer().Sql("SELECT version FROM store", "earlier"), "1");
  for (int i = 0; i < 2; ++i) ASSERT_EQ(SealStore(*owner), absl::OkStatus());
  EXPECT_EQ(ReadStoreDecisions(*owner)->unsealed_through, 2);
  EXPECT_THAT(StoreWithoutSeal("earlier", "three").message(), HasSubstr("events_are_sealed"));
  EXPECT_EQ(SharedServer().Sql("SELECT version FROM store", "earlier"), "3");
}

TEST(StoreOwnerTest, SealingRevokesTheFunctionsOfEarlierReleases) {
  const std::unique_ptr<PostgresConnection> owner = Connect("revoked");
  CreateEarlierStore("revoked");
  // As 0.1.0 has done it. Another role has the rights too.
  for (const std::string role : {"older", "\"an older\""}) {
    SharedServer().Sql(absl::StrCat("CREATE ROLE ", role, " LOGIN; GRANT USAGE ON SCHEMA revoked TO ", role,
                                    "; GRANT EXECUTE ON FUNCTION trim_log, take_lease, take_quota, time_us TO ", role),
                       "revoked");
  }
  ASSERT_EQ(Migrate("revoked"), absl::OkStatus());
  ASSERT_EQ(GrantStore(*owner, "revoked", "older", StepsOfThisProgram()), absl::OkStatus());
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

TEST(StoreOwnerTest, OnlyTheOwnerSealsAStore) {
  ASSERT_EQ(Migrate("unsealed"), absl::OkStatus());
  SharedServer().Sql("CREATE ROLE sealer LOGIN");
  ASSERT_EQ(GrantStore(*Connect("unsealed"), "unsealed", "sealer", StepsOfThisProgram()), absl::OkStatus());
  const absl::Status status = SealStore(*Connect("unsealed", "sealer"));
  EXPECT_EQ(status.code(), kFailed);
  EXPECT_THAT(status.message(), HasSubstr("permission denied"));
}

// What a gateway with `migrate: true` does when it starts: the last check follows what it has written.
absl::Status StartGateway(const std::string& schema) {
  const std::unique_ptr<PostgresConnection> connection = Connect(schema);
  if (absl::Status status = MigrateStore(*connection, schema, StepsOfThisProgram()); !status.ok()) return status;
  if (absl::Status status = CheckStore(*connection, StepsOfThisProgram()); !status.ok()) return status;
  const absl::Status status =
      connection->Commit({{"SELECT begin_lease($1)", PostgresParameters().Bytes("gateway")}}).status();
  return status.ok() ? CheckStore(*connection, StepsOfThisProgram()) : status;
}

TEST(StoreOwnerTest, NoGatewayUsesAStoreThatACopyHasClaimed) {
  EXPECT_EQ(ClaimEmptyStore(*Connect("claimed"), "claimed"), absl::OkStatus());
  EXPECT_EQ(StartGateway("claimed").code(), kFailed);
  EXPECT_EQ(ClaimEmptyStore(*Connect("claimed"), "claimed").code(), kFailed) << "another copy";
  EXPECT_EQ(OpenClaimedStore(*Connect("claimed"), StepsOfThisProgram()), absl::OkStatus());
  EXPECT_EQ(SharedServer().Sql("SELECT version FROM store", "claimed"), "3") << "the store needs seals, as before";
}

TEST(StoreOwnerTest, OnlyAnEmptyStoreIsClaimed) {
  ASSERT_EQ(Migrate("filled"), absl::OkStatus());
  SharedServer().Sql("SELECT create_log(sha256('id'), sha256('key'))", "filled");
  EXPECT_THAT(ClaimEmptyStore(*Connect("filled"), "filled").message(), HasSubstr("has an event log"));
  EXPECT_EQ(StartGateway("filled"), absl::OkStatus());
  EXPECT_THAT(ClaimEmptyStore(*Connect("filled"), "filled").message(), HasSubstr("1 gateway uses the store"));
}

TEST(StoreOwnerTest, OfACopyAndAGatewayThatStartTogetherNeverBothUseTheStore) {
  for (int round = 0; round < 20; ++round) {
    const std::string schema = absl::StrCat("beside", round);
    // In half of the rounds, the tables exist before.
    if (round % 2 == 0) {
      ASSERT_EQ(Migrate(schema), absl::OkStatus());
    }
    absl::Status gateway;
    std::thread starting([&] { gateway = StartGateway(schema); });
    const absl::Status copy = ClaimEmptyStore(*Connect(schema), schema);
    starting.join();
    EXPECT_FALSE(copy.ok() && gateway.ok()) << round;
    EXPECT_EQ(CheckStore(*Connect(schema), StepsOfThisProgram()).ok(), !copy.ok()) << round << ": " << copy;
  }
}

TEST(StoreOwnerTest, OnlyAStoreWithTablesOfThisVersionIsMarkedAsRestored) {
  const std::unique_ptr<PostgresConnection> connection = Connect("restored");
  const absl::Status missing = MarkServerAsRestored(*connection);
  EXPECT_EQ(missing.code(), kFailed);
  EXPECT_THAT(missing.message(), HasSubstr("stampgate store migrate"));
  ASSERT_TRUE(Migrate("restored").ok());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(MarkServerAsRestored(*connection), absl::OkStatus());
  SharedServer().Sql("UPDATE store SET version = version + 2", "restored");
  EXPECT_EQ(MarkServerAsRestored(*connection).code(), kFailed);
}

TEST(StoreOwnerTest, OnlyTheOwnerMarksAStoreAsRestored) {
  ASSERT_TRUE(Migrate("kept").ok());
  SharedServer().Sql("CREATE ROLE keeper LOGIN");
  ASSERT_EQ(GrantStore(*Connect("kept"), "kept", "keeper", StepsOfThisProgram()), absl::OkStatus());
  const absl::Status status = MarkServerAsRestored(*Connect("kept", "keeper"));
  EXPECT_EQ(status.code(), kFailed);
  EXPECT_THAT(status.message(), HasSubstr("permission denied"));
}

// The server of a backup waits for its standbys, which do not exist yet.
TEST(StoreOwnerTest, ARestoredServerWithoutItsStandbyAsksForIt) {
  const TestPostgres server(PostgresVersion::k15);
  const PostgresAddress store = server.NewStore(StepsOfThisProgram());
  server.Set("synchronous_standby_names", "'standby'");
  const absl::Status missing = MarkServerAsRestored(*PostgresConnection::Open(store).value());
  EXPECT_EQ(missing.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(missing.message(), HasSubstr("start the standbys first"));
  TestPostgres standby(server, "standby");
  EXPECT_EQ(MarkServerAsRestored(*PostgresConnection::Open(store).value()), absl::OkStatus());
}

}  // namespace
}  // namespace stampgate
