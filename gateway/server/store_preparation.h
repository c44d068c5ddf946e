// Prepares the store on a PostgreSQL server when a gateway starts.
#ifndef STAMPGATE_GATEWAY_SERVER_STORE_PREPARATION_H_
#define STAMPGATE_GATEWAY_SERVER_STORE_PREPARATION_H_

#include "absl/status/status.h"
#include "stampgate/config/v1/config.pb.h"

namespace stampgate {

class StorePreparation {
 public:
  // Checks that the server of the store can be reached. If the config has `store.postgresql.migrate`, creates the
  // tables, and, as their owner, writes what the config says about retention. Otherwise the owner decides, and if it
  // has decided something else, or if the store accepts rows without a seal, the log has a warning, once. Does nothing
  // if the config has no store on PostgreSQL. Blocks. Errors: those of PostgresConnection::Open, MigrateStore and
  // CheckStore.
  absl::Status Run(const config::v1::Config& config);

 private:
  bool has_warned_ = false;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SERVER_STORE_PREPARATION_H_
