#include "webhooks/receiver/peer_table.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "webhooks/receiver/fair_share.h"

namespace stampgate {

void PeerProgress::Await(Time now) {
  MutexLock lock(mutex_);
  arrival_.emplace(now, bytes_per_second_);
}

void PeerProgress::Received(size_t bytes, Time now) {
  MutexLock lock(mutex_);
  if (arrival_.has_value()) arrival_->Received(bytes, now);
}

void PeerProgress::Excuse() {
  MutexLock lock(mutex_);
  arrival_.reset();
}

std::optional<PeerProgress::Time> PeerProgress::bound() const {
  MutexLock lock(mutex_);
  if (!arrival_.has_value()) return std::nullopt;
  return arrival_->bound();
}

PeerTable::PeerTable(size_t max_peers, const ProvenSources& sources)
    : max_peers_(max_peers), kept_(max_peers / 4), sources_(sources) {}

bool PeerTable::Admit(const std::shared_ptr<ConnectedPeer>& peer, std::string source, Time now) {
  std::vector<std::shared_ptr<ConnectedPeer>> held;
  MutexLock lock(mutex_);
  entries_.push_back({peer.get(), peer, std::move(source)});
  if (entries_.size() <= max_peers_) return true;
  const auto giver = GiverForLast(now, held);
  if (giver == entries_.end()) {
    ++refused_;
    entries_.pop_back();
    return false;
  }
  ++(sources_.Has(giver->source, now) ? proven_displaced_ : unproven_displaced_);
  if (const auto displaced = giver->peer.lock(); displaced != nullptr) displaced->Close();
  entries_.erase(giver);
  return true;
}

void PeerTable::SetSource(const ConnectedPeer* peer, std::string source) {
  MutexLock lock(mutex_);
  if (const auto found = Find(peer); found != entries_.end()) found->source = std::move(source);
}

void PeerTable::Know(const ConnectedPeer* peer) {
  MutexLock lock(mutex_);
  if (const auto found = Find(peer); found != entries_.end()) found->knows_path = true;
}

void PeerTable::Retire(const ConnectedPeer* peer) {
  MutexLock lock(mutex_);
  if (const auto found = Find(peer); found != entries_.end()) found->knows_path = false;
}

void PeerTable::Leave(const ConnectedPeer* peer) {
  MutexLock lock(mutex_);
  if (const auto found = Find(peer); found != entries_.end()) entries_.erase(found);
}

std::vector<std::shared_ptr<ConnectedPeer>> PeerTable::All() const {
  std::vector<std::shared_ptr<ConnectedPeer>> all;
  MutexLock lock(mutex_);
  for (const Entry& entry : entries_) {
    if (std::shared_ptr<ConnectedPeer> peer = entry.peer.lock()) all.push_back(std::move(peer));
  }
  return all;
}

PeerTable::Counts PeerTable::counts(Time now) const {
  MutexLock lock(mutex_);
  Counts counts{0, 0, unproven_displaced_, proven_displaced_, refused_};
  for (const Entry& entry : entries_) ++(sources_.Has(entry.source, now) ? counts.proven : counts.unproven);
  return counts;
}

PeerTable::Entries::iterator PeerTable::Find(const ConnectedPeer* peer) {
  return std::find_if(entries_.begin(), entries_.end(), [peer](const Entry& entry) { return entry.key == peer; });
}

PeerTable::Entries::iterator PeerTable::GiverForLast(Time now, std::vector<std::shared_ptr<ConnectedPeer>>& held) {
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  std::vector<Stake> stakes;
  stakes.reserve(entries_.size());
  held.reserve(entries_.size());
  for (const Entry& entry : entries_) {
    std::shared_ptr<ConnectedPeer> peer = entry.peer.lock();
    // A peer whose destructor waits for the mutex gives at once. Of strangers, the oldest one comes first.
    double weight = std::numeric_limits<double>::infinity();
    if (peer != nullptr) {
      const std::optional<Time> bound = peer->progress().bound();
      if (!entry.knows_path) {
        weight = 0;
      } else {
        weight = bound.has_value() ? std::chrono::duration<double>(now - *bound).count() : kNever;
      }
      held.push_back(std::move(peer));
    }
    stakes.push_back({.source = entry.source,
                      .standing = StandingOf(sources_.Has(entry.source, now), entry.knows_path),
                      .amount = 1,
                      .weight = weight});
  }
  const std::optional<size_t> giver = GiverOf(stakes, kept_);
  if (!giver.has_value() || *giver == entries_.size() - 1) return entries_.end();
  if (stakes[*giver].weight == kNever && stakes[*giver].source == entries_.back().source) return entries_.end();
  return entries_.begin() + static_cast<Entries::difference_type>(*giver);
}

}  // namespace stampgate
