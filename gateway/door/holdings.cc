#include "gateway/door/holdings.h"

#include <utility>

namespace stampgate {

Holdings::Account::Account(std::shared_ptr<Holdings> all, std::shared_ptr<Identity> identity, OnExcess on_excess)
    : all_(std::move(all)), identity_(std::move(identity)), on_excess_(std::move(on_excess)) {}

void Holdings::Account::Set(size_t streams, size_t bytes_of_streams) {
  const int64_t bytes = static_cast<int64_t>(streams) * kStreamBytes + static_cast<int64_t>(bytes_of_streams);
  const int64_t more = bytes - bytes_.exchange(bytes, std::memory_order_relaxed);
  if (more == 0) return;
  identity_->bytes.fetch_add(more, std::memory_order_relaxed);
  all_->bytes_.fetch_add(more, std::memory_order_relaxed);
}

std::optional<Excess> Holdings::Account::Check() {
  const Limits& limits = all_->limits_;
  if (bytes_ > limits.max_bytes_per_connection) return Excess::kBytesOfConnection;
  if (identity_->bytes > limits.max_bytes_per_identity &&
      all_->TakeOutLargest(*this, identity_.get(), limits.max_bytes_per_identity, Excess::kBytesOfIdentity)) {
    return Excess::kBytesOfIdentity;
  }
  if (all_->bytes_ > limits.max_bytes && all_->TakeOutLargest(*this, nullptr, limits.max_bytes, Excess::kBytesOfAll)) {
    return Excess::kBytesOfAll;
  }
  return std::nullopt;
}

void Holdings::Account::TakeOut() {
  const std::lock_guard lock(all_->mutex_);
  is_taken_out_ = true;
}

bool Holdings::Account::MustPause() const {
  const auto exceeds = [](int64_t bytes, int64_t limit) { return bytes > limit + limit / 2; };
  return exceeds(identity_->bytes, all_->limits_.max_bytes_per_identity) ||
         exceeds(all_->bytes_, all_->limits_.max_bytes);
}

std::shared_ptr<Holdings::Account> Holdings::Open(const std::string& identity, Account::OnExcess on_excess) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Account::Identity>& shared = identities_[identity];
  if (shared == nullptr) {
    shared = std::make_shared<Account::Identity>();
    shared->name = identity;
  }
  if (shared->connections >= limits_.max_connections_per_identity) return nullptr;
  std::shared_ptr<Account> account(new Account(shared_from_this(), shared, std::move(on_excess)));
  open_.push_back(account.get());
  ++shared->connections;
  return account;
}

void Holdings::Close(Account& account) {
  account.Set(0, 0);
  const std::lock_guard lock(mutex_);
  open_.remove(&account);
  if (--account.identity_->connections == 0) identities_.erase(account.identity_->name);
}

bool Holdings::TakeOutLargest(const Account& account, const Account::Identity* identity, int64_t limit, Excess excess) {
  // While another connection searches, this one need not wait: it searches with its next bytes.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  int64_t held = 0;
  Account* largest = nullptr;
  for (Account* each : open_) {
    if (each->is_taken_out_ || (identity != nullptr && each->identity_.get() != identity)) continue;
    held += each->bytes_;
    if (largest == nullptr || each->bytes_ > largest->bytes_) largest = each;
  }
  if (held <= limit) return false;
  largest->is_taken_out_ = true;
  if (largest == &account) return true;
  largest->on_excess_(excess);
  return false;
}

}  // namespace stampgate
