#include "gateway/grpc_port/handshakes.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace stampgate {

void Handshakes::Add(const std::shared_ptr<Connection>& connection, std::string source) {
  std::shared_ptr<Connection> displaced;
  {
    const MutexLock lock(mutex_);
    if (entries_.size() >= max_) displaced = TakeOldestOfLargestSource();
    entries_.push_back({connection, std::move(source)});
  }
  if (displaced != nullptr) displaced->Close();
}

void Handshakes::Remove(const Connection* connection) {
  const MutexLock lock(mutex_);
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.connection.get() == connection; });
  if (found != entries_.end()) entries_.erase(found);
}

size_t Handshakes::size() const {
  const MutexLock lock(mutex_);
  return entries_.size();
}

void Handshakes::CloseAll() {
  std::list<Entry> entries;
  {
    const MutexLock lock(mutex_);
    entries.swap(entries_);
  }
  for (const Entry& entry : entries) entry.connection->Close();
}

std::shared_ptr<Connection> Handshakes::TakeOldestOfLargestSource() {
  absl::flat_hash_map<std::string, size_t> sizes;
  size_t largest = 0;
  for (const Entry& entry : entries_) largest = std::max(largest, ++sizes[entry.source]);
  const auto oldest = std::find_if(entries_.begin(), entries_.end(),
                                   [&](const Entry& entry) { return sizes[entry.source] == largest; });
  std::shared_ptr<Connection> connection = std::move(oldest->connection);
  entries_.erase(oldest);
  return connection;
}

}  // namespace stampgate
