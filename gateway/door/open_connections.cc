#include "gateway/door/open_connections.h"

#include <algorithm>
#include <utility>

namespace stampgate {

bool OpenConnections::Add(uint64_t id, std::shared_ptr<Connection> connection, Peer peer) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return false;
  connections_.emplace(id, Entry{std::move(connection), std::move(peer)});
  return true;
}

void OpenConnections::Remove(uint64_t id) {
  const std::lock_guard lock(mutex_);
  connections_.erase(id);  // before the door can end the event loop of the connection
  changed_.notify_all();
}

void OpenConnections::Stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
}

size_t OpenConnections::size() const {
  const std::lock_guard lock(mutex_);
  return connections_.size();
}

void OpenConnections::Recount() const {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, entry] : connections_) entry.connection->Recount();
}

std::map<uint64_t, std::shared_ptr<Connection>> OpenConnections::TakeStrangers(
    const std::function<bool(const Peer&)>& is_caller) {
  std::map<uint64_t, std::shared_ptr<Connection>> strangers;
  const std::lock_guard lock(mutex_);
  for (auto& [id, entry] : connections_) {
    if (entry.is_taken || is_caller(entry.peer)) continue;
    entry.is_taken = true;
    strangers.emplace(id, entry.connection);
  }
  return strangers;
}

void OpenConnections::CloseExcept(const std::set<uint64_t>& kept) {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, entry] : connections_) {
    if (kept.contains(id) || !closed_ids_.insert(id).second) continue;
    if (entry.connection->EndWrites()) closed_.push_back(entry.connection);
  }
}

bool OpenConnections::HaveOpen() const {
  const std::lock_guard lock(mutex_);
  return std::any_of(connections_.begin(), connections_.end(),
                     [this](const auto& entry) { return !closed_ids_.contains(entry.first); });
}

std::vector<std::shared_ptr<Connection>> OpenConnections::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

void OpenConnections::ForgetClosed() {
  const std::lock_guard lock(mutex_);
  closed_.clear();
}

bool OpenConnections::WaitUntilNone(std::chrono::seconds timeout) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, timeout, [this] { return connections_.empty(); });
}

}  // namespace stampgate
