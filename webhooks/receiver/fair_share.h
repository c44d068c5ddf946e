// Decides which client gives up its part of a scarce resource, such as memory, when there is not enough for all.
//
// Anybody may connect to the webhook port, and everybody who knows a path can send any number of deliveries, so the
// rule looks only at what cannot be invented: the address, and whether valid deliveries have come from this address.
#ifndef STAMPGATE_WEBHOOKS_RECEIVER_FAIR_SHARE_H_
#define STAMPGATE_WEBHOOKS_RECEIVER_FAIR_SHARE_H_

#include <cstddef>
#include <optional>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace stampgate {

// What the server knows about a peer. The first one gives first.
enum class Standing {
  kStranger,                // nothing
  kStrangerOfProvenSource,  // only that the peer's source has sent a valid delivery; see ProvenSources
  kKnowsPath,               // the peer has requested one of the configured paths
  kProven,                  // both
};
inline constexpr size_t kStandings = 4;

inline Standing StandingOf(bool source_is_proven, bool knows_path) {
  if (knows_path) return source_is_proven ? Standing::kProven : Standing::kKnowsPath;
  return source_is_proven ? Standing::kStrangerOfProvenSource : Standing::kStranger;
}

// A part of the resource that one peer holds or asks for.
struct Stake {
  absl::string_view source;  // see SourceOf
  Standing standing = Standing::kStranger;
  size_t amount = 0;     // how much of the resource it is
  double weight = 0;     // of the stakes of one source, the one with the greatest weight gives
  bool can_give = true;  // whether the resource can be taken from this peer
};

// Returns the index of the stake that gives. It belongs to the lowest standing whose stakes have more than `kept` in
// all, so that each standing keeps that much, and to the source that has the most in this standing. Within a standing,
// therefore, a source below the average gives nothing while one above the average can give. Leaves out standings and
// sources that have no stake that can give. Of equal sources, and of stakes with equal weight, chooses the first one.
// Returns nothing if no stake can give by these rules.
std::optional<size_t> GiverOf(absl::Span<const Stake> stakes, size_t kept);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_RECEIVER_FAIR_SHARE_H_
