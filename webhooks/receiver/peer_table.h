// The table of a server's connections. If there are too many connections, the table closes one of them.
//
// Anybody may connect, and a path is no secret for long. So the table divides its places by the rule of fair_share.h: a
// new peer displaces one of the source that has the most places, and strangers give before peers that have requested a
// configured path, which give before proven sources. Therefore a party that opens many connections displaces its own
// connections, and a new peer from another source always gets a place.
#ifndef STAMPGATE_WEBHOOKS_RECEIVER_PEER_TABLE_H_
#define STAMPGATE_WEBHOOKS_RECEIVER_PEER_TABLE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/threads/mutex.h"
#include "webhooks/receiver/arrival_bound.h"
#include "webhooks/receiver/proven_sources.h"

namespace stampgate {

// When the bytes of a peer for which the server waits must arrive at the latest; see ArrivalBound. Thread-safe.
class PeerProgress {
 public:
  using Time = ArrivalBound::Time;

  explicit PeerProgress(size_t bytes_per_second) : bytes_per_second_(bytes_per_second) {}

  // Starts a new bound, because the server now waits for bytes of the peer.
  void Await(Time now);
  void Received(size_t bytes, Time now);
  // Ends the bound, because the peer has sent its whole request and now waits for the server.
  void Excuse();

  // Returns nothing if the server does not wait for bytes of the peer.
  std::optional<Time> bound() const;

 private:
  const size_t bytes_per_second_;
  mutable Mutex mutex_;
  std::optional<ArrivalBound> arrival_ ABSL_GUARDED_BY(mutex_);
};

// The interface of a connection for the table.
class ConnectedPeer {
 public:
  explicit ConnectedPeer(size_t min_bytes_per_second) : progress_(min_bytes_per_second) {}
  virtual ~ConnectedPeer() = default;

  // Close closes the connection. CloseIfIdle closes it only if no request is in progress. Both may be called from any
  // thread. They neither block nor call the table, so the connection is closed later.
  virtual void Close() = 0;
  virtual void CloseIfIdle() = 0;

  PeerProgress& progress() { return progress_; }
  const PeerProgress& progress() const { return progress_; }

 private:
  PeerProgress progress_;
};

// The table of all peers. Thread-safe. Holds weak references, so it keeps no peer alive.
class PeerTable {
 public:
  using Time = PeerProgress::Time;

  struct Counts {
    // Peers of sources that are proven, and the other peers; see ProvenSources.
    size_t unproven = 0;
    size_t proven = 0;
    // Totals since the start: such peers that were closed in favor of another, and peers that were not admitted.
    uint64_t unproven_displaced = 0;
    uint64_t proven_displaced = 0;
    uint64_t refused = 0;
  };

  // The table has `max_peers` places. Each standing keeps a quarter of them, rounded down. `sources` must outlive the
  // table.
  PeerTable(size_t max_peers, const ProvenSources& sources);

  // Adds a peer, which is a stranger. `source` identifies the network from which the peer connects; see SourceOf. If no
  // place is free, closes a peer that GiverOf chooses. Of the strangers of its source, it is the oldest one; of the
  // other peers, the one whose PeerProgress has the earliest bound: it has been idle, or has stopped in its request,
  // for the longest time. Peers whose delivery is being processed are the last, and are not closed for a peer of their
  // own source: then the new peer is not admitted. Returns false if it is not admitted.
  bool Admit(const std::shared_ptr<ConnectedPeer>& peer, std::string source, Time now);

  // Counts the peer for another source, because a load balancer has stated the address of its client. Does nothing if
  // the peer is not in the table.
  void SetSource(const ConnectedPeer* peer, std::string source);

  // The peer is no stranger any more, because it has requested a configured path.
  void Know(const ConnectedPeer* peer);

  // Makes the peer a stranger again, because it has received its last response.
  void Retire(const ConnectedPeer* peer);

  // Removes a peer whose connection is closed. Does nothing if the peer is not in the table.
  void Leave(const ConnectedPeer* peer);

  std::vector<std::shared_ptr<ConnectedPeer>> All() const;

  Counts counts(Time now) const;

 private:
  struct Entry {
    const ConnectedPeer* key;
    std::weak_ptr<ConnectedPeer> peer;
    std::string source;
    bool knows_path = false;
  };
  using Entries = std::vector<Entry>;

  Entries::iterator Find(const ConnectedPeer* peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the entry that must give its place to the last one, or end() if that one must not be admitted. `held`
  // receives all peers, which must be destroyed after the mutex is released, because their destructor calls Leave.
  Entries::iterator GiverForLast(Time now, std::vector<std::shared_ptr<ConnectedPeer>>& held)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t max_peers_;
  const size_t kept_;
  const ProvenSources& sources_;
  mutable Mutex mutex_;
  Entries entries_ ABSL_GUARDED_BY(mutex_);  // in the order in which the peers were admitted
  uint64_t unproven_displaced_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t proven_displaced_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t refused_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_RECEIVER_PEER_TABLE_H_
