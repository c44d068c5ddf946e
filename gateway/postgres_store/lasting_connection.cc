#include "gateway/postgres_store/lasting_connection.h"

#include "webhooks/postgres/store_connection.h"

namespace stampgate {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kRefuseFor(250);

}  // namespace

absl::StatusOr<PostgresConnection*> LastingConnection::Get() {
  if (PostgresConnection* open = GetIfOpen(); open != nullptr) return open;
  connection_ = nullptr;
  if (SteadyClock::now() < refuse_until_) return absl::UnavailableError("the server cannot be reached");
  absl::StatusOr<std::unique_ptr<PostgresConnection>> connection = ConnectToStore(address_);
  if (!connection.ok()) {
    refuse_until_ = SteadyClock::now() + kRefuseFor;
    return connection.status();
  }
  connection_ = *std::move(connection);
  return connection_.get();
}

PostgresConnection* LastingConnection::GetIfOpen() {
  return connection_ != nullptr && connection_->usable() ? connection_.get() : nullptr;
}

}  // namespace stampgate
