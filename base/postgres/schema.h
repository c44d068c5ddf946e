// Creates and checks the tables of the store.
//
// The tables have two versions. The first counts the steps that have made them. The second is the oldest version whose
// programs can use the tables; it differs from the first if the last steps were additive, which means that they only
// added tables, columns, functions, and constraints that the rows of older programs satisfy. So programs of two
// releases can use one store at the same time, before and after `stampgate store migrate`, if the steps between the two
// releases are additive. A step that is not additive raises the second version to its own number: older programs then
// refuse the store. So does `stampgate store seal`: see owner.sql.
//
// The column `version` of the table `store` has the second version, because programs of version 1 compare it with their
// own version. The column `steps` has the first. It exists if there have been additive steps.
#ifndef STAMPGATE_BASE_POSTGRES_SCHEMA_H_
#define STAMPGATE_BASE_POSTGRES_SCHEMA_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/postgres/connection.h"

namespace stampgate {

// What this program knows about the tables.
struct StoreSteps {
  std::vector<const char*> sql;  // the files of SQL; the first one is the step to version 1
  int usable_since = 1;          // the oldest version whose programs can use the tables after all steps

  int version() const { return static_cast<int>(sql.size()); }
};
// Returns the steps of this program. Tests use other ones.
const StoreSteps& StepsOfThisProgram();

// Creates the schema and its tables, or brings the tables to this version. Changes nothing if they have this version,
// or a newer one that this program can use. If several programs call this function at the same time, one of them
// changes the tables, and the others wait. Errors: kFailedPrecondition if the tables are of a version that this program
// cannot use, or if the role lacks a right; those of PostgresConnection::Commit.
absl::Status MigrateStore(PostgresConnection& connection, const std::string& schema,
                          const StoreSteps& steps = StepsOfThisProgram());

// Gives the role `role` the rights that a gateway needs. Errors: those of PostgresConnection::Commit.
absl::Status GrantStore(PostgresConnection& connection, const std::string& schema, const std::string& role);

// Marks the store as restored to an earlier state, so that no gateway begins an attempt or chooses a timestamp that a
// lost transaction may have used. The role of the connection must own the tables. Errors: those of CheckStore and
// PostgresConnection::Commit.
absl::Status MarkServerAsRestored(PostgresConnection& connection);

// Claims an empty store for a copy: until OpenClaimedStore, no gateway can use it. Creates the tables, or brings them
// to this version, as MigrateStore does. The transaction that creates the tables also claims them, so that no gateway
// can begin an empty store after a copy that was interrupted. Errors: kFailedPrecondition if the store has an event log
// or idempotency keys, if a gateway uses it, or if another copy has claimed it; those of MigrateStore.
absl::Status ClaimEmptyStore(PostgresConnection& connection, const std::string& schema);

// Lets gateways use a store that ClaimEmptyStore has claimed. Errors: those of PostgresConnection::Commit.
absl::Status OpenClaimedStore(PostgresConnection& connection);

// Checks that no gateway uses the store. A gateway that has ended without freeing its lease counts for ten minutes.
// Errors: kFailedPrecondition if one does; those of PostgresConnection::Run.
absl::Status CheckStoreIsUnused(PostgresConnection& connection);

// Checks that the tables exist in this version, or in a newer one that this program can use, and that no copy has
// claimed them. Errors: kFailedPrecondition if this does not hold; those of PostgresConnection::Run.
absl::Status CheckStore(PostgresConnection& connection, const StoreSteps& steps = StepsOfThisProgram());

}  // namespace stampgate

#endif  // STAMPGATE_BASE_POSTGRES_SCHEMA_H_
