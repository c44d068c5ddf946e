#include "gateway/store_commands.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gateway/config/config.h"
#include "gateway/config/duration.h"
#include "gateway/config/loader.h"
#include "gateway/config/store_address.h"
#include "gateway/store/restored_calls.h"
#include "webhooks/log/restored.h"
#include "webhooks/postgres/durability.h"
#include "webhooks/postgres/schema.h"
#include "webhooks/postgres/store_connection.h"

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

}  // namespace

absl::StatusOr<std::string> MarkStoreAsRestored(const std::string& file) {
  const absl::StatusOr<Config> config = LoadPolicy(file);
  if (!config.ok()) return config.status();
  const std::string retention = absl::FormatDuration(ToDuration((*config)->store().key_retention()));
  const std::string consequence = absl::StrCat(": timestamps will begin above earlier ones; for ", retention,
                                               ", the gateway will send nothing for older idempotency keys\n");
  if ((*config)->store().has_postgresql()) {
    const PostgresAddress address = AddressOf(**config);
    absl::StatusOr<std::unique_ptr<PostgresConnection>> connection = PostgresConnection::Open(address);
    if (!connection.ok()) return connection.status();
    if (absl::Status status = MarkServerAsRestored(**connection); !status.ok()) return status;
    return absl::StrCat("schema ", address.schema, consequence);
  }
  const std::string& events = (*config)->events().file();
  const std::string calls = CallStoreFile(**config);
  if (events.empty()) return absl::FailedPreconditionError(absl::StrCat(file, ": the config has no store"));
  if (absl::Status status = MarkLogAsRestored(events); !status.ok()) return status;
  std::string text = absl::StrCat(events, ": the gateway will refuse older cursors; subscribers must start again\n");
  if (calls.empty()) return text;
  if (absl::Status status = MarkCallsAsRestored(calls, absl::Now()); !status.ok()) return status;
  return absl::StrCat(text, calls, consequence);
}

absl::StatusOr<std::string> MigrateStoreOf(const std::string& file, const std::string& grant_to) {
  const absl::StatusOr<Config> config = LoadPostgresql(file);
  if (!config.ok()) return config.status();
  const PostgresAddress address = AddressOf(**config);
  absl::StatusOr<std::unique_ptr<PostgresConnection>> connection = PostgresConnection::Open(address);
  if (!connection.ok()) return connection.status();
  if (absl::Status status = MigrateStore(**connection, address.schema); !status.ok()) return status;
  std::string text =
      absl::StrCat("schema ", address.schema, ": has the tables of version ", StepsOfThisProgram().version(), "\n");
  if (grant_to.empty()) return text;
  if (absl::Status status = GrantStore(**connection, address.schema, grant_to); !status.ok()) return status;
  return absl::StrCat(text, "role ", grant_to, ": has the rights of a gateway\n");
}

absl::StatusOr<std::string> CheckStoreOf(const std::string& file) {
  const absl::StatusOr<Config> config = LoadPostgresql(file);
  if (!config.ok()) return config.status();
  const PostgresAddress address = AddressOf(**config);
  const absl::StatusOr<std::unique_ptr<PostgresConnection>> connection = ConnectToStore(address);
  if (!connection.ok()) return connection.status();
  const absl::StatusOr<DurabilityGaps> gaps = FindDurabilityGaps(**connection, address);
  if (!gaps.ok()) return gaps.status();
  std::string text =
      absl::StrCat("schema ", address.schema, ": has the tables of version ", StepsOfThisProgram().version(), "\n");
  if (!address.allow_single_server) absl::StrAppend(&text, "the server waits for a synchronous standby\n");
  for (const std::string& gap : gaps->accepted) absl::StrAppend(&text, "WARNING: ", gap, "\n");
  return text;
}

}  // namespace stampgate
