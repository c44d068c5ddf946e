#include "gateway/shares/replica.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <utility>

#include "absl/strings/string_view.h"

namespace stampgate {
namespace {

// A share that becomes smaller by so much is made free without delay.
constexpr Millionths kUrgent = kWhole / 100;

const std::vector<CallerDemand>* FindDemand(const std::vector<RateDemand>& demand, absl::string_view rate) {
  for (const RateDemand& each : demand) {
    if (each.rate == rate) return &each.callers;
  }
  return nullptr;
}

// Removes the callers with the smallest demand, so that at most `most` remain in all rates.
void Limit(size_t most, std::vector<RateDemand>* demand) {
  std::vector<Millionths> wanted;
  for (const RateDemand& rate : *demand) {
    for (const CallerDemand& caller : rate.callers) wanted.push_back(caller.wanted);
  }
  if (wanted.size() <= most) return;
  std::nth_element(wanted.begin(), wanted.begin() + static_cast<ptrdiff_t>(most), wanted.end(), std::greater<>());
  const Millionths smallest = wanted[most];
  for (RateDemand& rate : *demand) {
    const auto is_small = [smallest](const CallerDemand& caller) { return caller.wanted <= smallest; };
    rate.callers.erase(std::remove_if(rate.callers.begin(), rate.callers.end(), is_small), rate.callers.end());
  }
}

}  // namespace

// Replicas that do not name a rate have no part of it, except of the reserve, which all replicas share.
RateDivision Replica::Divide(const RateDemand& own) const {
  static const std::vector<CallerDemand> kNone;
  std::map<std::string, const std::vector<CallerDemand>*> by_id = {{id_, &own.callers}};
  for (const auto& [id, other] : others_) {
    const std::vector<CallerDemand>* callers = own.rate == kReserveRate ? &kNone : FindDemand(other.demand, own.rate);
    if (callers != nullptr) by_id.emplace(id, callers);
  }
  std::vector<const std::vector<CallerDemand>*> replicas;
  replicas.reserve(by_id.size());
  for (const auto& [id, callers] : by_id) replicas.push_back(callers);
  const auto self = static_cast<size_t>(std::distance(by_id.begin(), by_id.find(id_)));
  const double reserve = static_cast<double>(kReserve) / static_cast<double>(kWhole);
  return DivideRate(replicas, self,
                    {.calls = own.whole_calls,
                     .reserved = reserve / static_cast<double>(others_.size() + 1),
                     .divided = 1 - reserve});
}

ShareRenewal Replica::Begin(std::vector<RateDemand> demand, absl::Time now) {
  Limit(kMaxCallers, &demand);
  demand_ = std::move(demand);
  demand_.push_back({.rate = kReserveRate, .callers = {}, .whole_calls = 0});
  ShareRenewal renewal;
  renewal.replica = id_;
  renewal.number = ++number_;
  for (auto other = others_.begin(); other != others_.end();) {
    if (now < other->second.seen + kSilence) {
      ++other;
      continue;
    }
    renewal.silent.push_back({other->first, other->second.number});
    other = others_.erase(other);
  }
  auto next = std::make_shared<HeldShares>(*held_);
  next->rates.clear();
  for (const RateDemand& own : demand_) {
    RateDivision division = Divide(own);
    const Millionths usable = held_->Usable(own.rate, now);
    const Millionths used = held_->InForce(now) ? std::min(usable, division.share) : usable;
    next->rates[own.rate] = {used, std::move(division.weight_parts)};
    renewal.rates.push_back({own.rate, used, division.share});
  }
  renewal.demand.assign(demand_.begin(), demand_.end() - 1);
  held_ = std::move(next);
  return renewal;
}

void Replica::End(const ShareRenewal& renewal, const absl::StatusOr<ShareAnswer>& answer, absl::Time sent,
                  absl::Time now) {
  const bool was_urgent = std::exchange(is_urgent_, false);
  if (!answer.ok() || answer->granted.size() != renewal.rates.size()) {
    // This replica cannot see whether the others are silent. Other replicas, too, need time to reach the store again.
    for (auto& [id, other] : others_) other.seen = absl::InfiniteFuture();
    return;
  }
  std::map<std::string, Other> others;
  for (const ShareAnswer::Replica& replica : answer->others) {
    Other& other = others[replica.replica];
    other = {replica.number, now, replica.demand};
    const auto before = others_.find(replica.replica);
    const bool is_known = before != others_.end() && before->second.number == replica.number;
    if (is_known && before->second.seen < now) other.seen = before->second.seen;
  }
  others_ = std::move(others);

  auto next = std::make_shared<HeldShares>(*held_);
  next->until = sent + kLasts;
  next->replicas = static_cast<int>(others_.size()) + 1;
  for (size_t i = 0; i < renewal.rates.size(); ++i) {
    RateDivision division = Divide(demand_[i]);
    const Millionths share = std::min(answer->granted[i], division.share);
    const Millionths counted = std::max(answer->granted[i], renewal.rates[i].used);
    if (!was_urgent && counted - share >= kUrgent) is_urgent_ = true;
    next->rates[renewal.rates[i].rate] = {share, std::move(division.weight_parts)};
  }
  held_ = std::move(next);
}

}  // namespace stampgate
