// The TLS handshakes in progress, and their bound.
#ifndef STAMPGATE_GATEWAY_GRPC_PORT_HANDSHAKES_H_
#define STAMPGATE_GATEWAY_GRPC_PORT_HANDSHAKES_H_

#include <cstddef>
#include <list>
#include <memory>
#include <string>

#include "base/threads/mutex.h"
#include "gateway/grpc_port/connection.h"

namespace stampgate {

// Everybody who reaches the port can begin handshakes. If too many are in progress, the oldest handshake of the source
// with the most handshakes is closed. Therefore a party that begins many handshakes closes its own. Thread-safe.
class Handshakes {
 public:
  // `max` is at least 1.
  explicit Handshakes(size_t max) : max_(max) {}

  // Adds a handshake. `source` identifies the network from which the peer connects; see SourceOf. Closes another
  // handshake if there are `max` already.
  void Add(const std::shared_ptr<Connection>& connection, std::string source);

  // Removes a handshake that has ended. Does nothing if it is not in progress.
  void Remove(const Connection* connection);

  // The number of handshakes in progress.
  size_t size() const;

  // Closes all handshakes in progress.
  void CloseAll();

 private:
  struct Entry {
    std::shared_ptr<Connection> connection;
    std::string source;
  };

  // Removes the oldest handshake of the largest source, and returns its connection.
  std::shared_ptr<Connection> TakeOldestOfLargestSource() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t max_;
  mutable Mutex mutex_;
  std::list<Entry> entries_ ABSL_GUARDED_BY(mutex_);  // in the order in which they began
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_GRPC_PORT_HANDSHAKES_H_
