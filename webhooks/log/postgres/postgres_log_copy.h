// An event log on a PostgreSQL server, as the source or the target of a copy.
#ifndef STAMPGATE_WEBHOOKS_LOG_POSTGRES_POSTGRES_LOG_COPY_H_
#define STAMPGATE_WEBHOOKS_LOG_POSTGRES_POSTGRES_LOG_COPY_H_

#include <memory>

#include "absl/status/statusor.h"
#include "base/postgres/connection.h"
#include "base/postgres/server_address.h"
#include "base/secret/bytes.h"
#include "webhooks/log/log_copy.h"

namespace stampgate {

// Opens the log of the server to which `connection` and `address` lead. `connection` must outlive the source.
// `store_key` is the one of PostgresEventLogOptions. Errors: kFailedPrecondition if the store has no log, or if
// `store_key` is another key than the one with which the log was created; those of PostgresConnection::Run.
absl::StatusOr<std::unique_ptr<LogSource>> OpenPostgresLogSource(PostgresConnection& connection,
                                                                 const PostgresAddress& address,
                                                                 const SecretBytes& store_key);

// Prepares the store, which ClaimStore has claimed, for the events of the log with this state. The events
// get the same number of parts as a log that grew on the server. `connection` and `store_key` must outlive the target;
// the role of the connection must own the tables. Errors: those of PostgresConnection::Commit.
absl::StatusOr<std::unique_ptr<LogTarget>> CreatePostgresLogTarget(PostgresConnection& connection,
                                                                   const LogState& state, const SecretBytes& store_key);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_POSTGRES_POSTGRES_LOG_COPY_H_
