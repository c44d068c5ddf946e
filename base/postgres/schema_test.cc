#include "base/postgres/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
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

// The steps of a program that counts things.
StoreSteps ThisProgram() {
  StoreTables things;
  things.sql = {"CREATE TABLE things (name text);\n", "CREATE TABLE colors (name text);\n",
                "CREATE FUNCTION count_things() RETURNS bigint LANGUAGE sql SECURITY DEFINER SET search_path FROM"
                " CURRENT AS $$ SELECT count(*) FROM things;\n$$;\n"
                "REVOKE ALL ON FUNCTION count_things FROM PUBLIC;\n"};
  things.functions = "count_things";
  return {{things}, /*version=*/3};
}

TEST(SchemaTest, AStoreWithoutTablesIsRefused) {
  const absl::Status status = CheckStore(*Connect("none"), ThisProgram());
  EXPECT_EQ(status.code(), kFailed);
  EXPECT_THAT(status.message(), HasSubstr("stampgate store migrate"));
}

TEST(SchemaTest, ASecondMigrationChangesNothing) {
  const std::unique_ptr<PostgresConnection> connection = Connect("twice");
  EXPECT_EQ(MigrateStore(*connection, "twice", ThisProgram()), absl::OkStatus());
  SharedServer().Sql("INSERT INTO things VALUES ('one')", "twice");
  EXPECT_EQ(MigrateStore(*connection, "twice", ThisProgram()), absl::OkStatus());
  EXPECT_EQ(CheckStore(*connection, ThisProgram()), absl::OkStatus());
  EXPECT_EQ(SharedServer().Sql("SELECT count(*) FROM things", "twice"), "1");
}

