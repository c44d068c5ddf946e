// Finds out whether a server that lacks something is still the primary.
#ifndef STAMPGATE_BASE_POSTGRES_PRIMARY_CHECK_H_
#define STAMPGATE_BASE_POSTGRES_PRIMARY_CHECK_H_

#include <chrono>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "base/postgres/connection.h"
#include "base/postgres/server_address.h"

namespace stampgate {

// After a failover, the old primary can run and answer, and lacks what the new one has committed. So before a caller
// hears that something is lost or does not exist, all servers of the address are asked. Only one thread at a time may
// use it.
class PrimaryCheck {
 public:
  explicit PrimaryCheck(PostgresAddress address) : address_(std::move(address)) {}

  // Connects to each server of the address, and compares its timeline with that of `connection`, which must come from
  // this address. A server that has not answered is not asked again for ten seconds. Returns:
  //   OK             no server has a higher timeline. If a server did not answer, and the address does not allow a
  //                  single server, a standby has confirmed a write of this connection
  //   kAborted       there is a newer primary: read again on a new connection
  //   kUnavailable   it is not known
  absl::Status Confirm(PostgresConnection& connection);

 private:
  // Returns whether all servers have answered.
  bool AskAll();

  const PostgresAddress address_;
  std::map<std::string, std::chrono::steady_clock::time_point> ask_at_;  // by server: not before
};

}  // namespace stampgate

#endif  // STAMPGATE_BASE_POSTGRES_PRIMARY_CHECK_H_
