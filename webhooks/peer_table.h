// Who is connected, and who has to go when one too many comes.
#ifndef STAMPGATE_WEBHOOKS_PEER_TABLE_H_
#define STAMPGATE_WEBHOOKS_PEER_TABLE_H_

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
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
class Peer {
 public:
  virtual ~Peer() = default;

  // Both from any thread; what they do happens later.
  virtual void Close() = 0;
  virtual void CloseIfIdle() = 0;

  PeerProgress& progress() { return progress_; }
  const PeerProgress& progress() const { return progress_; }

 private:
  PeerProgress progress_;
};

// Thread-safe. Keeps nobody alive.
class PeerTable {
 public:
  PeerTable(size_t max_peers, size_t min_bytes_per_second)
      : max_peers_(max_peers), min_bytes_per_second_(min_bytes_per_second) {}

  // Enters a peer. If the table is full, the peer that is furthest behind is closed and leaves its place; if none is
  // behind, the answer is false.
  bool Admit(const std::shared_ptr<Peer>& peer, PeerProgress::Time now);

  // The peer has closed. Who is not there is ignored.
  void Leave(const Peer* peer);

  std::vector<std::shared_ptr<Peer>> All() const;

 private:
  struct Entry {
    const Peer* key;
    std::weak_ptr<Peer> peer;
  };

  const size_t max_peers_;
  const size_t min_bytes_per_second_;
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_PEER_TABLE_H_
