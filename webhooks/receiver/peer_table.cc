#include "webhooks/receiver/peer_table.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
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

PeerTable::PeerTable(size_t max_peers, size_t min_bytes_per_second)
    : max_peers_(max_peers),
      kept_(max_peers < 2 ? 0 : std::max<size_t>(1, max_peers / 4)),
      min_bytes_per_second_(min_bytes_per_second) {}

bool PeerTable::Admit(const std::shared_ptr<ConnectedPeer>& peer) {
  // Destroyed after the lock is released, because the destructor of a peer calls Leave.
  std::shared_ptr<ConnectedPeer> displaced;
  {
    std::lock_guard lock(mutex_);
    entries_.push_back({peer.get(), peer, peer->source()});
    const size_t unproven = entries_.size() - proven_;
    if (entries_.size() > max_peers_ || unproven > max_peers_ - kept_) {
      const auto oldest = OldestUnprovenOfLargestSource();
      displaced = oldest->peer.lock();
      const bool is_refused = oldest->key == peer.get();
      // If there is no memory to close it, it stays in the table.
      if (!is_refused && displaced != nullptr) displaced->Close();
      Erase(oldest);
      ++(is_refused ? refused_ : unproven_displaced_);
      if (is_refused) return false;
    }
  }
  return true;
}

void PeerTable::SetSource(const ConnectedPeer* peer, std::string source) {
  std::lock_guard lock(mutex_);
  if (const auto found = Find(peer); found != entries_.end()) found->source = std::move(source);
}

void PeerTable::Prove(const ConnectedPeer* peer, PeerProgress::Time now) {
  std::vector<std::shared_ptr<ConnectedPeer>> held;  // destroyed after the lock is released
  std::shared_ptr<ConnectedPeer> last;
  {
    std::lock_guard lock(mutex_);
    const auto found = Find(peer);
    if (found == entries_.end() || found->is_proven) return;
    SetProven(*found, true);
    if (proven_ <= max_peers_ - kept_) return;
    double most = 0;
    for (const Entry& entry : entries_) {
      if (!entry.is_proven || entry.key == peer) continue;
      std::shared_ptr<ConnectedPeer> other = entry.peer.lock();
      if (other == nullptr) continue;  // its destructor is running and will call Leave
      const double behind = other->progress().BytesBehind(now, min_bytes_per_second_);
      if (behind > most) {
        most = behind;
        last = other;
      }
      held.push_back(std::move(other));
    }
    if (last == nullptr) return;
    last->Close();
    Erase(Find(last.get()));
    ++proven_displaced_;
  }
}

bool PeerTable::IsCrowded() const {
  std::lock_guard lock(mutex_);
  return proven_ > max_peers_ - kept_;
}

void PeerTable::Retire(const ConnectedPeer* peer) {
  std::lock_guard lock(mutex_);
  if (const auto found = Find(peer); found != entries_.end()) SetProven(*found, false);
}

void PeerTable::Leave(const ConnectedPeer* peer) {
  std::lock_guard lock(mutex_);
  if (const auto found = Find(peer); found != entries_.end()) Erase(found);
}

std::vector<std::shared_ptr<ConnectedPeer>> PeerTable::All() const {
  std::vector<std::shared_ptr<ConnectedPeer>> all;
  std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_) {
    if (std::shared_ptr<ConnectedPeer> peer = entry.peer.lock()) all.push_back(std::move(peer));
  }
  return all;
}

PeerTable::Counts PeerTable::counts() const {
  std::lock_guard lock(mutex_);
  return {entries_.size() - proven_, proven_, unproven_displaced_, proven_displaced_, refused_};
}

PeerTable::Entries::iterator PeerTable::Find(const ConnectedPeer* peer) {
  return std::find_if(entries_.begin(), entries_.end(), [peer](const Entry& entry) { return entry.key == peer; });
}

// Returns the oldest unproven peer of the source that has the most unproven peers. If several sources have equally
// many, chooses the one with the oldest peer. Requires that the table has an unproven peer.
PeerTable::Entries::iterator PeerTable::OldestUnprovenOfLargestSource() {
  struct Source {
    Entries::iterator oldest;
    size_t count = 0;
  };
  std::unordered_map<std::string_view, Source> sources;
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (!entry->is_proven) ++sources.try_emplace(entry->source, Source{entry}).first->second.count;
  }
  const auto less = [](const auto& a, const auto& b) {
    if (a.second.count != b.second.count) return a.second.count < b.second.count;
    return a.second.oldest > b.second.oldest;
  };
  return std::max_element(sources.begin(), sources.end(), less)->second.oldest;
}

void PeerTable::Erase(Entries::iterator entry) {
  SetProven(*entry, false);
  entries_.erase(entry);
}

void PeerTable::SetProven(Entry& entry, bool is_proven) {
  if (entry.is_proven) --proven_;
  if (is_proven) ++proven_;
  entry.is_proven = is_proven;
}

}  // namespace stampgate
