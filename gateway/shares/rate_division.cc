#include "gateway/shares/rate_division.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace stampgate {
namespace {

struct Want {
  double weight = 0;
  double wanted = 0;
};

// Returns the level up to which `capacity` fills all wants: each of them gets the smaller of its demand and the level
// multiplied by its weight. Returns infinity if all demands fit.
double LevelOf(double capacity, std::vector<Want> wants) {
  std::sort(wants.begin(), wants.end(),
            [](const Want& a, const Want& b) { return a.wanted * b.weight < b.wanted * a.weight; });
  double weights = 0;
  for (const Want& want : wants) weights += want.weight;
  for (const Want& want : wants) {
    if (want.wanted * weights >= capacity * want.weight) return capacity / weights;
    capacity -= want.wanted;
    weights -= want.weight;
  }
  return HUGE_VAL;
}

double PartOf(const Want& want, double level) { return std::min(want.wanted, level * want.weight); }

// Rounds the shares, which are parts of kWhole.
void Round(const WholeCalls& whole, std::vector<double>& shares) {
  if (whole.calls == 0) return;
  const double per_call = static_cast<double>(kWhole) / static_cast<double>(whole.calls);
  const double reserved = whole.reserved * static_cast<double>(whole.calls);
  const auto calls_of = [&](double share) { return whole.divided * share / per_call + reserved; };
  constexpr double kExact = 1e-3;  // a share is a whole number of millionths

  std::vector<std::pair<double, size_t>> fractions;
  double left = 0;
  for (size_t i = 0; i < shares.size(); ++i) {
    const double calls = calls_of(shares[i]);
    if (calls < 1) continue;
    const double fraction = std::max(calls - std::floor(calls + kExact), 0.0);
    fractions.emplace_back(-fraction, i);
    left += fraction;
  }
  std::sort(fractions.begin(), fractions.end());
  for (const auto& [negative, i] : fractions) {
    double calls = std::floor(calls_of(shares[i]) + kExact);
    if (left >= 1 - kExact) {
      ++calls;
      --left;
    }
    shares[i] = std::max((calls - reserved) * per_call / whole.divided, 0.0);
  }
}

}  // namespace

RateDivision DivideRate(const std::vector<const std::vector<CallerDemand>*>& replicas, size_t self,
                        const WholeCalls& whole) {
  struct Caller {
    Want total;
    std::vector<Want> wants;       // at each replica at which it has calls
    std::vector<size_t> replicas;  // these replicas
  };
  std::map<std::string, Caller> callers;
  for (size_t i = 0; i < replicas.size(); ++i) {
    for (const CallerDemand& demand : *replicas[i]) {
      const auto wanted = static_cast<double>(std::clamp<Millionths>(demand.wanted, 0, kWhole));
      Caller& caller = callers[demand.caller];
      caller.total.weight = std::max(caller.total.weight, static_cast<double>(std::max<int64_t>(demand.weight, 1)));
      caller.total.wanted += wanted;
      caller.wants.push_back({1, wanted});
      caller.replicas.push_back(i);
    }
  }
  std::vector<Want> wants;
  wants.reserve(callers.size());
  for (const auto& [name, caller] : callers) wants.push_back(caller.total);
  const auto whole_rate = static_cast<double>(kWhole);
  const double level = LevelOf(whole_rate, wants);

  RateDivision division;
  double all = 0;
  std::vector<double> shares(replicas.size(), 0);
  for (const auto& [name, caller] : callers) {
    const double part = PartOf(caller.total, level);
    all += part;
    const double level_of_part = LevelOf(part, caller.wants);
    for (size_t k = 0; k < caller.wants.size(); ++k) {
      const double part_there = PartOf(caller.wants[k], level_of_part);
      shares[caller.replicas[k]] += part_there;
      if (caller.replicas[k] == self) division.weight_parts[name] = part > 0 ? std::min(part_there / part, 1.0) : 1;
    }
  }
  const double unwanted = std::max(whole_rate - all, 0.0) / static_cast<double>(replicas.size());
  for (double& share : shares) share += unwanted;
  Round(whole, shares);
  division.share = std::min(static_cast<Millionths>(shares[self]), kWhole);
  return division;
}

}  // namespace stampgate
