#include "gateway/store/postgres/store_tables.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/postgres/connection.h"
#include "base/postgres/test_server.h"

namespace stampgate {
namespace {

// Brings the tables to the version.
void Migrate(const std::string& schema, int version) {
  StoreSteps steps = StepsOfThisProgram();
  steps.version = version;
  const std::unique_ptr<PostgresConnection> connection =
      PostgresConnection::Open(SharedServer().address(schema)).value();
  ASSERT_EQ(MigrateStore(*connection, schema, steps), absl::OkStatus());
}

// Returns the definitions of all tables, columns, constraints, indexes and functions, with the rights to them.
std::string Describe(const std::string& schema) {
  return SharedServer().Sql(
      "SELECT string_agg(replace(line, current_schema(), 'schema'), E'\\n' ORDER BY line COLLATE \"C\") FROM ("
      "SELECT concat_ws(' ', relname, relkind, relpersistence, reloptions, relacl) FROM pg_class"
      " WHERE relnamespace = current_schema()::regnamespace"
      " UNION ALL SELECT concat_ws(' ', relname, attnum, attname, format_type(atttypid, atttypmod), attnotnull,"
      " attstorage, attacl, pg_get_expr(adbin, adrelid)) FROM pg_attribute JOIN pg_class ON attrelid = pg_class.oid"
      " LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum"
      " WHERE relnamespace = current_schema()::regnamespace AND attnum > 0"
      " UNION ALL SELECT concat_ws(' ', conrelid::regclass, conname, convalidated, pg_get_constraintdef(oid))"
      " FROM pg_constraint WHERE connamespace = current_schema()::regnamespace"
      " UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema()"
      " UNION ALL SELECT concat_ws(' ', pg_get_functiondef(oid), proacl) FROM pg_proc"
      " WHERE pronamespace = current_schema()::regnamespace) AS lines (line)",
      schema);
}

TEST(StoreTablesTest, EveryStartLeadsToTheSameTables) {
  Migrate("from_nothing", 3);
  const std::string expected = Describe("from_nothing");
  for (const int version : {1, 2}) {
    const std::string schema = absl::StrCat("from_version_", version);
    Migrate(schema, version);
    Migrate(schema, 3);
    EXPECT_EQ(Describe(schema), expected) << version;
  }
}

// Programs of several releases use a store at the same time, so a step of a release stays as it is.
TEST(StoreTablesTest, TheTablesOfReleasesStayAsTheyAre) {
  const auto digest = [](const std::string& schema, int version) {
    Migrate(schema, version);
    return SharedServer().Sql(absl::StrCat("SELECT md5($text$", Describe(schema), "$text$)"));
  };
  EXPECT_EQ(digest("of_version_1", 1), "64977fd51f41938a6b40f81d510de2d0");
  EXPECT_EQ(digest("of_version_2", 2), "3bdcff02a4e51e29a6d10455fd42a2ab");
  EXPECT_EQ(digest("of_version_3", 3), "8e4e3875f6a8c72246c4551783cbec97");
}

}  // namespace
}  // namespace stampgate
