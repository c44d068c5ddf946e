#include "gateway/shares/held_shares.h"

#include <algorithm>

namespace stampgate {

double HeldShares::Share(absl::string_view rate, absl::Time now) const {
  const Millionths of_rate = (kWhole - kReserve) * Usable(rate, now);
  const Millionths of_reserve = kReserve * Usable(kReserveRate, now);
  return static_cast<double>(of_rate + of_reserve) / static_cast<double>(kWhole * kWhole);
}

double HeldShares::WeightPart(absl::string_view rate, absl::string_view caller) const {
  const auto held = rates.find(std::string(rate));
  if (held == rates.end()) return 1;
  const auto part = held->second.weight_parts.find(std::string(caller));
  return part == held->second.weight_parts.end() ? 1 : part->second;
}

Millionths HeldShares::Usable(absl::string_view rate, absl::Time now) const {
  const Millionths equal = kWhole / replicas;
  if (now >= until + kAbsence) return equal;
  const auto held = rates.find(std::string(rate));
  if (held == rates.end()) return 0;
  return InForce(now) ? held->second.share : std::min(held->second.share, equal);
}

}  // namespace stampgate
