#include "webhooks/receiver/fair_share.h"

#include <array>

#include "absl/container/flat_hash_map.h"

namespace stampgate {
namespace {

// The stakes of one source in one standing.
struct Source {
  size_t amount = 0;
  std::optional<size_t> giver;  // the stake with the greatest weight
};

// Returns the stake that gives of this standing.
std::optional<size_t> GiverOfStanding(absl::Span<const Stake> stakes, Standing standing) {
  absl::flat_hash_map<absl::string_view, Source> sources;
  for (size_t i = 0; i < stakes.size(); ++i) {
    const Stake& stake = stakes[i];
    if (stake.standing != standing) continue;
    Source& source = sources[stake.source];
    source.amount += stake.amount;
    if (stake.can_give && (!source.giver.has_value() || stake.weight > stakes[*source.giver].weight)) source.giver = i;
  }
  const Source* giver = nullptr;
  for (const auto& [name, source] : sources) {
    if (!source.giver.has_value()) continue;
    const bool is_first = giver == nullptr || source.amount > giver->amount ||
                          (source.amount == giver->amount && source.giver < giver->giver);
    if (is_first) giver = &source;
  }
  return giver == nullptr ? std::nullopt : giver->giver;
}

}  // namespace

std::optional<size_t> GiverOf(absl::Span<const Stake> stakes, size_t kept) {
  std::array<size_t, kStandings> amounts = {};
  for (const Stake& stake : stakes) amounts[static_cast<size_t>(stake.standing)] += stake.amount;
  for (size_t standing = 0; standing < kStandings; ++standing) {
    if (amounts[standing] <= kept) continue;
    if (const auto giver = GiverOfStanding(stakes, static_cast<Standing>(standing)); giver.has_value()) return giver;
  }
  return std::nullopt;
}

}  // namespace stampgate
