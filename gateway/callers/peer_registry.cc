#include "gateway/callers/peer_registry.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/threads/mutex.h"

namespace stampgate {
namespace {

constexpr char kPrefix[] = "/connection/";
constexpr uint64_t kNone = 0;

struct Entry {
  Entry(Peer registered, std::weak_ptr<MemoryHolder> held) : peer(std::move(registered)), holder(std::move(held)) {}

  const Peer peer;
  const std::weak_ptr<MemoryHolder> holder;
  const std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
  std::atomic<ConnectionState> state = ConnectionState::kOpen;

  // Only the first end counts.
  void EndAs(ConnectionState end) {
    ConnectionState open = ConnectionState::kOpen;
    state.compare_exchange_strong(open, end);
  }
};

// The entries are in several parts, so that calls on different connections seldom wait for each other.
struct Part {
  Mutex mutex;
  absl::flat_hash_map<uint64_t, std::shared_ptr<Entry>> peers ABSL_GUARDED_BY(mutex);
  std::deque<uint64_t> ended ABSL_GUARDED_BY(mutex);  // the connections in `peers` that have ended, in this order
};

constexpr size_t kParts = 16;

// Never destroyed: gRPC may end connections while the process exits.
Part& PartOf(uint64_t id) {
  static auto& parts = *new std::array<Part, kParts>;
  return parts[id % parts.size()];
}

uint64_t NextId() {
  static std::atomic<uint64_t> last = kNone;
  return ++last;
}

// Returns null if the number is not registered.
std::shared_ptr<Entry> Find(uint64_t id) {
  Part& part = PartOf(id);
  const MutexLock lock(part.mutex);
  const auto found = part.peers.find(id);
  return found == part.peers.end() ? nullptr : found->second;
}

}  // namespace

RegisteredPeer::RegisteredPeer(Peer peer, std::weak_ptr<MemoryHolder> holder) : id_(NextId()) {
  Part& part = PartOf(id_);
  auto entry = std::make_shared<Entry>(std::move(peer), std::move(holder));
  const MutexLock lock(part.mutex);
  part.peers.emplace(id_, std::move(entry));
}

RegisteredPeer::RegisteredPeer(RegisteredPeer&& other) noexcept : id_(std::exchange(other.id_, kNone)) {}

RegisteredPeer::~RegisteredPeer() {
  if (id_ == kNone) return;
  Part& part = PartOf(id_);
  const MutexLock lock(part.mutex);
  part.peers.at(id_)->EndAs(ConnectionState::kClosed);
  part.ended.push_back(id_);
  if (part.ended.size() <= kKept / kParts) return;
  part.peers.erase(part.ended.front());
  part.ended.pop_front();
}

std::string RegisteredPeer::path() const { return absl::StrCat(kPrefix, id_); }

std::optional<uint64_t> ConnectionIdOf(absl::string_view address) {
  if (absl::ConsumePrefix(&address, "unix-abstract:stampgate-")) {
    address.remove_prefix(std::min(address.find('/'), address.size()));
  } else if (!absl::ConsumePrefix(&address, "unix:")) {
    return std::nullopt;
  }
  uint64_t id = kNone;
  if (!absl::ConsumePrefix(&address, kPrefix) || !absl::SimpleAtoi(address, &id)) return std::nullopt;
  return id;
}

Peer FindPeer(uint64_t id) {
  const std::shared_ptr<const Entry> entry = Find(id);
  return entry == nullptr ? Peer{} : entry->peer;
}

std::shared_ptr<MemoryHolder> FindHolder(uint64_t id) {
  const std::shared_ptr<const Entry> entry = Find(id);
  return entry == nullptr ? nullptr : entry->holder.lock();
}

void ReportEndByPeer(uint64_t id) {
  if (const std::shared_ptr<Entry> entry = Find(id); entry != nullptr) entry->EndAs(ConnectionState::kEndedByPeer);
}

ConnectionState StateOfConnection(uint64_t id) {
  const std::shared_ptr<const Entry> entry = Find(id);
  return entry == nullptr ? ConnectionState::kClosed : entry->state.load();
}

std::optional<std::chrono::steady_clock::time_point> BeginOfConnection(uint64_t id) {
  const std::shared_ptr<const Entry> entry = Find(id);
  if (entry == nullptr) return std::nullopt;
  return entry->began;
}

}  // namespace stampgate
