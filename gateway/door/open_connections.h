// The connections that gRPC uses.
#ifndef STAMPGATE_GATEWAY_DOOR_OPEN_CONNECTIONS_H_
#define STAMPGATE_GATEWAY_DOOR_OPEN_CONNECTIONS_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "gateway/callers/peer.h"
#include "gateway/door/connection.h"

namespace stampgate {

// The connections of one port, each with its number in the peer registry. Thread-safe.
class OpenConnections {
 public:
  // Returns false, and adds nothing, if Stop was called.
  bool Add(uint64_t id, std::shared_ptr<Connection> connection, Peer peer);

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

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  std::map<uint64_t, Entry> connections_;
  // The connections whose sending side is closed, also those that are removed.
  std::set<uint64_t> closed_ids_;
  std::vector<std::shared_ptr<Connection>> closed_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_DOOR_OPEN_CONNECTIONS_H_
