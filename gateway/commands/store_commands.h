// The commands of `stampgate store`.
#ifndef STAMPGATE_GATEWAY_COMMANDS_STORE_COMMANDS_H_
#define STAMPGATE_GATEWAY_COMMANDS_STORE_COMMANDS_H_

#include <string>

#include "absl/status/statusor.h"

namespace stampgate {

// Each function reads the config in the file `config`, but none of the secret files that the config names, except the
// files with which it logs in to PostgreSQL. It returns a text for the operator. See help_text.cc. Errors: those of
// LoadPolicy, kFailedPrecondition if the config has no such store, and those that help_text.cc lists.

// Marks the event log and the call store as restored from a copy. A log on a PostgreSQL server needs no mark, because
// its cursors show whether it has their events.
absl::StatusOr<std::string> MarkStoreAsRestored(const std::string& config);

// Creates the tables on the PostgreSQL server, and grants the rights of a gateway to the role `grant_to`, unless it is
// empty.
absl::StatusOr<std::string> MigrateStoreOf(const std::string& config, const std::string& grant_to);

// Writes what the config says about retention, and seals the store.
absl::StatusOr<std::string> SetStoreOf(const std::string& config);
absl::StatusOr<std::string> SealStoreOf(const std::string& config);

// Checks the tables and the settings of the PostgreSQL server.
absl::StatusOr<std::string> CheckStoreOf(const std::string& config);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_COMMANDS_STORE_COMMANDS_H_
