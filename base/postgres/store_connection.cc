#include "base/postgres/store_connection.h"

#include "absl/status/status_macros.h"
#include "absl/strings/str_join.h"
#include "base/postgres/durability.h"

namespace stampgate {

absl::StatusOr<std::unique_ptr<PostgresConnection>> ConnectToStore(const PostgresAddress& address,
                                                                   const StoreSteps& steps) {
  absl::StatusOr<std::unique_ptr<PostgresConnection>> connection = PostgresConnection::Open(address);
  if (!connection.ok()) return connection;
  ABSL_ASSIGN_OR_RETURN(const DurabilityGaps gaps, FindDurabilityGaps(**connection, address));
  if (!gaps.refused.empty()) return absl::FailedPreconditionError(absl::StrJoin(gaps.refused, "; "));
  ABSL_RETURN_IF_ERROR(CheckStore(**connection, steps));
  if (!address.allow_single_server) (*connection)->RequireStandby();
  return connection;
}

}  // namespace stampgate
