#include "gateway/commands/store_commands.h"

#include <memory>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/status_macros.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/postgres/durability.h"
#include "base/postgres/schema.h"
#include "base/postgres/store_bounds.h"
#include "base/postgres/store_connection.h"
#include "base/time/duration.h"
#include "gateway/config/config.h"
#include "gateway/config/loader.h"
#include "gateway/config/settings/store_address.h"
#include "gateway/config/settings/store_bounds.h"
#include "gateway/store/postgres/store_owner.h"
#include "gateway/store/postgres/store_tables.h"
#include "gateway/store/sqlite/restored_calls.h"
#include "webhooks/log/postgres/unsealed_events.h"
#include "webhooks/log/sqlite/restored.h"

namespace stampgate {
namespace {

// Returns the config if it has a store on PostgreSQL.
absl::StatusOr<Config> LoadPostgresql(const std::string& file) {
  absl::StatusOr<Config> config = LoadPolicy(file);
  if (config.ok() && !(*config)->store().has_postgresql()) {
    return absl::FailedPreconditionError(absl::StrCat(file, ": the config has no store.postgresql"));
  }
  return config;
}

// A store without a decision whose events all need a seal was created by this release.
bool IsNew(const StoreDecisions& decided) { return !decided.bounds.has_value() && decided.unsealed_through == 0; }

std::string Describe(const StoreDecisions& decided) {
  std::string text = "the store deletes nothing until its owner runs stampgate store set\n";
  if (const std::optional<StoreBounds>& bounds = decided.bounds; bounds.has_value()) {
    text = absl::StrCat("the store keeps events for ", absl::FormatDuration(bounds->retention_age), ", at most ",
                        bounds->retention_bytes, " bytes; ids of events for ",
                        absl::FormatDuration(bounds->deduplication_age), "; and idempotency keys for ",
                        absl::FormatDuration(bounds->key_retention), "\n");
  }
  absl::StrAppend(&text,
                  decided.unsealed_through.has_value()
                      ? "every new event must have a seal\n"
                      : "WARNING: gateways of releases before 0.2.0 can store events without a seal; when none of"
                        " them runs, run stampgate store seal\n");
  return text;
}

// Adds to an error what the operator can do.
absl::Status WithRemedy(const absl::Status& status) {
  if (!absl::StrContains(status.message(), "(55P03)")) return status;  // lock_not_available
  return absl::Status(status.code(), absl::StrCat(status.message(),
                                                  ": another session, such as a backup, uses the tables; run this"
                                                  " command again when it has ended"));
}

// Runs `change` as the owner of the store, and returns what is decided then.
absl::StatusOr<std::string> ChangeStore(
    const std::string& file, absl::FunctionRef<absl::Status(PostgresConnection&, const config::v1::Config&)> change) {
  ABSL_ASSIGN_OR_RETURN(const Config config, LoadPostgresql(file));
  ABSL_ASSIGN_OR_RETURN(const std::unique_ptr<PostgresConnection> connection,
                        PostgresConnection::Open(AddressOf(*config)));
  ABSL_RETURN_IF_ERROR(CheckStore(*connection, StepsOfThisProgram()));
  if (absl::Status status = change(*connection, *config); !status.ok()) return WithRemedy(status);
  ABSL_ASSIGN_OR_RETURN(const StoreDecisions decided, ReadStoreDecisions(*connection));
  return Describe(decided);
}

}  // namespace

absl::StatusOr<std::string> MarkStoreAsRestored(const std::string& file) {
  ABSL_ASSIGN_OR_RETURN(const Config config, LoadPolicy(file));
  const std::string retention = absl::FormatDuration(ToDuration(config->store().key_retention()));
  const std::string consequence = absl::StrCat(": timestamps will begin above earlier ones; for ", retention,
                                               ", the gateway will send nothing for older idempotency keys\n");
  if (config->store().has_postgresql()) {
    const PostgresAddress address = AddressOf(*config);
    ABSL_ASSIGN_OR_RETURN(std::unique_ptr<PostgresConnection> connection, PostgresConnection::Open(address));
    ABSL_RETURN_IF_ERROR(MarkServerAsRestored(*connection));
    return absl::StrCat("schema ", address.schema, consequence);
  }
  const std::string& events = config->events().file();
  const std::string calls = CallStoreFile(*config);
  if (events.empty()) return absl::FailedPreconditionError(absl::StrCat(file, ": the config has no store"));
  ABSL_RETURN_IF_ERROR(MarkLogAsRestored(events));
  std::string text = absl::StrCat(events, ": the gateway will refuse older cursors; subscribers must start again\n");
  if (calls.empty()) return text;
  ABSL_RETURN_IF_ERROR(MarkCallsAsRestored(calls, absl::Now()));
  return absl::StrCat(text, calls, consequence);
}

absl::StatusOr<std::string> MigrateStoreOf(const std::string& file, const std::string& grant_to) {
  ABSL_ASSIGN_OR_RETURN(const Config config, LoadPostgresql(file));
  const PostgresAddress address = AddressOf(*config);
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<PostgresConnection> connection, PostgresConnection::Open(address));
  if (absl::Status status = MigrateStore(*connection, address.schema, StepsOfThisProgram()); !status.ok())
    return WithRemedy(status);
  std::string text =
      absl::StrCat("schema ", address.schema, ": has the tables of version ", StepsOfThisProgram().version, "\n");
  ABSL_ASSIGN_OR_RETURN(StoreDecisions decided, ReadStoreDecisions(*connection));
  if (IsNew(decided)) {
    decided.bounds = StoreBoundsOf(*config);
    ABSL_RETURN_IF_ERROR(WriteStoreBounds(*connection, *decided.bounds));
  }
  absl::StrAppend(&text, Describe(decided));
  if (grant_to.empty()) return text;
  ABSL_RETURN_IF_ERROR(GrantStore(*connection, address.schema, grant_to, StepsOfThisProgram()));
  return absl::StrCat(text, "role ", grant_to, ": has the rights of a gateway\n");
}

