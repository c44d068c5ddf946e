// What the owner of a store on a PostgreSQL server does with the whole store. The role of the connections must own the
// tables, unless a function says otherwise.
#ifndef STAMPGATE_GATEWAY_STORE_POSTGRES_STORE_OWNER_H_
#define STAMPGATE_GATEWAY_STORE_POSTGRES_STORE_OWNER_H_

#include <string>

#include "absl/status/status.h"
#include "base/postgres/connection.h"

namespace stampgate {

// Ends the time in which gateways of releases before 0.2.0 can use the store: from now on, every event must have a
// seal. Errors: those of PostgresConnection::Commit.
absl::Status SealStore(PostgresConnection& connection);

// Marks the store as restored to an earlier state, so that no gateway begins an attempt or chooses a timestamp that a
// lost transaction may have used. Errors: those of CheckStore and PostgresConnection::Commit.
absl::Status MarkServerAsRestored(PostgresConnection& connection);

// Claims an empty store for a copy, as ClaimStore does. Errors: kFailedPrecondition if the store has an event log or
// idempotency keys, if a gateway uses it, or if another copy has claimed it; those of MigrateStore.
absl::Status ClaimEmptyStore(PostgresConnection& connection, const std::string& schema);

// Checks that no gateway uses the store. A gateway that has ended without freeing its lease counts for ten minutes. The
// role needs only the right to read. Errors: kFailedPrecondition if a gateway uses it; those of
// PostgresConnection::Run.
absl::Status CheckStoreIsUnused(PostgresConnection& connection);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_POSTGRES_STORE_OWNER_H_
