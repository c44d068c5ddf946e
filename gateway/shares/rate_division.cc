#include "gateway/shares/rate_division.h"

#include <algorithm>
#include <cmath>
#include <map>

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

}  // namespace

RateDivision DivideRate(const std::vector<const std::vector<CallerDemand>*>& replicas, size_t self) {
  struct Caller {
    Want total;
    std::vector<Want> replicas;  // those at which it has calls
    double wanted_here = 0;
    bool is_here = false;
  };
  std::map<std::string, Caller> callers;
  for (size_t i = 0; i < replicas.size(); ++i) {
    for (const CallerDemand& demand : *replicas[i]) {
      const auto wanted = static_cast<double>(std::clamp<Millionths>(demand.wanted, 0, kWhole));
      Caller& caller = callers[demand.caller];
      caller.total.weight = std::max(caller.total.weight, static_cast<double>(std::max<int64_t>(demand.weight, 1)));
      caller.total.wanted += wanted;
      caller.replicas.push_back({1, wanted});
      if (i == self) {
        caller.is_here = true;
        caller.wanted_here = wanted;
      }
    }
  }
  std::vector<Want> wants;
  wants.reserve(callers.size());
  for (const auto& [name, caller] : callers) wants.push_back(caller.total);
  const auto whole = static_cast<double>(kWhole);
  const double level = LevelOf(whole, wants);

  RateDivision division;
  double all = 0;
  double here = 0;
  for (const auto& [name, caller] : callers) {
    const double part = PartOf(caller.total, level);
    all += part;
    if (!caller.is_here) continue;
    const double part_here = PartOf({1, caller.wanted_here}, LevelOf(part, caller.replicas));
    here += part_here;
    division.weight_parts[name] = part > 0 ? std::min(part_here / part, 1.0) : 1;
  }
  const double unwanted = std::max(whole - all, 0.0) / static_cast<double>(replicas.size());
  division.share = std::min(static_cast<Millionths>(here + unwanted), kWhole);
  return division;
}

}  // namespace stampgate
