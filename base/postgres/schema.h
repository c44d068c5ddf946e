// Creates and checks the tables of the store.
//
// The tables belong to several subjects, such as the event log. The folder of each has the SQL of its tables and
// functions, and this folder has what all of them use. The program composes the subjects, and passes them to these
// functions.
//
// The tables have two versions. The first counts the steps that have made them; a step concerns all subjects. The
// second is the oldest version whose programs can use the tables; it differs from the first if the last steps were
// additive, which means that they only added tables, columns, functions, and constraints that the rows of older
// programs satisfy. So programs of two releases can use one store at the same time, before and after `stampgate store
// migrate`, if the steps between the two releases are additive. A step that is not additive raises the second version
// to its own number: older programs then refuse the store. So does `stampgate store seal`.
//
// The column `version` of the table `store` has the second version, because programs of version 1 compare it with their
// own version. The column `steps` has the first. It exists if there have been additive steps.
#ifndef STAMPGATE_BASE_POSTGRES_SCHEMA_H_
#define STAMPGATE_BASE_POSTGRES_SCHEMA_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/postgres/connection.h"

namespace stampgate {

// The tables of one subject, and their functions.
struct StoreTables {
  // A file of SQL for each version, that of version 1 first. It is empty if the version changes nothing.
  std::vector<const char*> sql;
  // The functions that a gateway calls, separated by commas.
  std::string functions;
};

// What a program knows about the tables.
struct StoreSteps {
  std::vector<StoreTables> tables;  // those of each subject, in the order in which their SQL runs in each step
  int version = 0;                  // the number of steps
  int usable_since = 1;             // the oldest version whose programs can use the tables after all steps
};

// Creates the schema and its tables, or brings the tables to the version of `steps`. Changes nothing if they have this
// version, or a newer one that a program with `steps` can use. If several programs call this function at the same time,
// one of them changes the tables, and the others wait. Errors: kFailedPrecondition if the tables are of a version that
// the program cannot use, or if the role lacks a right; those of PostgresConnection::Commit.
absl::Status MigrateStore(PostgresConnection& connection, const std::string& schema, const StoreSteps& steps);

// Gives the role `role` the rights that a gateway needs. Errors: those of PostgresConnection::Commit.
absl::Status GrantStore(PostgresConnection& connection, const std::string& schema, const std::string& role,
                        const StoreSteps& steps);

// Claims a store for a copy: until OpenClaimedStore, no gateway can use it. Creates the tables, or brings them to this
// version, as MigrateStore does. The transaction that creates the tables also claims them, so that no gateway can begin
// an empty store after a copy that was interrupted. Claims tables that exist already only if the SQL condition
// `is_unused` holds. Returns whether it has claimed the store. Errors: kFailedPrecondition if another copy has claimed
// it; those of MigrateStore.
absl::StatusOr<bool> ClaimStore(PostgresConnection& connection, const std::string& schema, const StoreSteps& steps,
                                absl::string_view is_unused);

// Lets gateways use a store that ClaimStore has claimed. Errors: those of PostgresConnection::Commit.
absl::Status OpenClaimedStore(PostgresConnection& connection, const StoreSteps& steps);

// Checks that the tables exist in the version of `steps`, or in a newer one that a program with `steps` can use, and
// that no copy has claimed them. Errors: kFailedPrecondition if this does not hold; those of PostgresConnection::Run.
absl::Status CheckStore(PostgresConnection& connection, const StoreSteps& steps);

}  // namespace stampgate

#endif  // STAMPGATE_BASE_POSTGRES_SCHEMA_H_
