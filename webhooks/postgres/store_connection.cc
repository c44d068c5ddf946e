#include "webhooks/postgres/store_connection.h"

#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "webhooks/postgres/durability.h"
#include "webhooks/postgres/schema.h"

namespace stampgate {

absl::StatusOr<std::unique_ptr<PostgresConnection>> ConnectToStore(const PostgresAddress& address,
                                                                   bool allow_single_server) {
  absl::StatusOr<std::unique_ptr<PostgresConnection>> connection = PostgresConnection::Open(address);
  if (!connection.ok()) return connection;
  const absl::StatusOr<DurabilityGaps> gaps = FindDurabilityGaps(**connection);
  if (!gaps.ok()) return gaps.status();
  std::vector<std::string> missing = gaps->unsafe;
  if (!allow_single_server) missing.insert(missing.end(), gaps->single.begin(), gaps->single.end());
  if (!missing.empty()) return absl::FailedPreconditionError(absl::StrJoin(missing, "; "));
  if (absl::Status status = CheckStore(**connection); !status.ok()) return status;
  return connection;
}

}  // namespace stampgate
