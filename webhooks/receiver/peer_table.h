// The table of a server's connections. If there are too many connections, the table closes one of them.
//
// Anybody may connect. A peer is unproven until it has requested one of the configured paths, no matter how much or how
// fast it sends. A new peer is unproven, and can displace only another unproven peer: the oldest one of the source that
// has the most unproven peers. Therefore a party that opens many connections displaces its own connections. A new peer
// that sends its request without delay becomes proven before it is the oldest unproven peer.
#ifndef STAMPGATE_WEBHOOKS_RECEIVER_PEER_TABLE_H_
#define STAMPGATE_WEBHOOKS_RECEIVER_PEER_TABLE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace stampgate {

// Measures how fast a peer sends while the server waits for the peer's bytes. Thread-safe.
class PeerProgress {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Starts a new measurement, because the server now waits for bytes of the peer.
  void Await(Time now);
  void Received(size_t bytes);
  // Stops the measurement, because the peer has sent its whole request and now waits for the server.
  void Excuse();

  // Returns how many more bytes the peer should have sent since Await at the rate `bytes_per_second`. The result is
  // zero or negative if the peer is fast enough or the measurement is stopped.
  double BytesBehind(Time now, size_t bytes_per_second) const;

 private:
  mutable std::mutex mutex_;
  bool awaited_ = false;
  Time since_;
  size_t received_ = 0;
};

// The interface of a connection for the table.
class ConnectedPeer {
 public:
  // `source` identifies the network from which the peer connects; see SourceOf.
  explicit ConnectedPeer(std::string source) : source_(std::move(source)) {}
  virtual ~ConnectedPeer() = default;

  // Close closes the connection. CloseIfIdle closes it only if no request is in progress. Both may be called from any
  // thread. They neither block nor call the table, so the connection is closed later.
  virtual void Close() = 0;
  virtual void CloseIfIdle() = 0;

  const std::string& source() const { return source_; }
  PeerProgress& progress() { return progress_; }
  const PeerProgress& progress() const { return progress_; }

 private:
  const std::string source_;
  PeerProgress progress_;
};

// The table of all peers. Thread-safe. Holds weak references, so it keeps no peer alive.
class PeerTable {
 public:
  struct Counts {
    size_t unproven = 0;
    size_t proven = 0;
    // Totals since the start: unproven and proven peers that were closed in favor of another, and peers that were not
    // admitted.
    uint64_t unproven_displaced = 0;
    uint64_t proven_displaced = 0;
    uint64_t refused = 0;
  };

  // The table has `max_peers` places. It reserves a quarter of them, rounded down, for proven peers, and as many for
  // unproven peers, so that neither group can occupy all places. If there are two or more places, it reserves at least
  // one for each group.
  PeerTable(size_t max_peers, size_t min_bytes_per_second);

  // Adds an unproven peer. If no place is free for an unproven peer, closes another unproven peer and gives the place
  // of that peer to the new peer. Returns false if all places have proven peers.
  bool Admit(const std::shared_ptr<ConnectedPeer>& peer);

  // Counts the peer for another source, because a load balancer has stated the address of its client. Does nothing if
  // the peer is not in the table.
  void SetSource(const ConnectedPeer* peer, std::string source);

  // Marks the peer as proven, because it has requested a configured path. If proven peers now occupy places that are
  // reserved for unproven peers, closes the other proven peer that is furthest behind the minimum rate, if any other
  // proven peer is behind. Such a peer has long been idle, or has sent only a part of its request.
  void Prove(const ConnectedPeer* peer, PeerProgress::Time now);

  // Returns whether proven peers occupy places that are reserved for unproven peers. If so, the server should close a
  // connection after its response.
  bool IsCrowded() const;

  // Marks the peer as unproven again, because it has received its last response.
  void Retire(const ConnectedPeer* peer);

  // Removes a peer whose connection is closed. Does nothing if the peer is not in the table.
  void Leave(const ConnectedPeer* peer);

  std::vector<std::shared_ptr<ConnectedPeer>> All() const;

  Counts counts() const;

 private:
  struct Entry {
    const ConnectedPeer* key;
    std::weak_ptr<ConnectedPeer> peer;
    std::string source;
    bool is_proven = false;
  };
  using Entries = std::vector<Entry>;

  // Call with the mutex held.
  Entries::iterator Find(const ConnectedPeer* peer);
  Entries::iterator OldestUnprovenOfLargestSource();
  void Erase(Entries::iterator entry);
  void SetProven(Entry& entry, bool is_proven);

  const size_t max_peers_;
  const size_t kept_;
  const size_t min_bytes_per_second_;
  mutable std::mutex mutex_;
  Entries entries_;  // in the order in which the peers were admitted
  size_t proven_ = 0;
  uint64_t unproven_displaced_ = 0;
  uint64_t proven_displaced_ = 0;
  uint64_t refused_ = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_RECEIVER_PEER_TABLE_H_
