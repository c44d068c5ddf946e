#include "base/postgres/schema.h"

#include <utility>
#include <vector>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/postgres/sql.h"

namespace stampgate {
namespace {

// The key of the lock under which a program creates the tables: "stampgat" in ASCII.
constexpr int64_t kMigrationLock = 0x7374616d70676174;

// The version of a store to which a copy is being made.
constexpr int64_t kClaimed = -1;

// What all subjects use. Its SQL runs before theirs.
const StoreTables& CommonTables() {
  static const StoreTables& tables = *new StoreTables{{kStoreV1Sql, "", kStoreV3Sql}, "server_us"};
  return tables;
}

std::string Quoted(const std::string& name) {
  return absl::StrCat("\"", absl::StrReplaceAll(name, {{"\"", "\"\""}}), "\"");
}

struct TableVersions {
  int64_t steps = 0;  // 0 if there are no tables
  int64_t usable_since = 0;
};

absl::StatusOr<TableVersions> VersionsOf(PostgresConnection& connection) {
  ABSL_ASSIGN_OR_RETURN(std::vector<PostgresResult> exists,
                        connection.Run({{"SELECT to_regclass('store') IS NOT NULL"}}));
  if (exists.front().Number(0, 0) == 0) return TableVersions();
  // The column `steps` does not exist in version 1.
  ABSL_ASSIGN_OR_RETURN(
      std::vector<PostgresResult> versions,
      connection.Run({{"SELECT coalesce((to_jsonb(store) ->> 'steps')::bigint, version), version FROM store"}}));
  if (versions.front().rows() != 1) return TableVersions();
  return TableVersions{versions.front().Number(0, 0), versions.front().Number(0, 1)};
}

// Checks that a program with these steps can use the tables, apart from steps that are still to be made.
absl::Status CheckUsable(const TableVersions& tables, const StoreSteps& steps) {
  if (tables.usable_since == kClaimed) {
    return absl::FailedPreconditionError(
        "a copy to this store has not ended; if it was interrupted, drop the schema and start again");
  }
  if (tables.usable_since <= steps.version) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("the store's tables have version ", tables.steps,
                                                    ", which programs since version ", tables.usable_since,
                                                    " can use; this program uses version ", steps.version));
}

// Splits a file of SQL at each ";" that ends a line outside of a function's body, because one statement is sent at a
// time.
std::vector<PostgresStatement> StatementsOf(absl::string_view sql) {
  std::vector<PostgresStatement> statements;
  bool in_body = false;
  size_t begin = 0;
  for (size_t at = 0; at < sql.size(); ++at) {
    if (sql.substr(at, 2) == "$$") {
      in_body = !in_body;
      ++at;
    } else if (sql.substr(at, 2) == ";\n" && !in_body) {
      statements.push_back({std::string(sql.substr(begin, at - begin))});
      begin = at + 1;
    }
  }
  return statements;
}

// Appends the statements that bring the tables of a subject to `version` from the version before.
void AppendStep(const StoreTables& tables, size_t version, std::vector<PostgresStatement>& statements) {
  if (version > tables.sql.size()) return;
  for (PostgresStatement& statement : StatementsOf(tables.sql[version - 1])) statements.push_back(std::move(statement));
}

// Returns the statements of one transaction, which brings the tables from `before` to the version of `steps`.
absl::StatusOr<std::vector<PostgresStatement>> StatementsAfter(const TableVersions& before,
                                                               PostgresConnection& connection,
                                                               const std::string& schema, const StoreSteps& steps) {
  ABSL_ASSIGN_OR_RETURN(
      const std::vector<PostgresResult> exists,
      connection.Run({{"SELECT 1 FROM pg_namespace WHERE nspname = $1", PostgresParameters().Text(schema)}}));
  // The lock ends with the transaction. A program that has waited for it fails, because the tables then exist.
  std::vector<PostgresStatement> statements = {
      {"SELECT pg_advisory_xact_lock($1)", PostgresParameters().Bigint(kMigrationLock)}};
  // Not CREATE SCHEMA IF NOT EXISTS, which requires a right on the database even if the schema exists.
  if (exists.front().rows() == 0) statements.push_back({absl::StrCat("CREATE SCHEMA ", Quoted(schema))});
  for (auto version = static_cast<size_t>(before.steps) + 1; version <= static_cast<size_t>(steps.version); ++version) {
    AppendStep(CommonTables(), version, statements);
    for (const StoreTables& tables : steps.tables) AppendStep(tables, version, statements);
  }
  if (steps.version > 1) {
    statements.emplace_back().sql = "ALTER TABLE store ADD COLUMN IF NOT EXISTS steps integer";
    statements.push_back({"UPDATE store SET version = greatest(version, $1::integer), steps = $2::integer",
                          PostgresParameters().Bigint(steps.usable_since).Bigint(steps.version)});
  }
  return statements;
}

}  // namespace

