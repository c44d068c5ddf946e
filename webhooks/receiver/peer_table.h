// The connections of a server, and which one has to go when one too many comes.
//
// Anybody may connect. A peer is unproven until it has asked for a right path; what it sends before that, and how fast,
// says nothing about it. So an unproven peer can push out unproven peers alone: the oldest one of the source that has
// most of them. A party that opens many connections pushes out its own, and a newcomer that sends its request at once
// has proven itself before it is the oldest.
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

// How fast a peer is. Thread-safe.
class PeerProgress {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // From now on the peer has to send something.
  void Await(Time now);
  void Received(size_t bytes);
  // The peer has sent all it had to: it is our turn.
  void Excuse();

  // How many bytes the peer has sent too few for a rate, since it was last awaited. Not positive if it is not behind.
  double BytesBehind(Time now, size_t bytes_per_second) const;

 private:
  mutable std::mutex mutex_;
  bool awaited_ = false;
  Time since_;
  size_t received_ = 0;
};

// One connection as the table knows it.
class ConnectedPeer {
 public:
  // `source` stands for everybody who can come from one address; see SourceOf.
  explicit ConnectedPeer(std::string source) : source_(std::move(source)) {}
  virtual ~ConnectedPeer() = default;

  // Both from any thread; what they do happens later.
  virtual void Close() = 0;
  virtual void CloseIfIdle() = 0;

  const std::string& source() const { return source_; }
  PeerProgress& progress() { return progress_; }
  const PeerProgress& progress() const { return progress_; }

 private:
  const std::string source_;
  PeerProgress progress_;
};

// Thread-safe. Keeps nobody alive.
class PeerTable {
 public:
  struct Counts {
    size_t unproven = 0;
    size_t proven = 0;
    // Since the beginning: unproven peers and proven ones that were closed for another peer, and peers that found no
    // place.
    uint64_t unproven_displaced = 0;
    uint64_t proven_displaced = 0;
    uint64_t refused = 0;
  };

  // A quarter of the places, rounded down, is kept for proven peers, and as many for unproven ones, but at least one of
  // two or more places: so neither finds all places taken by the others.
  PeerTable(size_t max_peers, size_t min_bytes_per_second);

  // Enters an unproven peer. If there is no place, an unproven one is closed and leaves its own; if all peers are
  // proven, the answer is false.
  bool Admit(const std::shared_ptr<ConnectedPeer>& peer);

  // The peer has asked for a right path. If proven peers now have places that are kept for unproven ones, the one that
  // is furthest behind the minimum rate is closed: one that has been idle for long, or does not send what it has begun.
  void Prove(const ConnectedPeer* peer, PeerProgress::Time now);

  // Whether proven peers have places that are kept for unproven ones: then a peer should not stay once its request is
  // answered.
  bool IsCrowded() const;

  // The peer has had its last answer: it counts as unproven again.
  void Retire(const ConnectedPeer* peer);

  // The peer has closed. Who is not there is ignored.
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

  // Under the mutex.
  Entries::iterator Find(const ConnectedPeer* peer);
  Entries::iterator OldestUnprovenOfLargestSource();
  void Erase(Entries::iterator entry);
  void SetProven(Entry& entry, bool is_proven);

  const size_t max_peers_;
  const size_t kept_;
  const size_t min_bytes_per_second_;
  mutable std::mutex mutex_;
  Entries entries_;  // in the order in which they came
  size_t proven_ = 0;
  uint64_t unproven_displaced_ = 0;
  uint64_t proven_displaced_ = 0;
  uint64_t refused_ = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_RECEIVER_PEER_TABLE_H_
