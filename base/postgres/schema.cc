#include "base/postgres/schema.h"

#include <utility>
#include <vector>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/postgres/owner_sql.h"
#include "base/postgres/rates_sql.h"
#include "base/postgres/schema_sql.h"

namespace stampgate {
namespace {

// The key of the lock under which a program creates the tables: "stampgat" in ASCII.
constexpr int64_t kMigrationLock = 0x7374616d70676174;

// The version of a store to which a copy is being made.
constexpr int64_t kClaimed = -1;

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
  if (tables.usable_since <= steps.version()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("the store's tables have version ", tables.steps,
                                                    ", which programs since version ", tables.usable_since,
                                                    " can use; this program uses version ", steps.version()));
}

absl::Status NotEmpty() {
  return absl::FailedPreconditionError("the store has an event log or idempotency keys already");
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
  for (auto step = static_cast<size_t>(before.steps); step < steps.sql.size(); ++step) {
    for (PostgresStatement& statement : StatementsOf(steps.sql[step])) statements.push_back(std::move(statement));
  }
  if (steps.version() > 1) {
    statements.emplace_back().sql = "ALTER TABLE store ADD COLUMN IF NOT EXISTS steps integer";
    statements.push_back({"UPDATE store SET version = greatest(version, $1::integer), steps = $2::integer",
                          PostgresParameters().Bigint(steps.usable_since).Bigint(steps.version())});
  }
  return statements;
}

}  // namespace

const StoreSteps& StepsOfThisProgram() {
  static const StoreSteps& steps = *new StoreSteps{{kSchemaSql, kRatesSql, kOwnerSql}, /*usable_since=*/1};
  return steps;
}

absl::Status MigrateStore(PostgresConnection& connection, const std::string& schema, const StoreSteps& steps) {
  ABSL_ASSIGN_OR_RETURN(const TableVersions before, VersionsOf(connection));
  ABSL_RETURN_IF_ERROR(CheckUsable(before, steps));
  if (before.steps >= steps.version()) return absl::OkStatus();
  ABSL_ASSIGN_OR_RETURN(std::vector<PostgresStatement> statements, StatementsAfter(before, connection, schema, steps));
  const absl::Status created = connection.Commit(std::move(statements)).status();
  if (created.ok()) return created;
  const absl::StatusOr<TableVersions> after = VersionsOf(connection);
  return after.ok() && CheckUsable(*after, steps).ok() && after->steps >= steps.version() ? absl::OkStatus() : created;
}

absl::Status GrantStore(PostgresConnection& connection, const std::string& schema, const std::string& role) {
  const std::string to = absl::StrCat(" TO ", Quoted(role));
  return connection
      .Commit(
          {{absl::StrCat("GRANT USAGE ON SCHEMA ", Quoted(schema), to)},
           {absl::StrCat("GRANT SELECT ON ALL TABLES IN SCHEMA ", Quoted(schema), to)},
           {absl::StrCat("GRANT EXECUTE ON FUNCTION create_log, store_events, trim_events, bytes_of_log,"
                         " position_before, server_us, age_of_keys, store_submits, trim_submits, report_loss,"
                         " begin_lease, extend_lease, end_lease, renew_rates, release_rates, take_calls, return_calls",
                         to)}})
      .status();
}

absl::Status MarkServerAsRestored(PostgresConnection& connection) {
  ABSL_RETURN_IF_ERROR(CheckStore(connection));
  const absl::Status status = connection.Commit({{"SELECT repair_store()"}}).status();
  if (!absl::IsUnavailable(status)) return status;
  return absl::UnavailableError(
      absl::StrCat(status.message(), "; start the standbys first, and run this command again"));
}

absl::Status ClaimEmptyStore(PostgresConnection& connection, const std::string& schema) {
  const StoreSteps& steps = StepsOfThisProgram();
  ABSL_ASSIGN_OR_RETURN(const TableVersions before, VersionsOf(connection));
  ABSL_RETURN_IF_ERROR(CheckUsable(before, steps));
  if (before.steps == 0) {
    ABSL_ASSIGN_OR_RETURN(std::vector<PostgresStatement> statements,
                          StatementsAfter(before, connection, schema, steps));
    statements.push_back({"UPDATE store SET version = $1::integer", PostgresParameters().Bigint(kClaimed)});
    const absl::Status created = connection.Commit(std::move(statements)).status();
    if (created.ok()) return created;
    // Another program has perhaps created the tables in the meantime.
    const absl::StatusOr<TableVersions> after = VersionsOf(connection);
    if (!after.ok() || after->steps == 0) return created;
  }
  ABSL_RETURN_IF_ERROR(MigrateStore(connection, schema, steps));
  ABSL_RETURN_IF_ERROR(CheckStoreIsUnused(connection));
  ABSL_ASSIGN_OR_RETURN(
      const std::vector<PostgresResult> results,
      connection.Commit({{"UPDATE store SET version = $1::integer WHERE version > 0 AND NOT EXISTS (SELECT FROM log)"
                          " AND NOT EXISTS (SELECT FROM submits) RETURNING version",
                          PostgresParameters().Bigint(kClaimed)}}));
  if (results.front().rows() != 1) return NotEmpty();
  // A gateway that starts now looks at the claim again after it has taken its lease and created its log. Because this
  // program looks for both after the claim, at least one of the two programs sees the other.
  absl::Status status = CheckStoreIsUnused(connection);
  if (status.ok()) {
    const absl::StatusOr<std::vector<PostgresResult>> log = connection.Run({{"SELECT count(*) FROM log"}});
    status = !log.ok() ? log.status() : log->front().Number(0, 0) > 0 ? NotEmpty() : absl::OkStatus();
  }
  if (!status.ok()) OpenClaimedStore(connection).IgnoreError();  // nothing was copied
  return status;
}

absl::Status OpenClaimedStore(PostgresConnection& connection) {
  return connection
      .Commit({{"UPDATE store SET version = greatest($1, (SELECT CASE WHEN unsealed_through IS NOT NULL THEN 3 END"
                " FROM bounds))::integer WHERE version = $2",
                PostgresParameters().Bigint(StepsOfThisProgram().usable_since).Bigint(kClaimed)}})
      .status();
}

absl::Status CheckStoreIsUnused(PostgresConnection& connection) {
  ABSL_ASSIGN_OR_RETURN(
      const std::vector<PostgresResult> results,
      connection.Run(
          {{"SELECT count(*) FROM leases WHERE holder IS NOT NULL AND renewed_us > server_us() - 600000000"}}));
  const int64_t gateways = results.front().Number(0, 0);
  if (gateways == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(gateways, gateways == 1 ? " gateway uses" : " gateways use",
                   " the store, or ended without freeing its lease less than ten minutes ago"));
}

absl::Status CheckStore(PostgresConnection& connection, const StoreSteps& steps) {
  ABSL_ASSIGN_OR_RETURN(const TableVersions tables, VersionsOf(connection));
  ABSL_RETURN_IF_ERROR(CheckUsable(tables, steps));
  if (tables.steps < steps.version()) {
    return absl::FailedPreconditionError("the store's tables are missing or old: run `stampgate store migrate`");
  }
  return absl::OkStatus();
}

}  // namespace stampgate
