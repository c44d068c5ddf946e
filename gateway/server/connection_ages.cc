#include "gateway/server/connection_ages.h"

#include <algorithm>

#include "base/time/duration.h"

namespace stampgate {
namespace {

constexpr absl::Duration kGoAway = absl::Minutes(30);
constexpr absl::Duration kEndOfStreams = absl::Minutes(35);

// Leaves two minutes between the end of the streams and the earliest close.
constexpr absl::Duration kShortestGrace = absl::Minutes(10);

// The time for everything that the deadline of a call does not bound, such as a slow disk, or a caller that reads its
// response slowly.
constexpr absl::Duration kMargin = absl::Minutes(1);

}  // namespace

ConnectionAges ConnectionAgesOf(const config::v1::Config& config) {
  if (!config.has_tls()) return {};
  const absl::Duration longest_call =
      std::max(ToDuration(config.activities().max_wait()), ToDuration(config.calls().max_deadline()));
  return {
      .goaway = kGoAway, .end_of_streams = kEndOfStreams, .grace = std::max(kShortestGrace, longest_call + kMargin)};
}

}  // namespace stampgate
