// The connections that gRPC uses.
#ifndef STAMPGATE_GATEWAY_GRPC_PORT_OPEN_CONNECTIONS_H_
#define STAMPGATE_GATEWAY_GRPC_PORT_OPEN_CONNECTIONS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/threads/mutex.h"
#include "gateway/callers/peer.h"
#include "gateway/grpc_port/connection.h"

namespace stampgate {

// The connections of one port, each with its number in the peer registry. Thread-safe.
//
// The identities share the places: at most `max` connections have one. An identity alone may use all of them. If a
// further connection wants one, the identity with the most places gives one up: that of its newest connection without a
// call or, if each has calls, of its newest one. A connection without a place must end soon.
class OpenConnections {
 public:
  // At most so many connections that have lost their places are open.
  static constexpr size_t kMaxDisplaced = 64;

  explicit OpenConnections(size_t max) : max_(max) {}

  // A connection that another one has displaced.
  struct Displaced {
    std::shared_ptr<Connection> connection;
    Peer peer;
  };

  struct Added {
    // kFull: no place is free, and no identity would have more places than that of `peer`.
    enum class Result { kEntered, kFull, kStopped };

    Result result = Result::kEntered;
    std::optional<Displaced> displaced = {};        // has lost its place now
    std::shared_ptr<Connection> overdue = nullptr;  // has lost its place first, and must end now; null if none must
  };

  // Adds a connection of `peer`, whose number is above all earlier ones. Adds nothing if the result is not kEntered.
  Added Add(uint64_t id, std::shared_ptr<Connection> connection, Peer peer);

  // Must be called when gRPC has no more use for the connection.
  void Remove(uint64_t id);

  // From now on, Add adds nothing.
  void Stop();

  size_t size() const;

  // Calls Connection::Recount for each connection.
  void Recount() const;

  // Returns the connections whose peers do not satisfy `is_caller`, with their numbers, each of them only once.
  std::map<uint64_t, std::shared_ptr<Connection>> TakeStrangers(const std::function<bool(const Peer&)>& is_caller);

  // Closes the sending side of all connections, except for those in `kept`.
  void CloseExcept(const std::set<uint64_t>& kept);

  // Whether there is a connection whose sending side is not closed.
  bool HaveOpen() const;

  // Returns the connections whose sending side CloseExcept has closed, also those that are removed.
  std::vector<std::shared_ptr<Connection>> closed() const;

  // Releases the connections that closed() returns.
  void ForgetClosed();

  // Returns false if some connections are left at the end of `timeout`.
  bool WaitUntilNone(std::chrono::seconds timeout);

 private:
  struct Entry {
    std::shared_ptr<Connection> connection;
    Peer peer;
    bool is_taken = false;  // by TakeStrangers
  };
  using Places = absl::flat_hash_map<std::string, std::set<uint64_t>>;

  // Returns the places of the identity that must give one up, so that `identity` can have one more; null if none must.
  const std::set<uint64_t>* LargestBeside(const std::string& identity) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  uint64_t ChooseFrom(const std::set<uint64_t>& places) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakePlace(uint64_t id, const Peer& peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t max_;
  mutable Mutex mutex_;
  Condition changed_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<uint64_t, Entry> connections_ ABSL_GUARDED_BY(mutex_);
  Places places_ ABSL_GUARDED_BY(mutex_);  // the connections with places, by the names of their identities
  size_t used_places_ ABSL_GUARDED_BY(mutex_) = 0;
  // Those without places; the one that has lost its place first is the first.
  std::deque<uint64_t> displaced_ ABSL_GUARDED_BY(mutex_);
  // The connections whose sending side is closed, also those that are removed.
  std::set<uint64_t> closed_ids_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<Connection>> closed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_GRPC_PORT_OPEN_CONNECTIONS_H_