absl::Status MigrateStore(PostgresConnection& connection, const std::string& schema, const StoreSteps& steps) {
  ABSL_ASSIGN_OR_RETURN(const TableVersions before, VersionsOf(connection));
  ABSL_RETURN_IF_ERROR(CheckUsable(before, steps));
  if (before.steps >= steps.version) return absl::OkStatus();
  ABSL_ASSIGN_OR_RETURN(std::vector<PostgresStatement> statements, StatementsAfter(before, connection, schema, steps));
  const absl::Status created = connection.Commit(std::move(statements)).status();
  if (created.ok()) return created;
  const absl::StatusOr<TableVersions> after = VersionsOf(connection);
  return after.ok() && CheckUsable(*after, steps).ok() && after->steps >= steps.version ? absl::OkStatus() : created;
}

absl::Status GrantStore(PostgresConnection& connection, const std::string& schema, const std::string& role,
                        const StoreSteps& steps) {
  const std::string to = absl::StrCat(" TO ", Quoted(role));
  std::string functions = CommonTables().functions;
  for (const StoreTables& tables : steps.tables) {
    if (!tables.functions.empty()) absl::StrAppend(&functions, ", ", tables.functions);
  }
  return connection
      .Commit({{absl::StrCat("GRANT USAGE ON SCHEMA ", Quoted(schema), to)},
               {absl::StrCat("GRANT SELECT ON ALL TABLES IN SCHEMA ", Quoted(schema), to)},
               {absl::StrCat("GRANT EXECUTE ON FUNCTION ", functions, to)}})
      .status();
}

absl::StatusOr<bool> ClaimStore(PostgresConnection& connection, const std::string& schema, const StoreSteps& steps,
                                absl::string_view is_unused) {
  ABSL_ASSIGN_OR_RETURN(const TableVersions before, VersionsOf(connection));
  ABSL_RETURN_IF_ERROR(CheckUsable(before, steps));
  if (before.steps == 0) {
    ABSL_ASSIGN_OR_RETURN(std::vector<PostgresStatement> statements,
                          StatementsAfter(before, connection, schema, steps));
    statements.push_back({"UPDATE store SET version = $1::integer", PostgresParameters().Bigint(kClaimed)});
    const absl::Status created = connection.Commit(std::move(statements)).status();
    if (created.ok()) return true;
    // Another program has perhaps created the tables in the meantime.
    const absl::StatusOr<TableVersions> after = VersionsOf(connection);
    if (!after.ok() || after->steps == 0) return created;
  }
  ABSL_RETURN_IF_ERROR(MigrateStore(connection, schema, steps));
  ABSL_ASSIGN_OR_RETURN(
      const std::vector<PostgresResult> results,
      connection.Commit({{absl::StrCat("UPDATE store SET version = $1::integer WHERE version > 0 AND (", is_unused,
                                       ") RETURNING version"),
                          PostgresParameters().Bigint(kClaimed)}}));
  return results.front().rows() == 1;
}

absl::Status OpenClaimedStore(PostgresConnection& connection, const StoreSteps& steps) {
  return connection
      .Commit({{"UPDATE store SET version = greatest($1, (SELECT CASE WHEN unsealed_through IS NOT NULL THEN 3 END"
                " FROM bounds))::integer WHERE version = $2",
                PostgresParameters().Bigint(steps.usable_since).Bigint(kClaimed)}})
      .status();
}

absl::Status CheckStore(PostgresConnection& connection, const StoreSteps& steps) {
  ABSL_ASSIGN_OR_RETURN(const TableVersions tables, VersionsOf(connection));
  ABSL_RETURN_IF_ERROR(CheckUsable(tables, steps));
  if (tables.steps < steps.version) {
    return absl::FailedPreconditionError("the store's tables are missing or old: run `stampgate store migrate`");
  }
  return absl::OkStatus();
}

}  // namespace stampgate
