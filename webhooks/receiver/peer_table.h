// The connections of a server, and the choice of the one to close when there are too many.
//
// Anybody may connect. A peer is unproven until it has requested one of the configured paths; its bytes and their speed
// before that prove nothing. An unproven peer can therefore displace unproven peers only: the oldest one of the source
// that has most of them. A party that opens many connections displaces its own, and a newcomer that sends its request
// at once is proven before it is the oldest.
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

// Measures how fast a peer sends. Thread-safe.
class PeerProgress {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Starts the measurement: it is the peer's turn to send.
  void Await(Time now);
  void Received(size_t bytes);
  // Stops the measurement: the peer has sent everything, and it is the server's turn.
  void Excuse();

  // By how many bytes the peer is behind `bytes_per_second` since Await. Zero or negative if it is not behind.
  double BytesBehind(Time now, size_t bytes_per_second) const;

 private:
  mutable std::mutex mutex_;
  bool awaited_ = false;
  Time since_;
  size_t received_ = 0;
};

// One connection, as the table sees it.
class ConnectedPeer {
 public:
  // `source` identifies the network that the peer connects from; see SourceOf.
  explicit ConnectedPeer(std::string source) : source_(std::move(source)) {}
  virtual ~ConnectedPeer() = default;

  // Both may be called from any thread; they return at once, and the connection closes later.
  virtual void Close() = 0;
  virtual void CloseIfIdle() = 0;

  const std::string& source() const { return source_; }
  PeerProgress& progress() { return progress_; }
  const PeerProgress& progress() const { return progress_; }

 private:
  const std::string source_;
  PeerProgress progress_;
};

// Thread-safe. Holds weak references: it keeps no peer alive.
class PeerTable {
 public:
  struct Counts {
    size_t unproven = 0;
    size_t proven = 0;
    // Totals since the start: unproven and proven peers that were closed to make room for another, and peers that were
    // not admitted.
    uint64_t unproven_displaced = 0;
    uint64_t proven_displaced = 0;
    uint64_t refused = 0;
  };

  // Reserves a quarter of the places, rounded down, for proven peers, and as many for unproven ones; at least one each
  // if there are two or more places. So neither group can occupy all places.
  PeerTable(size_t max_peers, size_t min_bytes_per_second);

  // Enters an unproven peer. If all places are taken, closes an unproven peer and gives its place to the new one.
  // Returns false if all peers are proven.
  bool Admit(const std::shared_ptr<ConnectedPeer>& peer);

  // Marks the peer as proven: it has requested a configured path. If proven peers now occupy places that are reserved
  // for unproven ones, closes the proven peer that is furthest behind the minimum rate: one that has long been idle, or
  // has stopped in the middle of a request.
  void Prove(const ConnectedPeer* peer, PeerProgress::Time now);

  // Whether proven peers occupy places that are reserved for unproven ones. If so, a connection should be closed after
  // its response.
  bool IsCrowded() const;

  // Marks the peer as unproven again: it has got its last response.
  void Retire(const ConnectedPeer* peer);

  // Removes a peer that has closed. Ignores a peer that is not in the table.
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
  Entries entries_;  // in the order of their arrival
  size_t proven_ = 0;
  uint64_t unproven_displaced_ = 0;
  uint64_t proven_displaced_ = 0;
  uint64_t refused_ = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_RECEIVER_PEER_TABLE_H_
