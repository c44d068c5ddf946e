#include "base/postgres/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/postgres/schema_sql.h"
#include "base/postgres/test_server.h"

namespace stampgate {
namespace {

using ::testing::HasSubstr;

constexpr auto kFailed = absl::StatusCode::kFailedPrecondition;

std::unique_ptr<PostgresConnection> Connect(const std::string& schema, const std::string& user = "postgres") {
  PostgresAddress address = SharedServer().address(schema);
  address.user = user;
  return PostgresConnection::Open(address).value();
}

TEST(SchemaTest, AStoreWithoutTablesIsRefused) {
  const absl::Status status = CheckStore(*Connect("none"));
  EXPECT_EQ(status.code(), kFailed);
  EXPECT_THAT(status.message(), HasSubstr("stampgate store migrate"));
}

TEST(SchemaTest, ASecondMigrationChangesNothing) {
  const std::unique_ptr<PostgresConnection> connection = Connect("twice");
  EXPECT_EQ(MigrateStore(*connection, "twice"), absl::OkStatus());
  SharedServer().Sql("INSERT INTO seen VALUES ('id', '', 1, '')", "twice");
  EXPECT_EQ(MigrateStore(*connection, "twice"), absl::OkStatus());
  EXPECT_EQ(CheckStore(*connection), absl::OkStatus());
  EXPECT_EQ(SharedServer().Sql("SELECT count(*) FROM seen", "twice"), "1");
}

TEST(SchemaTest, ConcurrentMigrationsCreateTheTablesOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([] {
      const std::unique_ptr<PostgresConnection> connection = Connect("together");
      EXPECT_EQ(MigrateStore(*connection, "together"), absl::OkStatus());
      EXPECT_EQ(CheckStore(*connection), absl::OkStatus());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(SharedServer().Sql("SELECT count(*) FROM store", "together"), "1");
}

TEST(SchemaTest, TwoStoresHaveTheirOwnTables) {
  for (const char* schema : {"one", "other"}) EXPECT_TRUE(MigrateStore(*Connect(schema), schema).ok());
  SharedServer().Sql("INSERT INTO seen VALUES ('id', '', 1, '')", "one");
  EXPECT_EQ(SharedServer().Sql("SELECT count(*) FROM seen", "other"), "0");
}

TEST(SchemaTest, TablesOfANewerVersionAreRefused) {
  const std::unique_ptr<PostgresConnection> connection = Connect("newer");
  ASSERT_TRUE(MigrateStore(*connection, "newer").ok());
  SharedServer().Sql("UPDATE store SET version = version + 2", "newer");
  for (const absl::Status& status : {MigrateStore(*connection, "newer"), CheckStore(*connection)}) {
    EXPECT_EQ(status.code(), kFailed);
    EXPECT_THAT(status.message(), HasSubstr("programs since version 5"));
  }
}

// Steps of later programs: one that only adds a table, and one that also changes a table.
StoreSteps WithAddition() {
  StoreSteps steps = StepsOfThisProgram();
  steps.sql.push_back("CREATE TABLE addition (number bigint);\n");
  return steps;
}
StoreSteps WithChange() {
  StoreSteps steps = WithAddition();
  steps.sql.push_back("ALTER TABLE seen RENAME TO renamed;\n");
  steps.usable_since = steps.version();
  return steps;
}

TEST(SchemaTest, AnAdditiveStepKeepsTheTablesUsableForThisProgram) {
  const std::unique_ptr<PostgresConnection> connection = Connect("added");
  ASSERT_EQ(MigrateStore(*connection, "added"), absl::OkStatus());
  const StoreSteps later = WithAddition();
  EXPECT_EQ(CheckStore(*connection, later).code(), kFailed) << "the later program needs its table";
  for (int i = 0; i < 2; ++i) EXPECT_EQ(MigrateStore(*connection, "added", later), absl::OkStatus());
  for (const StoreSteps& steps : {later, StepsOfThisProgram()}) {
    EXPECT_EQ(CheckStore(*connection, steps), absl::OkStatus());
    EXPECT_EQ(MigrateStore(*connection, "added", steps), absl::OkStatus());
  }
  EXPECT_EQ(SharedServer().Sql("SELECT count(*) FROM addition", "added"), "0");
  // What a program of version 1 reads, which knows only one version: a new store has no function for it.
  EXPECT_EQ(SharedServer().Sql("SELECT version FROM store", "added"), "3");
  EXPECT_EQ(ClaimEmptyStore(*connection, "added"), absl::OkStatus());
  EXPECT_EQ(CheckStore(*connection, later).code(), kFailed);
  EXPECT_EQ(OpenClaimedStore(*connection), absl::OkStatus());
  EXPECT_EQ(CheckStore(*connection, later), absl::OkStatus());
}

// What a gateway with `migrate: true` does when it starts: the last check follows what it has written.
absl::Status StartGateway(const std::string& schema) {
  const std::unique_ptr<PostgresConnection> connection = Connect(schema);
  if (absl::Status status = MigrateStore(*connection, schema); !status.ok()) return status;
  if (absl::Status status = CheckStore(*connection); !status.ok()) return status;
  const absl::Status status =
      connection->Commit({{"SELECT begin_lease($1)", PostgresParameters().Bytes("gateway")}}).status();
  return status.ok() ? CheckStore(*connection) : status;
}

TEST(SchemaTest, TheTransactionThatCreatesTheTablesClaimsThem) {
  EXPECT_EQ(ClaimEmptyStore(*Connect("claimed"), "claimed"), absl::OkStatus());
  EXPECT_EQ(SharedServer().Sql("SELECT xmin = (SELECT xmin FROM pg_class WHERE oid = 'store'::regclass) FROM store",
                               "claimed"),
            "t");
  EXPECT_EQ(StartGateway("claimed").code(), kFailed);
  EXPECT_EQ(ClaimEmptyStore(*Connect("claimed"), "claimed").code(), kFailed) << "another copy";
}

TEST(SchemaTest, OfACopyAndAGatewayThatStartTogetherNeverBothUseTheStore) {
  for (int round = 0; round < 20; ++round) {
    const std::string schema = absl::StrCat("beside", round);
    // In half of the rounds, the tables exist before.
    if (round % 2 == 0) {
      ASSERT_EQ(MigrateStore(*Connect(schema), schema), absl::OkStatus());
    }
    absl::Status gateway;
    std::thread starting([&] { gateway = StartGateway(schema); });
    const absl::Status copy = ClaimEmptyStore(*Connect(schema), schema);
    starting.join();
    EXPECT_FALSE(copy.ok() && gateway.ok()) << round;
    EXPECT_EQ(CheckStore(*Connect(schema)).ok(), !copy.ok()) << round << ": " << copy;
  }
}

TEST(SchemaTest, AStepThatChangesATableStopsOlderPrograms) {
  const std::unique_ptr<PostgresConnection> connection = Connect("changed");
  ASSERT_EQ(MigrateStore(*connection, "changed", WithAddition()), absl::OkStatus());
  ASSERT_EQ(MigrateStore(*connection, "changed", WithChange()), absl::OkStatus());
  EXPECT_EQ(CheckStore(*connection, WithChange()), absl::OkStatus());
  for (const StoreSteps& steps : {WithAddition(), StepsOfThisProgram()}) {
    for (const absl::Status& status : {MigrateStore(*connection, "changed", steps), CheckStore(*connection, steps)}) {
      EXPECT_EQ(status.code(), kFailed);
      EXPECT_THAT(status.message(), HasSubstr("programs since version 5 can use"));
    }
  }
}

TEST(SchemaTest, ANewStoreGetsAllSteps) {
  const std::unique_ptr<PostgresConnection> connection = Connect("all");
  ASSERT_EQ(MigrateStore(*connection, "all", WithChange()), absl::OkStatus());
  EXPECT_EQ(CheckStore(*connection, WithChange()), absl::OkStatus());
  EXPECT_EQ(SharedServer().Sql("SELECT steps FROM store", "all"), "5");
}

TEST(SchemaTest, ConcurrentProgramsMakeAStepOnce) {
  ASSERT_EQ(MigrateStore(*Connect("stepped"), "stepped"), absl::OkStatus());
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([i] {
      const std::unique_ptr<PostgresConnection> connection = Connect("stepped");
      EXPECT_EQ(MigrateStore(*connection, "stepped", i % 2 == 0 ? WithAddition() : StepsOfThisProgram()),
                absl::OkStatus());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(CheckStore(*Connect("stepped"), WithAddition()), absl::OkStatus());
}

// Creates a store as the first version of the program did.
void CreateVersion1(const std::string& schema) {
  SharedServer().Sql(absl::StrCat("CREATE SCHEMA ", schema));
  SharedServer().Sql(kSchemaSql, schema);
}

TEST(SchemaTest, TablesOfVersion1GetThoseOfThisVersionAndKeepTheirRows) {
  CreateVersion1("first");
  SharedServer().Sql("INSERT INTO seen VALUES ('id', '', 1, '')", "first");
  const std::unique_ptr<PostgresConnection> connection = Connect("first");
  EXPECT_THAT(CheckStore(*connection).message(), HasSubstr("stampgate store migrate"));
  EXPECT_EQ(MigrateStore(*connection, "first"), absl::OkStatus());
  EXPECT_EQ(CheckStore(*connection), absl::OkStatus());
  EXPECT_EQ(SharedServer().Sql("SELECT count(*) FROM seen", "first"), "1");
  EXPECT_EQ(SharedServer().Sql("SELECT count(*) FROM replicas, quotas", "first"), "0");
}

TEST(SchemaTest, ConcurrentMigrationsOfVersion1ChangeTheTablesOnce) {
  CreateVersion1("second");
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([] {
      const std::unique_ptr<PostgresConnection> connection = Connect("second");
      EXPECT_EQ(MigrateStore(*connection, "second"), absl::OkStatus());
      EXPECT_EQ(CheckStore(*connection), absl::OkStatus());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// The migration is one transaction.
TEST(SchemaTest, AFailedMigrationOfVersion1ChangesNothing) {
  CreateVersion1("third");
  SharedServer().Sql("CREATE TABLE quotas ()", "third");
  EXPECT_FALSE(MigrateStore(*Connect("third"), "third").ok());
  EXPECT_EQ(SharedServer().Sql("SELECT version FROM store", "third"), "1");
  EXPECT_EQ(SharedServer().Sql("SELECT to_regclass('replicas') IS NULL", "third"), "t");
}

// The migration is one transaction.
TEST(SchemaTest, AFailedMigrationLeavesNothing) {
  SharedServer().Sql("CREATE SCHEMA taken; CREATE TABLE taken.seen ()");
  EXPECT_FALSE(MigrateStore(*Connect("taken"), "taken").ok());
  EXPECT_EQ(SharedServer().Sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'taken'"), "1");
}

TEST(SchemaTest, OnlyARoleWithTheRightCreatesTheTables) {
  SharedServer().Sql("CREATE ROLE stranger LOGIN");
  const std::unique_ptr<PostgresConnection> connection = Connect("strange", "stranger");
  EXPECT_EQ(MigrateStore(*connection, "strange").code(), kFailed);
  SharedServer().Sql("GRANT CREATE ON DATABASE postgres TO stranger");
  EXPECT_EQ(MigrateStore(*connection, "strange"), absl::OkStatus());
}

// An administrator creates the schema for a role that may create nothing else.
TEST(SchemaTest, TheOwnerOfTheSchemaNeedsNoRightOnTheDatabase) {
  SharedServer().Sql("CREATE ROLE owner LOGIN; CREATE SCHEMA owned AUTHORIZATION owner");
  EXPECT_EQ(MigrateStore(*Connect("owned", "owner"), "owned"), absl::OkStatus());
}

TEST(SchemaTest, ARoleWithGrantedRightsCanCheckTheStoreButNotChangeIt) {
  const std::unique_ptr<PostgresConnection> owner = Connect("granted");
  ASSERT_TRUE(MigrateStore(*owner, "granted").ok());
  SharedServer().Sql("CREATE ROLE \"the \"\"gateway\" LOGIN");
  const std::unique_ptr<PostgresConnection> gateway = Connect("granted", "the \"gateway");
  EXPECT_EQ(CheckStore(*gateway).code(), kFailed) << "a role has no rights at first";
  ASSERT_EQ(GrantStore(*owner, "granted", "the \"gateway"), absl::OkStatus());
  EXPECT_EQ(CheckStore(*gateway), absl::OkStatus());
  EXPECT_EQ(MigrateStore(*gateway, "granted"), absl::OkStatus()) << "there is nothing to create";
  EXPECT_EQ(gateway->Run({{"UPDATE store SET version = 9"}}).status().code(), kFailed);
  EXPECT_EQ(GrantStore(*owner, "granted", "nobody").code(), kFailed);
}

TEST(SchemaTest, OnlyAStoreWithTablesOfThisVersionIsMarkedAsRestored) {
  const std::unique_ptr<PostgresConnection> connection = Connect("restored");
  const absl::Status missing = MarkServerAsRestored(*connection);
  EXPECT_EQ(missing.code(), kFailed);
  EXPECT_THAT(missing.message(), HasSubstr("stampgate store migrate"));
  ASSERT_TRUE(MigrateStore(*connection, "restored").ok());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(MarkServerAsRestored(*connection), absl::OkStatus());
  SharedServer().Sql("UPDATE store SET version = version + 2", "restored");
  EXPECT_EQ(MarkServerAsRestored(*connection).code(), kFailed);
}

TEST(SchemaTest, OnlyTheOwnerMarksAStoreAsRestored) {
  ASSERT_TRUE(MigrateStore(*Connect("kept"), "kept").ok());
  SharedServer().Sql("CREATE ROLE keeper LOGIN");
  ASSERT_EQ(GrantStore(*Connect("kept"), "kept", "keeper"), absl::OkStatus());
  const absl::Status status = MarkServerAsRestored(*Connect("kept", "keeper"));
  EXPECT_EQ(status.code(), kFailed);
  EXPECT_THAT(status.message(), HasSubstr("permission denied"));
}

// The server of a backup waits for its standbys, which do not exist yet.
TEST(SchemaTest, ARestoredServerWithoutItsStandbyAsksForIt) {
  const TestPostgres server(PostgresVersion::k15);
  const PostgresAddress store = server.NewStore();
  server.Set("synchronous_standby_names", "'standby'");
  const absl::Status missing = MarkServerAsRestored(*PostgresConnection::Open(store).value());
  EXPECT_EQ(missing.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(missing.message(), HasSubstr("start the standbys first"));
  TestPostgres standby(server, "standby");
  EXPECT_EQ(MarkServerAsRestored(*PostgresConnection::Open(store).value()), absl::OkStatus());
}

}  // namespace
}  // namespace stampgate
