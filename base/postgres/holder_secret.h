// The secret under which a process holds leases, shares and quotas on a PostgreSQL server. All gateways have one role
// on the server, and can read its tables, which have only the names of the holders.
#ifndef STAMPGATE_BASE_POSTGRES_HOLDER_SECRET_H_
#define STAMPGATE_BASE_POSTGRES_HOLDER_SECRET_H_

#include <string>

#include "absl/strings/string_view.h"

namespace stampgate {

// Returns 32 random bytes.
std::string NewHolderSecret();

// Returns what the tables have of a secret: its SHA-256.
std::string HolderNameOf(absl::string_view secret);

}  // namespace stampgate

#endif  // STAMPGATE_BASE_POSTGRES_HOLDER_SECRET_H_
