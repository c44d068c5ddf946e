#include "gateway/grpc_port/open_connections.h"

#include <algorithm>
#include <utility>

namespace stampgate {

OpenConnections::Added OpenConnections::Add(uint64_t id, std::shared_ptr<Connection> connection, Peer peer) {
  Added added;
  const std::string identity = StrangerName(peer);
  const MutexLock lock(mutex_);
  if (stopped_) return {.result = Added::Result::kStopped};
  if (used_places_ >= max_) {
    const std::set<uint64_t>* const largest = LargestBeside(identity);
    if (largest == nullptr) return {.result = Added::Result::kFull};
    const uint64_t chosen = ChooseFrom(*largest);
    const Entry& displaced = connections_.at(chosen);
    added.displaced = {displaced.connection, displaced.peer};
    TakePlace(chosen, displaced.peer);
    displaced_.push_back(chosen);
    if (displaced_.size() > kMaxDisplaced) {
      added.overdue = connections_.at(displaced_.front()).connection;
      displaced_.pop_front();
    }
  }
  connections_.emplace(id, Entry{std::move(connection), std::move(peer)});
  places_[identity].insert(id);
  ++used_places_;
  return added;
}

const std::set<uint64_t>* OpenConnections::LargestBeside(const std::string& identity) const {
  const auto own = places_.find(identity);
  size_t most = (own == places_.end() ? 0 : own->second.size()) + 1;
  const std::set<uint64_t>* largest = nullptr;
  for (const auto& [name, places] : places_) {
    if (name == identity || places.size() <= most) continue;
    most = places.size();
    largest = &places;
  }
  return largest;
}

uint64_t OpenConnections::ChooseFrom(const std::set<uint64_t>& places) const {
  const auto idle = std::find_if(
      places.rbegin(), places.rend(),
      [this](uint64_t id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return connections_.at(id).connection->IsIdle(); });
  return idle == places.rend() ? *places.rbegin() : *idle;
}

void OpenConnections::TakePlace(uint64_t id, const Peer& peer) {
  const auto places = places_.find(StrangerName(peer));
  if (places == places_.end() || places->second.erase(id) == 0) return;
  --used_places_;
  if (places->second.empty()) places_.erase(places);
}

void OpenConnections::Remove(uint64_t id) {
  const MutexLock lock(mutex_);
  const auto found = connections_.find(id);
  TakePlace(id, found->second.peer);
  std::erase(displaced_, id);
  connections_.erase(found);  // before the port can end the event loop of the connection
  changed_.WakeAll();
}

void OpenConnections::Stop() {
  const MutexLock lock(mutex_);
  stopped_ = true;
}

size_t OpenConnections::size() const {
  const MutexLock lock(mutex_);
  return connections_.size();
}

void OpenConnections::Recount() const {
  const MutexLock lock(mutex_);
  for (const auto& [id, entry] : connections_) entry.connection->Recount();
}

std::map<uint64_t, std::shared_ptr<Connection>> OpenConnections::TakeStrangers(
    const std::function<bool(const Peer&)>& is_caller) {
  std::map<uint64_t, std::shared_ptr<Connection>> strangers;
  const MutexLock lock(mutex_);
  for (auto& [id, entry] : connections_) {
    if (entry.is_taken || is_caller(entry.peer)) continue;
    entry.is_taken = true;
    strangers.emplace(id, entry.connection);
  }
  return strangers;
}

void OpenConnections::CloseExcept(const std::set<uint64_t>& kept) {
  const MutexLock lock(mutex_);
  for (const auto& [id, entry] : connections_) {
    if (kept.contains(id) || !closed_ids_.insert(id).second) continue;
    if (entry.connection->EndWrites()) closed_.push_back(entry.connection);
  }
}

bool OpenConnections::HaveOpen() const {
  const MutexLock lock(mutex_);
  return std::any_of(connections_.begin(), connections_.end(),
                     [this](const auto& entry)
                         ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !closed_ids_.contains(entry.first); });
}

std::vector<std::shared_ptr<Connection>> OpenConnections::closed() const {
  const MutexLock lock(mutex_);
  return closed_;
}

void OpenConnections::ForgetClosed() {
  const MutexLock lock(mutex_);
  closed_.clear();
}

bool OpenConnections::WaitUntilNone(std::chrono::seconds timeout) {
  MutexLock lock(mutex_);
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (!connections_.empty() && !changed_.WaitUntil(mutex_, deadline)) {
  }
  return connections_.empty();
}

}  // namespace stampgate
