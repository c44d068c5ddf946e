// A call store on a PostgreSQL server, which several gateways share.
//
// A group of steps reads the rows of its keys, decides, and stores the changed rows in one transaction, which fails if
// another gateway has changed one of them meanwhile; then the group decides again. So a gateway that stops keeps no
// locks. A step is answered only if it is durable (see commit_terms.h) or if it stores nothing, and no other server can
// know more (see primary_check.h). While the server cannot be reached, the store refuses submits. Each row has a seal.
// If it is not valid, the row is damaged: the gateway sends nothing for its key.
#ifndef STAMPGATE_GATEWAY_STORE_POSTGRES_POSTGRES_CALL_STORE_H_
#define STAMPGATE_GATEWAY_STORE_POSTGRES_POSTGRES_CALL_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/postgres/server_address.h"
#include "base/postgres/server_clock.h"
#include "base/secret/bytes.h"
#include "gateway/store/call_store.h"
#include "gateway/store/queued_call_store.h"

namespace stampgate {

struct PostgresCallStoreOptions {
  PostgresAddress address;
  // The key of the store, which all gateways have: a key for HMACs is derived from it. Used only by the opening.
  const SecretBytes* store_key = nullptr;
  // See SqliteCallStoreOptions. The clock is the server's, and the owner of the store decides when keys are deleted:
  // see StoreBounds.
  absl::Duration key_retention = absl::Hours(24);
  int64_t max_keys = 10'000'000;
  CallQueueOptions queue;
  // Called on the store's thread if the server no longer has a transaction that this store has committed. For
  // `key_retention` after that, all gateways refuse keys that the store does not have, and begin no attempt for keys
  // that it has.
  std::function<void(const absl::Status&)> on_loss;
  ServerClock now;
};

// Opens the store. If the server cannot be reached, the store refuses submits until it can. Errors: kFailedPrecondition
// if the tables are missing or of another version, if the login is refused, or if the server's settings lack what the
// options require; kResourceExhausted if 64 processes have the store open.
absl::StatusOr<std::unique_ptr<CallStore>> OpenPostgresCallStore(PostgresCallStoreOptions options);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_POSTGRES_POSTGRES_CALL_STORE_H_
