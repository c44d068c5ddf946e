// Creates and checks the tables of the store.
#ifndef STAMPGATE_WEBHOOKS_POSTGRES_SCHEMA_H_
#define STAMPGATE_WEBHOOKS_POSTGRES_SCHEMA_H_

#include <string>

#include "absl/status/status.h"
#include "webhooks/postgres/connection.h"

namespace stampgate {

// The version of the tables that this program uses.
inline constexpr int kStoreVersion = 2;

// Creates the schema and its tables, or brings tables of an older version to this version. If several programs call
// this function at the same time, one of them changes the tables, and the others wait. Errors: kFailedPrecondition if
// the tables are of a newer version, or if the role lacks a right; those of PostgresConnection::Commit.
absl::Status MigrateStore(PostgresConnection& connection, const std::string& schema);

// Gives the role `role` the rights that a gateway needs. Errors: those of PostgresConnection::Commit.
absl::Status GrantStore(PostgresConnection& connection, const std::string& schema, const std::string& role);

// Marks the store as restored to an earlier state, so that no gateway begins an attempt or chooses a timestamp that a
// lost transaction may have used. The role of the connection must own the tables. Errors: those of CheckStore and
// PostgresConnection::Commit.
absl::Status MarkServerAsRestored(PostgresConnection& connection);

// Claims an empty store for a copy: until OpenClaimedStore, no gateway can use it. Errors: kFailedPrecondition if the
// store has an event log or idempotency keys, or if a gateway uses it; those of CheckStore and PostgresConnection::Run.
absl::Status ClaimEmptyStore(PostgresConnection& connection);

// Lets gateways use a store that ClaimEmptyStore has claimed. Errors: those of PostgresConnection::Commit.
absl::Status OpenClaimedStore(PostgresConnection& connection);

// Checks that no gateway uses the store. A gateway that has ended without freeing its lease counts for ten minutes.
// Errors: kFailedPrecondition if one does; those of PostgresConnection::Run.
absl::Status CheckStoreIsUnused(PostgresConnection& connection);

// Checks that the tables exist in this version. Errors: kFailedPrecondition if they do not; those of
// PostgresConnection::Run.
absl::Status CheckStore(PostgresConnection& connection);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_POSTGRES_SCHEMA_H_
