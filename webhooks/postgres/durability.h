// Checks that a server keeps what it has committed.
#ifndef STAMPGATE_WEBHOOKS_POSTGRES_DURABILITY_H_
#define STAMPGATE_WEBHOOKS_POSTGRES_DURABILITY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "webhooks/postgres/connection.h"

namespace stampgate {

// What a server's settings lack, as sentences. A committed transaction survives the loss of power if `unsafe` is empty,
// and the loss of the server if `single` is empty too.
struct DurabilityGaps {
  std::vector<std::string> unsafe;
  std::vector<std::string> single;
};

// Reads the server's settings. Errors: those of PostgresConnection::Run; kFailedPrecondition if the server is older
// than PostgreSQL 15.
absl::StatusOr<DurabilityGaps> FindDurabilityGaps(PostgresConnection& connection);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_POSTGRES_DURABILITY_H_
