// Opens a connection to a server that keeps what the store promises.
#ifndef STAMPGATE_BASE_POSTGRES_STORE_CONNECTION_H_
#define STAMPGATE_BASE_POSTGRES_STORE_CONNECTION_H_

#include <memory>

#include "absl/status/statusor.h"
#include "base/postgres/connection.h"
#include "base/postgres/schema.h"
#include "base/postgres/server_address.h"

namespace stampgate {

// Connects, and checks the version of the tables with CheckStore, and the server's settings. Unless the address allows
// a single server, transactions of the connection must survive the loss of the server. Errors: kFailedPrecondition if a
// check fails; those of PostgresConnection::Open and PostgresConnection::Run.
absl::StatusOr<std::unique_ptr<PostgresConnection>> ConnectToStore(const PostgresAddress& address,
                                                                   const StoreSteps& steps);

}  // namespace stampgate

#endif  // STAMPGATE_BASE_POSTGRES_STORE_CONNECTION_H_
