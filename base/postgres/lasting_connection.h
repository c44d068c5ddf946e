// A connection to the server of a store, which is opened again after it was lost.
#ifndef STAMPGATE_BASE_POSTGRES_LASTING_CONNECTION_H_
#define STAMPGATE_BASE_POSTGRES_LASTING_CONNECTION_H_

#include <chrono>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "base/postgres/connection.h"
#include "base/postgres/schema.h"
#include "base/postgres/server_address.h"

namespace stampgate {

// Only one thread at a time may use it.
class LastingConnection {
 public:
  // See ConnectToStore. `steps` must outlive this.
  LastingConnection(PostgresAddress address, const StoreSteps& steps) : address_(std::move(address)), steps_(steps) {}

  // Returns the connection, which is valid until the next Get. Opens it if there is none; unless the address allows a
  // single server, a standby must then confirm a write. After a failed attempt, returns kUnavailable for a quarter of a
  // second. Errors: those of ConnectToStore and PostgresConnection::Prove.
  absl::StatusOr<PostgresConnection*> Get();

  // Returns the connection if there is one that can be used, and null otherwise.
  PostgresConnection* GetIfOpen();

 private:
  const PostgresAddress address_;
  const StoreSteps& steps_;
  std::unique_ptr<PostgresConnection> connection_;
  std::chrono::steady_clock::time_point refuse_until_;
};

}  // namespace stampgate

#endif  // STAMPGATE_BASE_POSTGRES_LASTING_CONNECTION_H_
