#include "webhooks/peer_table.h"

#include <algorithm>
#include <utility>

namespace stampgate {

void PeerProgress::Await(Time now) {
  std::lock_guard lock(mutex_);
  awaited_ = true;
  since_ = now;
  received_ = 0;
}

void PeerProgress::Received(size_t bytes) {
  std::lock_guard lock(mutex_);
  received_ += bytes;
}

void PeerProgress::Excuse() {
  std::lock_guard lock(mutex_);
  awaited_ = false;
}

double PeerProgress::BytesBehind(Time now, size_t bytes_per_second) const {
  std::lock_guard lock(mutex_);
  if (!awaited_) return 0;
  const double seconds = std::chrono::duration<double>(now - since_).count();
  return seconds * static_cast<double>(bytes_per_second) - static_cast<double>(received_);
}

bool PeerTable::Admit(const std::shared_ptr<Peer>& peer, PeerProgress::Time now) {
  // Held beyond the lock: the last owner of a peer makes it leave.
  std::vector<std::shared_ptr<Peer>> held;
  std::shared_ptr<Peer> last;
  {
    std::lock_guard lock(mutex_);
    if (entries_.size() >= max_peers_) {
      double most = 0;
      for (const Entry& entry : entries_) {
        std::shared_ptr<Peer> other = entry.peer.lock();
        if (other == nullptr) continue;  // about to leave
        const double behind = other->progress().BytesBehind(now, min_bytes_per_second_);
        if (behind > most) {
          most = behind;
          last = other;
        }
        held.push_back(std::move(other));
      }
      if (last == nullptr) return false;
      std::erase_if(entries_, [&last](const Entry& entry) { return entry.key == last.get(); });
    }
    entries_.push_back({peer.get(), peer});
  }
  if (last != nullptr) last->Close();
  return true;
}

void PeerTable::Leave(const Peer* peer) {
  std::lock_guard lock(mutex_);
  std::erase_if(entries_, [peer](const Entry& entry) { return entry.key == peer; });
}

std::vector<std::shared_ptr<Peer>> PeerTable::All() const {
  std::vector<std::shared_ptr<Peer>> all;
  std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_) {
    if (std::shared_ptr<Peer> peer = entry.peer.lock()) all.push_back(std::move(peer));
  }
  return all;
}

}  // namespace stampgate