TEST(SchemaTest, ConcurrentMigrationsCreateTheTablesOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([] {
      const std::unique_ptr<PostgresConnection> connection = Connect("together");
      EXPECT_EQ(MigrateStore(*connection, "together", ThisProgram()), absl::OkStatus());
      EXPECT_EQ(CheckStore(*connection, ThisProgram()), absl::OkStatus());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(SharedServer().Sql("SELECT count(*) FROM store", "together"), "1");
}

TEST(SchemaTest, TwoStoresHaveTheirOwnTables) {
  for (const char* schema : {"one", "other"}) EXPECT_TRUE(MigrateStore(*Connect(schema), schema, ThisProgram()).ok());
  SharedServer().Sql("INSERT INTO things VALUES ('one')", "one");
  EXPECT_EQ(SharedServer().Sql("SELECT count(*) FROM things", "other"), "0");
}

TEST(SchemaTest, TablesOfANewerVersionAreRefused) {
  const std::unique_ptr<PostgresConnection> connection = Connect("newer");
  ASSERT_TRUE(MigrateStore(*connection, "newer", ThisProgram()).ok());
  SharedServer().Sql("UPDATE store SET version = 4", "newer");
  for (const absl::Status& status :
       {MigrateStore(*connection, "newer", ThisProgram()), CheckStore(*connection, ThisProgram())}) {
    EXPECT_EQ(status.code(), kFailed);
    EXPECT_THAT(status.message(), HasSubstr("programs since version 4"));
  }
}

// Steps of later programs: one that only adds a table, and one that also changes a table.
StoreSteps WithAddition() {
  StoreSteps steps = ThisProgram();
  steps.tables.push_back({{"", "", "", "CREATE TABLE addition (number bigint);\n"}, ""});
  steps.version = 4;
  return steps;
}
StoreSteps WithChange() {
  StoreSteps steps = WithAddition();
  steps.tables.front().sql.insert(steps.tables.front().sql.end(), {"", "ALTER TABLE things RENAME TO renamed;\n"});
  steps.version = 5;
  steps.usable_since = 5;
  return steps;
}

TEST(SchemaTest, AnAdditiveStepKeepsTheTablesUsableForThisProgram) {
  const std::unique_ptr<PostgresConnection> connection = Connect("added");
  ASSERT_EQ(MigrateStore(*connection, "added", ThisProgram()), absl::OkStatus());
  const StoreSteps later = WithAddition();
  EXPECT_EQ(CheckStore(*connection, later).code(), kFailed) << "the later program needs its table";
  for (int i = 0; i < 2; ++i) EXPECT_EQ(MigrateStore(*connection, "added", later), absl::OkStatus());
  for (const StoreSteps& steps : {later, ThisProgram()}) {
    EXPECT_EQ(CheckStore(*connection, steps), absl::OkStatus());
    EXPECT_EQ(MigrateStore(*connection, "added", steps), absl::OkStatus());
  }
  EXPECT_EQ(SharedServer().Sql("SELECT count(*) FROM addition", "added"), "0");
  // What a program of version 1 reads, which knows only one version.
  EXPECT_EQ(SharedServer().Sql("SELECT version FROM store", "added"), "1");
  EXPECT_EQ(*ClaimStore(*connection, "added", ThisProgram(), "true"), true);
  EXPECT_EQ(CheckStore(*connection, later).code(), kFailed);
  EXPECT_EQ(OpenClaimedStore(*connection, ThisProgram()), absl::OkStatus());
  EXPECT_EQ(CheckStore(*connection, later), absl::OkStatus());
}

TEST(SchemaTest, TheTransactionThatCreatesTheTablesClaimsThem) {
  EXPECT_EQ(*ClaimStore(*Connect("claimed"), "claimed", ThisProgram(), "false"), true) << "a new store is unused";
  EXPECT_EQ(SharedServer().Sql("SELECT xmin = (SELECT xmin FROM pg_class WHERE oid = 'store'::regclass) FROM store",
                               "claimed"),
            "t");
  EXPECT_EQ(MigrateStore(*Connect("claimed"), "claimed", ThisProgram()).code(), kFailed);
  EXPECT_EQ(ClaimStore(*Connect("claimed"), "claimed", ThisProgram(), "true").status().code(), kFailed)
      << "another copy";
}

TEST(SchemaTest, TablesThatExistAreClaimedOnlyIfTheyAreUnused) {
  const std::unique_ptr<PostgresConnection> connection = Connect("used");
  ASSERT_EQ(MigrateStore(*connection, "used", ThisProgram()), absl::OkStatus());
  SharedServer().Sql("INSERT INTO things VALUES ('one')", "used");
  EXPECT_EQ(*ClaimStore(*connection, "used", ThisProgram(), "NOT EXISTS (SELECT FROM things)"), false);
  EXPECT_EQ(CheckStore(*connection, ThisProgram()), absl::OkStatus());
}

TEST(SchemaTest, AStepThatChangesATableStopsOlderPrograms) {
  const std::unique_ptr<PostgresConnection> connection = Connect("changed");
  ASSERT_EQ(MigrateStore(*connection, "changed", WithAddition()), absl::OkStatus());
  ASSERT_EQ(MigrateStore(*connection, "changed", WithChange()), absl::OkStatus());
  EXPECT_EQ(CheckStore(*connection, WithChange()), absl::OkStatus());
  for (const StoreSteps& steps : {WithAddition(), ThisProgram()}) {
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
  ASSERT_EQ(MigrateStore(*Connect("stepped"), "stepped", ThisProgram()), absl::OkStatus());
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([i] {
      const std::unique_ptr<PostgresConnection> connection = Connect("stepped");
      EXPECT_EQ(MigrateStore(*connection, "stepped", i % 2 == 0 ? WithAddition() : ThisProgram()), absl::OkStatus());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(CheckStore(*Connect("stepped"), WithAddition()), absl::OkStatus());
}

// Creates a store as the first version of the program did.
void CreateVersion1(const std::string& schema) {
  StoreSteps first = ThisProgram();
  first.version = 1;
  ASSERT_EQ(MigrateStore(*Connect(schema), schema, first), absl::OkStatus());
}

TEST(SchemaTest, TablesOfVersion1GetThoseOfThisVersionAndKeepTheirRows) {
  CreateVersion1("first");
  SharedServer().Sql("INSERT INTO things VALUES ('one')", "first");
  const std::unique_ptr<PostgresConnection> connection = Connect("first");
  EXPECT_THAT(CheckStore(*connection, ThisProgram()).message(), HasSubstr("stampgate store migrate"));
  EXPECT_EQ(MigrateStore(*connection, "first", ThisProgram()), absl::OkStatus());
  EXPECT_EQ(CheckStore(*connection, ThisProgram()), absl::OkStatus());
  EXPECT_EQ(SharedServer().Sql("SELECT count(*) FROM things", "first"), "1");
  EXPECT_EQ(SharedServer().Sql("SELECT count_things()", "first"), "1");
}

TEST(SchemaTest, ConcurrentMigrationsOfVersion1ChangeTheTablesOnce) {
  CreateVersion1("second");
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([] {
      const std::unique_ptr<PostgresConnection> connection = Connect("second");
      EXPECT_EQ(MigrateStore(*connection, "second", ThisProgram()), absl::OkStatus());
      EXPECT_EQ(CheckStore(*connection, ThisProgram()), absl::OkStatus());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// The migration is one transaction.
TEST(SchemaTest, AFailedMigrationOfVersion1ChangesNothing) {
  CreateVersion1("third");
  SharedServer().Sql("CREATE FUNCTION count_things() RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'", "third");
  EXPECT_FALSE(MigrateStore(*Connect("third"), "third", ThisProgram()).ok());
  EXPECT_EQ(SharedServer().Sql("SELECT version FROM store", "third"), "1");
  EXPECT_EQ(SharedServer().Sql("SELECT to_regclass('colors') IS NULL", "third"), "t");
}

// The migration is one transaction.
TEST(SchemaTest, AFailedMigrationLeavesNothing) {
  SharedServer().Sql("CREATE SCHEMA taken; CREATE TABLE taken.things ()");
  EXPECT_FALSE(MigrateStore(*Connect("taken"), "taken", ThisProgram()).ok());
  EXPECT_EQ(SharedServer().Sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'taken'"), "1");
}

TEST(SchemaTest, OnlyARoleWithTheRightCreatesTheTables) {
  SharedServer().Sql("CREATE ROLE stranger LOGIN");
  const std::unique_ptr<PostgresConnection> connection = Connect("strange", "stranger");
  EXPECT_EQ(MigrateStore(*connection, "strange", ThisProgram()).code(), kFailed);
  SharedServer().Sql("GRANT CREATE ON DATABASE postgres TO stranger");
  EXPECT_EQ(MigrateStore(*connection, "strange", ThisProgram()), absl::OkStatus());
}

// An administrator creates the schema for a role that may create nothing else.
TEST(SchemaTest, TheOwnerOfTheSchemaNeedsNoRightOnTheDatabase) {
  SharedServer().Sql("CREATE ROLE owner LOGIN; CREATE SCHEMA owned AUTHORIZATION owner");
  EXPECT_EQ(MigrateStore(*Connect("owned", "owner"), "owned", ThisProgram()), absl::OkStatus());
}

TEST(SchemaTest, ARoleWithGrantedRightsCanCheckTheStoreButNotChangeIt) {
  const std::unique_ptr<PostgresConnection> owner = Connect("granted");
  ASSERT_TRUE(MigrateStore(*owner, "granted", ThisProgram()).ok());
  SharedServer().Sql("CREATE ROLE \"the \"\"gateway\" LOGIN");
  const std::unique_ptr<PostgresConnection> gateway = Connect("granted", "the \"gateway");
  EXPECT_EQ(CheckStore(*gateway, ThisProgram()).code(), kFailed) << "a role has no rights at first";
  ASSERT_EQ(GrantStore(*owner, "granted", "the \"gateway", ThisProgram()), absl::OkStatus());
  EXPECT_EQ(CheckStore(*gateway, ThisProgram()), absl::OkStatus());
  EXPECT_EQ(MigrateStore(*gateway, "granted", ThisProgram()), absl::OkStatus()) << "there is nothing to create";
  EXPECT_TRUE(gateway->Run({{"SELECT count_things()"}}).ok());
  EXPECT_EQ(gateway->Run({{"UPDATE store SET version = 9"}}).status().code(), kFailed);
  EXPECT_EQ(gateway->Run({{"INSERT INTO things VALUES ('one')"}}).status().code(), kFailed);
  EXPECT_EQ(GrantStore(*owner, "granted", "nobody", ThisProgram()).code(), kFailed);
}

}  // namespace
}  // namespace stampgate
