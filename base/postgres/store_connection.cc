#include "base/postgres/store_connection.h"

#include "absl/strings/str_join.h"
#include "base/postgres/durability.h"
#include "base/postgres/schema.h"

namespace stampgate {

absl::StatusOr<std::unique_ptr<PostgresConnection>> ConnectToStore(const PostgresAddress& address) {
  absl::StatusOr<std::unique_ptr<PostgresConnection>> connection = PostgresConnection::Open(address);
  if (!connection.ok()) return connection;
  const absl::StatusOr<DurabilityGaps> gaps = FindDurabilityGaps(**connection, address);
  if (!gaps.ok()) return gaps.status();
  if (!gaps->refused.empty()) return absl::FailedPreconditionError(absl::StrJoin(gaps->refused, "; "));
  if (absl::Status status = CheckStore(**connection); !status.ok()) return status;
  if (!address.allow_single_server) (*connection)->RequireStandby();
  return connection;
}

}  // namespace stampgate
