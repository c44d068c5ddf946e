#include "webhooks/postgres/schema.h"

#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "webhooks/postgres/rates_sql.h"
#include "webhooks/postgres/schema_sql.h"

namespace stampgate {
namespace {

// The key of the lock under which a program creates the tables: "stampgat" in ASCII.
constexpr int64_t kMigrationLock = 0x7374616d70676174;

// The files that bring the tables from each version to the next: the first from nothing to version 1.
constexpr absl::string_view kSteps[] = {kSchemaSql, kRatesSql};
static_assert(std::size(kSteps) == kStoreVersion);

// The version of a store to which a copy is being made.
constexpr int64_t kClaimed = -1;

std::string Quoted(const std::string& name) {
  return absl::StrCat("\"", absl::StrReplaceAll(name, {{"\"", "\"\""}}), "\"");
}

// Returns the version of the tables, or 0 if there are none.
absl::StatusOr<int64_t> VersionOf(PostgresConnection& connection) {
  absl::StatusOr<std::vector<PostgresResult>> exists = connection.Run({{"SELECT to_regclass('store') IS NOT NULL"}});
  if (!exists.ok()) return exists.status();
  if (exists->front().Number(0, 0) == 0) return 0;
  absl::StatusOr<std::vector<PostgresResult>> version = connection.Run({{"SELECT version FROM store"}});
  if (!version.ok()) return version.status();
  return version->front().rows() == 1 ? version->front().Number(0, 0) : 0;
}

absl::Status OtherVersion(int64_t version) {
  if (version == kClaimed) {
    return absl::FailedPreconditionError(
        "a copy to this store has not ended; if it was interrupted, drop the schema and start again");
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the store's tables have version ", version, "; this program uses version ", kStoreVersion));
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

}  // namespace

absl::Status MigrateStore(PostgresConnection& connection, const std::string& schema) {
  const absl::StatusOr<int64_t> before = VersionOf(connection);
  if (!before.ok()) return before.status();
  if (*before > kStoreVersion || *before == kClaimed) return OtherVersion(*before);
  if (*before == kStoreVersion) return absl::OkStatus();
  const absl::StatusOr<std::vector<PostgresResult>> exists =
      connection.Run({{"SELECT 1 FROM pg_namespace WHERE nspname = $1", PostgresParameters().Text(schema)}});
  if (!exists.ok()) return exists.status();
  // The lock ends with the transaction. A program that has waited for it fails, because the tables then exist.
  std::vector<PostgresStatement> statements = {
      {"SELECT pg_advisory_xact_lock($1)", PostgresParameters().Bigint(kMigrationLock)}};
  // Not CREATE SCHEMA IF NOT EXISTS, which requires a right on the database even if the schema exists.
  if (exists->front().rows() == 0) statements.push_back({absl::StrCat("CREATE SCHEMA ", Quoted(schema))});
  for (auto step = static_cast<size_t>(*before); step < std::size(kSteps); ++step) {
    for (PostgresStatement& statement : StatementsOf(kSteps[step])) statements.push_back(std::move(statement));
  }
  const absl::Status created = connection.Commit(std::move(statements)).status();
  if (created.ok()) return created;
  const absl::StatusOr<int64_t> after = VersionOf(connection);
  return after.ok() && *after == kStoreVersion ? absl::OkStatus() : created;
}

absl::Status GrantStore(PostgresConnection& connection, const std::string& schema, const std::string& role) {
  const std::string to = absl::StrCat(" TO ", Quoted(role));
  return connection
      .Commit(
          {{absl::StrCat("GRANT USAGE ON SCHEMA ", Quoted(schema), to)},
           {absl::StrCat("GRANT SELECT ON ALL TABLES IN SCHEMA ", Quoted(schema), to)},
           {absl::StrCat("GRANT EXECUTE ON FUNCTION create_log, append_events, trim_log, bytes_of_log, position_before,"
                         " time_us, age_of_submits, put_submits, tidy_submits, record_loss, take_lease,"
                         " raise_lease, release_lease, renew_shares, release_shares, take_quota, return_quota",
                         to)}})
      .status();
}

absl::Status MarkServerAsRestored(PostgresConnection& connection) {
  if (absl::Status status = CheckStore(connection); !status.ok()) return status;
  const absl::Status status = connection.Commit({{"SELECT mark_restored(NULL)"}}).status();
  if (!absl::IsUnavailable(status)) return status;
  return absl::UnavailableError(
      absl::StrCat(status.message(), "; start the standbys first, and run this command again"));
}

absl::Status ClaimEmptyStore(PostgresConnection& connection) {
  if (absl::Status status = CheckStore(connection); !status.ok()) return status;
  if (absl::Status status = CheckStoreIsUnused(connection); !status.ok()) return status;
  const absl::StatusOr<std::vector<PostgresResult>> results =
      connection.Commit({{"UPDATE store SET version = $1::integer WHERE version = $2 AND NOT EXISTS (SELECT FROM log)"
                          " AND NOT EXISTS (SELECT FROM submits) RETURNING version",
                          PostgresParameters().Bigint(kClaimed).Bigint(kStoreVersion)}});
  if (!results.ok()) return results.status();
  if (results->front().rows() == 1) return absl::OkStatus();
  return absl::FailedPreconditionError("the store has an event log or idempotency keys already");
}

absl::Status OpenClaimedStore(PostgresConnection& connection) {
  return connection
      .Commit({{"UPDATE store SET version = $1::integer WHERE version = $2",
                PostgresParameters().Bigint(kStoreVersion).Bigint(kClaimed)}})
      .status();
}

absl::Status CheckStoreIsUnused(PostgresConnection& connection) {
  const absl::StatusOr<std::vector<PostgresResult>> results = connection.Run(
      {{"SELECT count(*) FROM leases WHERE holder IS NOT NULL AND renewed_us > time_us(NULL) - 600000000"}});
  if (!results.ok()) return results.status();
  const int64_t gateways = results->front().Number(0, 0);
  if (gateways == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(gateways, gateways == 1 ? " gateway uses" : " gateways use",
                   " the store, or ended without freeing its lease less than ten minutes ago"));
}

absl::Status CheckStore(PostgresConnection& connection) {
  const absl::StatusOr<int64_t> version = VersionOf(connection);
  if (!version.ok()) return version.status();
  if (*version > kStoreVersion || *version == kClaimed) return OtherVersion(*version);
  if (*version < kStoreVersion) {
    return absl::FailedPreconditionError("the store's tables are missing or old: run `stampgate store migrate`");
  }
  return absl::OkStatus();
}

}  // namespace stampgate
