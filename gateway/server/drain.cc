#include "gateway/server/drain.h"

#include <algorithm>

namespace stampgate {
namespace {

using Clock = Drainable::Clock;

// How long a drain waits so that callers can read final statuses before their connection ends.
constexpr std::chrono::milliseconds kLastWords(500);

// How long a drain waits until the calls that arrive during the drain have been refused.
constexpr std::chrono::milliseconds kRefusalTime(100);

// How often a drain searches for connections without calls.
constexpr std::chrono::milliseconds kLook(20);

void EndCalls(Drainable& server, Clock::time_point began, Clock::time_point deadline) {
  const Clock::time_point warned = began + kLastWords;
  const Clock::time_point last_words = deadline - 2 * kLastWords;
  const Clock::time_point end = deadline - kLastWords;
  bool ending = false;
  while (server.Now() < end) {
    const bool none = server.WaitUntilNoCall(std::min(end, server.Now() + kLook));
    const Clock::time_point now = server.Now();
    if (none && (now >= warned || !server.HaveConnections())) return;
    if (now >= warned) server.CloseIdleConnections();
    if (none) server.Sleep(kLook);
    if (!ending && now >= last_words) {
      // The connections still exist, so the callers can read the statuses.
      ending = true;
      server.EndCalls();
    }
    if (ending) server.EndDiskWaits();
  }
}

}  // namespace

void Drain(Drainable& server, absl::Duration grace) {
  const Clock::time_point began = server.Now();
  const Clock::time_point deadline = began + absl::ToChronoNanoseconds(grace);
  server.Refuse(deadline - 2 * kLastWords);
  EndCalls(server, began, deadline);
  // If a client calls continuously, some call is always being refused. Closing the connection of this client during a
  // refusal does no harm, so the wait has a short limit.
  server.WaitUntilNoRefusal(std::min(deadline, server.Now() + kRefusalTime));
  server.CloseAllConnections();
  server.WaitForPeers(std::min(deadline, server.Now() + kLastWords));
}

}  // namespace stampgate
