// Checks that a server keeps what it has committed.
#ifndef STAMPGATE_BASE_POSTGRES_DURABILITY_H_
#define STAMPGATE_BASE_POSTGRES_DURABILITY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/postgres/connection.h"
#include "base/postgres/server_address.h"

namespace stampgate {

// What a server's settings lack, as sentences. The gateway must not use the server if `refused` is not empty. The
// config accepts what `accepted` says.
struct DurabilityGaps {
  std::vector<std::string> refused;
  std::vector<std::string> accepted;
};

// Reads the server's settings. `address` says which gaps are accepted. Errors: those of PostgresConnection::Run;
// kFailedPrecondition if the server is older than PostgreSQL 15.
absl::StatusOr<DurabilityGaps> FindDurabilityGaps(PostgresConnection& connection, const PostgresAddress& address);

}  // namespace stampgate

#endif  // STAMPGATE_BASE_POSTGRES_DURABILITY_H_
