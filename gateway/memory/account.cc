#include "gateway/memory/account.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace stampgate {
namespace {

// The part of a bound that calls can reserve.
int64_t Reservable(int64_t limit) { return limit - limit / 8; }

// An error must name the setting that an operator can raise.
MemoryAccount::Limits WithoutEqualBounds(MemoryAccount::Limits limits) {
  constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  if (limits.max_bytes_per_connection >= std::min(limits.max_bytes_per_identity, limits.max_bytes)) {
    limits.max_bytes_per_connection = kNone;
  }
  if (limits.max_bytes_per_identity >= limits.max_bytes) limits.max_bytes_per_identity = kNone;
  return limits;
}

}  // namespace

MemoryAccount::MemoryAccount(const Limits& limits) : limits_(WithoutEqualBounds(limits)) {}

std::shared_ptr<MemoryHolder> MemoryAccount::Open(const std::string& identity,
                                                  absl::AnyInvocable<void(MemoryBound)> on_excess) {
  std::shared_ptr<MemoryHolder> holder;
  {
    const MutexLock lock(mutex_);
    std::shared_ptr<Identity>& shared = identities_[identity];
    if (shared == nullptr) {
      shared = std::make_shared<Identity>();
      shared->name = identity;
      ++identity_count_;
    }
    if (shared->connections >= limits_.max_connections_per_identity) return nullptr;
    holder.reset(new MemoryHolder(shared_from_this(), shared, std::move(on_excess)));
    open_.push_back(holder.get());
    ++shared->connections;
    ++shared->holders;
  }
  holder->SetReceived(0, 0);
  return holder;
}

int64_t MemoryAccount::Share() const {
  return std::max(Reservable(limits_.max_bytes) / std::max<int64_t>(identity_count_, 1), limits_.least_share);
}

bool MemoryAccount::MakesRoomFor(const Identity& identity) {
  const MutexLock lock(mutex_);
  const int64_t share = Share();
  if (identity.bytes > share) return false;
  // If there is none, enough connections have begun to end.
  while (const std::optional<Largest> largest = FindLargest(nullptr, Reservable(limits_.max_bytes))) {
    // Nobody loses memory for an identity that holds more.
    if (largest->bytes_of_identity <= std::max(identity.bytes.load(), share)) return false;
    largest->holder->ends_ = true;
    largest->holder->on_excess_(MemoryBound::kAll);
  }
  return true;
}

std::optional<MemoryAccount::Largest> MemoryAccount::FindLargest(const Identity* identity, int64_t limit) const {
  absl::flat_hash_map<const Identity*, Largest> identities;
  int64_t held = 0;
  for (MemoryHolder* each : open_) {
    if (each->ends_ || (identity != nullptr && each->identity_.get() != identity)) continue;
    const int64_t bytes = each->bytes_;
    Largest& of_identity = identities[each->identity_.get()];
    held += bytes;
    of_identity.bytes_of_identity += bytes;
    if (of_identity.holder == nullptr || bytes > of_identity.holder->bytes_) of_identity.holder = each;
  }
  if (held <= limit) return std::nullopt;
  return std::max_element(
             identities.begin(), identities.end(),
             [](const auto& a, const auto& b) { return a.second.bytes_of_identity < b.second.bytes_of_identity; })
      ->second;
}

bool MemoryAccount::EndLargest(const MemoryHolder* asking, const Identity* identity, int64_t limit, MemoryBound bound) {
  const std::optional<Largest> largest = FindLargest(identity, limit);
  if (!largest.has_value()) return false;
  largest->holder->ends_ = true;
  if (largest->holder == asking) return true;
  largest->holder->on_excess_(bound);
  return false;
}

MemoryHolder::MemoryHolder(std::shared_ptr<MemoryAccount> account, std::shared_ptr<MemoryAccount::Identity> identity,
                           absl::AnyInvocable<void(MemoryBound)> on_excess)
    : account_(std::move(account)), identity_(std::move(identity)), on_excess_(std::move(on_excess)) {}

MemoryHolder::~MemoryHolder() {
  const MutexLock lock(account_->mutex_);
  if (--identity_->holders > 0) return;
  account_->identities_.erase(identity_->name);
  --account_->identity_count_;
}

void MemoryHolder::Add(int64_t bytes) {
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
  identity_->bytes.fetch_add(bytes, std::memory_order_relaxed);
  account_->bytes_.fetch_add(bytes, std::memory_order_relaxed);
}

void MemoryHolder::SetReceived(size_t streams, size_t bytes_of_streams) {
  const int64_t bytes = MemoryAccount::kConnectionBytes + static_cast<int64_t>(streams) * MemoryAccount::kStreamBytes +
                        static_cast<int64_t>(bytes_of_streams);
  const int64_t more = bytes - received_.exchange(bytes, std::memory_order_relaxed);
  if (more != 0) Add(more);
}

std::optional<MemoryBound> MemoryHolder::Check() {
  const MemoryAccount::Limits& limits = account_->limits_;
  if (bytes_ > limits.max_bytes_per_connection) return MemoryBound::kConnection;
  const auto ends = [this](const MemoryAccount::Identity* identity, int64_t limit, MemoryBound name) {
    // While another connection searches, this one need not wait: it searches with its next bytes.
    if (!account_->mutex_.TryLock()) return false;
    const bool is_this = account_->EndLargest(this, identity, limit, name);
    account_->mutex_.Unlock();
    return is_this;
  };
  if (identity_->bytes > limits.max_bytes_per_identity &&
      ends(identity_.get(), limits.max_bytes_per_identity, MemoryBound::kIdentity)) {
    return MemoryBound::kIdentity;
  }
  if (account_->bytes_ > limits.max_bytes && ends(nullptr, limits.max_bytes, MemoryBound::kAll)) {
    return MemoryBound::kAll;
  }
  return std::nullopt;
}

std::optional<MemoryBound> MemoryHolder::Reserve(int64_t bytes) {
  const MemoryAccount::Limits& limits = account_->limits_;
  Add(bytes);  // first, so that calls that reserve at the same time count each other
  std::optional<MemoryBound> exceeded;
  if (bytes_ > Reservable(limits.max_bytes_per_connection)) {
    exceeded = MemoryBound::kConnection;
  } else if (identity_->bytes > Reservable(limits.max_bytes_per_identity)) {
    exceeded = MemoryBound::kIdentity;
  } else if (account_->bytes_ > Reservable(limits.max_bytes) &&
             (!account_->MakesRoomFor(*identity_) || account_->bytes_ > BoundOfAll())) {
    exceeded = MemoryBound::kAll;
  }
  if (exceeded.has_value()) Release(bytes);
  return exceeded;
}

void MemoryHolder::BeginToEnd() {
  const MutexLock lock(account_->mutex_);
  ends_ = true;
}

void MemoryHolder::Close() {
  Add(-received_.exchange(0, std::memory_order_relaxed));
  const MutexLock lock(account_->mutex_);
  account_->open_.remove(this);
  --identity_->connections;
  on_excess_ = nullptr;
}

bool MemoryHolder::MustPause() const {
  return identity_->bytes > account_->limits_.max_bytes_per_identity || account_->bytes_ > BoundOfAll();
}

int64_t MemoryHolder::BoundOfAll() const {
  const int64_t max_bytes = account_->limits_.max_bytes;
  return identity_->bytes > account_->Share() ? max_bytes : max_bytes + max_bytes / 8;
}

}  // namespace stampgate