absl::StatusOr<std::string> SetStoreOf(const std::string& file) {
  return ChangeStore(file, [](PostgresConnection& connection, const config::v1::Config& config) {
    return WriteStoreBounds(connection, StoreBoundsOf(config));
  });
}

absl::StatusOr<std::string> SealStoreOf(const std::string& file) {
  return ChangeStore(file,
                     [](PostgresConnection& connection, const config::v1::Config&) { return SealStore(connection); });
}

absl::StatusOr<std::string> CheckStoreOf(const std::string& file) {
  ABSL_ASSIGN_OR_RETURN(const Config config, LoadPostgresql(file));
  const PostgresAddress address = AddressOf(*config);
  ABSL_ASSIGN_OR_RETURN(const std::unique_ptr<PostgresConnection> connection,
                        ConnectToStore(address, StepsOfThisProgram()));
  ABSL_ASSIGN_OR_RETURN(const DurabilityGaps gaps, FindDurabilityGaps(*connection, address));
  std::string text =
      absl::StrCat("schema ", address.schema, ": has the tables of version ", StepsOfThisProgram().version, "\n");
  ABSL_ASSIGN_OR_RETURN(const StoreDecisions decided, ReadStoreDecisions(*connection));
  ABSL_ASSIGN_OR_RETURN(const int64_t without_seal, CountEventsWithoutSeal(*connection, decided));
  absl::StrAppend(&text, Describe(decided), without_seal, " events have no seal\n");
  if (!address.allow_single_server) absl::StrAppend(&text, "the server waits for a synchronous standby\n");
  for (const std::string& gap : gaps.accepted) absl::StrAppend(&text, "WARNING: ", gap, "\n");
  return text;
}

}  // namespace stampgate
