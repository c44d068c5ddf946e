#include "gateway/shares/memory_share_store.h"

#include <algorithm>

namespace stampgate {
namespace {

class Connection final : public ShareStore {
 public:
  Connection(MemoryShares& shares, const bool& lost) : shares_(shares), lost_(lost) {}

  absl::StatusOr<ShareAnswer> Renew(const ShareRenewal& renewal) override {
    if (lost_) return absl::UnavailableError("lost");
    return shares_.Renew(renewal);
  }
  absl::Status Release(const std::string& replica) override {
    if (lost_) return absl::UnavailableError("lost");
    shares_.Release(replica);
    return absl::OkStatus();
  }

 private:
  MemoryShares& shares_;
  const bool& lost_;
};

}  // namespace

absl::StatusOr<ShareAnswer> MemoryShares::Renew(const ShareRenewal& renewal) {
  for (const ShareRenewal::Silent& silent : renewal.silent) {
    const auto row = replicas_.find(silent.replica);
    if (row != replicas_.end() && row->second.number == silent.number) replicas_.erase(row);
  }
  const auto own = replicas_.find(renewal.replica);
  if (own != replicas_.end() && own->second.number >= renewal.number) return absl::AbortedError("a later renewal");
  if (own != replicas_.end()) replicas_.erase(own);
  ShareAnswer answer;
  Row row{renewal.number, {}, renewal.demand};
  for (const ShareRenewal::Rate& rate : renewal.rates) {
    answer.granted.push_back(std::min(rate.asked, std::max<Millionths>(kWhole - Sum(rate.rate), 0)));
    row.shares[rate.rate] = std::max(answer.granted.back(), rate.used);
  }
  for (const auto& [id, other] : replicas_) answer.others.push_back({id, other.number, other.demand});
  replicas_[renewal.replica] = std::move(row);
  return answer;
}

Millionths MemoryShares::Sum(const std::string& rate) const {
  Millionths sum = 0;
  for (const auto& [id, row] : replicas_) {
    const auto share = row.shares.find(rate);
    if (share != row.shares.end()) sum += share->second;
  }
  return sum;
}

std::unique_ptr<ShareStore> ConnectToMemory(MemoryShares& shares, const bool& lost) {
  return std::make_unique<Connection>(shares, lost);
}

}  // namespace stampgate
