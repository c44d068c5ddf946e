#include "gateway/server/store_preparation.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/status/statusor.h"
#include "base/postgres/connection.h"
#include "base/postgres/schema.h"
#include "base/postgres/store_bounds.h"
#include "gateway/config/settings/store_address.h"
#include "gateway/config/settings/store_bounds.h"
#include "gateway/process/log.h"
#include "gateway/store/postgres/store_tables.h"

namespace stampgate {

absl::Status StorePreparation::Run(const config::v1::Config& config) {
  if (!config.store().has_postgresql()) return absl::OkStatus();
  const PostgresAddress address = AddressOf(config);
  ABSL_ASSIGN_OR_RETURN(const std::unique_ptr<PostgresConnection> opened, PostgresConnection::Open(address));
  PostgresConnection& connection = *opened;
  const bool migrates = config.store().postgresql().migrate();
  const StoreSteps& steps = StepsOfThisProgram();
  absl::Status status = migrates ? MigrateStore(connection, address.schema, steps) : CheckStore(connection, steps);
  if (!status.ok()) return status;
  ABSL_ASSIGN_OR_RETURN(const StoreDecisions decided, ReadStoreDecisions(connection));
  const StoreBounds bounds = StoreBoundsOf(config);
  bool differs = decided.bounds != bounds;
  if (differs && migrates) {
    status = WriteStoreBounds(connection, bounds);
    // The role owns the tables only if it has created them.
    if (!status.ok() && !absl::IsFailedPrecondition(status)) return status;
    differs = !status.ok();
  }
  if (std::exchange(has_warned_, true)) return absl::OkStatus();
  if (decided.unsealed_through == std::nullopt) {
    Log(Severity::kWarning, "store_not_sealed",
        {{"message",
          "gateways of releases before 0.2.0 can store rows without a seal: when none of them runs, run stampgate "
          "store "
          "seal"}});
  }
  if (differs) {
    Log(Severity::kWarning, "store_bounds_differ",
        {{"message",
          decided.bounds.has_value()
              ? "the owner of the store has decided to keep events or idempotency keys for another time than "
                "this config says: run stampgate store check"
              : "nothing is deleted from the store until its owner runs stampgate store set"}});
  }
  return absl::OkStatus();
}

}  // namespace stampgate
