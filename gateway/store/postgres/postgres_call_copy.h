// A call store on a PostgreSQL server, as the source or the target of a copy.
#ifndef STAMPGATE_GATEWAY_STORE_POSTGRES_POSTGRES_CALL_COPY_H_
#define STAMPGATE_GATEWAY_STORE_POSTGRES_POSTGRES_CALL_COPY_H_

#include <memory>

#include "absl/status/statusor.h"
#include "base/postgres/connection.h"
#include "base/secret/bytes.h"
#include "gateway/store/call_copy.h"

namespace stampgate {

// Opens the store of `connection`, which must outlive the source. Next returns kDataLoss if a key has no valid seal.
// Errors: those of PostgresConnection::Run.
absl::StatusOr<std::unique_ptr<CallSource>> OpenPostgresCallSource(PostgresConnection& connection,
                                                                   const SecretBytes& store_key);

// Adds keys to the store of `connection`, which ClaimEmptyStore has claimed. The role of the connection must own the
// tables. `connection` must outlive the target.
std::unique_ptr<CallTarget> MakePostgresCallTarget(PostgresConnection& connection, const SecretBytes& store_key);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_POSTGRES_POSTGRES_CALL_COPY_H_
