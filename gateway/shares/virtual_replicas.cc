#include "gateway/shares/virtual_replicas.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"

namespace stampgate {

size_t VirtualReplicas::Add(std::vector<RateDemand> demand, absl::Duration clock_start, double clock_speed) {
  Member member;
  member.replica = std::make_unique<Replica>(absl::StrCat("replica-", members_.size()));
  member.demand = std::move(demand);
  member.clock_start = absl::UnixEpoch() + clock_start;
  member.clock_speed = clock_speed;
  member.next = now_;
  members_.push_back(std::move(member));
  return members_.size() - 1;
}

void VirtualReplicas::Kill(size_t place) {
  Member& member = members_[place];
  if (member.renewal.has_value() && !member.answer.has_value()) late_.emplace_back(member.at_store, *member.renewal);
  member.replica = nullptr;
}

absl::Time VirtualReplicas::ClockOf(size_t place) const {
  return members_[place].clock_start + now_ * members_[place].clock_speed;
}

Millionths VirtualReplicas::Usable(size_t place, const std::string& rate) const {
  return IsAlive(place) ? members_[place].replica->held()->Usable(rate, ClockOf(place)) : 0;
}

Millionths VirtualReplicas::InForce(size_t place, const std::string& rate) const {
  return IsAlive(place) && members_[place].replica->held()->InForce(ClockOf(place)) ? Usable(place, rate) : 0;
}

Millionths VirtualReplicas::SumInForce(const std::string& rate) const {
  Millionths sum = 0;
  for (size_t i = 0; i < members_.size(); ++i) sum += InForce(i, rate);
  return sum;
}

void VirtualReplicas::Pass(absl::Duration time, const std::function<void()>& after_each_tick) {
  for (const absl::Duration end = now_ + time; now_ < end;) {
    now_ += kTick;
    for (auto late = late_.begin(); late != late_.end();) {
      if (late->first > now_) {
        ++late;
        continue;
      }
      store_.Renew(late->second).status().IgnoreError();
      late = late_.erase(late);
    }
    std::vector<size_t> order(members_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::shuffle(order.begin(), order.end(), random_);
    for (const size_t place : order) {
      if (IsAlive(place)) Act(members_[place], ClockOf(place));
    }
    after_each_tick();
  }
}

void VirtualReplicas::Act(Member& member, absl::Time clock) {
  const auto chance = [this] { return std::uniform_real_distribution<>(0, 1)(random_); };
  if (member.renewal.has_value() && !member.answer.has_value() && now_ >= member.at_store) {
    if (member.is_cut_off || chance() < loss) {
      member.answer = absl::UnavailableError("the renewal is lost");
      if (!member.is_cut_off && chance() < 0.5) {
        late_.emplace_back(now_ + slowest * (20 * chance()), *member.renewal);
      }
    } else {
      member.answer = store_.Renew(*member.renewal);
      if (chance() < loss) member.answer = absl::UnavailableError("the answer is lost");
    }
  }
  if (member.is_paused) return;
  if (member.answer.has_value() && now_ >= member.back) {
    member.replica->End(*member.renewal, *member.answer, member.sent, clock);
    member.renewal.reset();
    member.answer.reset();
    if (member.replica->IsUrgent()) member.next = now_;
  }
  if (!member.renewal.has_value() && now_ >= member.next) {
    member.sent = clock;
    member.renewal = member.replica->Begin(member.demand, clock);
    member.at_store = now_ + slowest * chance();
    member.back = member.at_store + slowest * chance();
    member.next = now_ + Replica::kInterval;
  }
}

}  // namespace stampgate
