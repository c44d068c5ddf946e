#include "base/postgres/lasting_connection.h"

#include "base/postgres/store_connection.h"

namespace stampgate {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kRefuseFor(250);

}  // namespace

absl::StatusOr<PostgresConnection*> LastingConnection::Get() {
  if (PostgresConnection* open = GetIfOpen(); open != nullptr) return open;
  connection_ = nullptr;
  if (SteadyClock::now() < refuse_until_) return absl::UnavailableError("the server cannot be reached");
  absl::StatusOr<std::unique_ptr<PostgresConnection>> connection = ConnectToStore(address_, steps_);
  absl::Status status = connection.status();
  // A transaction whose COMMIT waits for the standby keeps its session on the server. So a new connection is not used
  // before the standby has answered.
  if (status.ok() && !address_.allow_single_server) status = (*connection)->Prove();
  if (!status.ok()) {
    refuse_until_ = SteadyClock::now() + kRefuseFor;
    return status;
  }
  connection_ = *std::move(connection);
  return connection_.get();
}

PostgresConnection* LastingConnection::GetIfOpen() {
  return connection_ != nullptr && connection_->usable() ? connection_.get() : nullptr;
}

}  // namespace stampgate
