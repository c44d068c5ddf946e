#include "base/postgres/primary_check.h"

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"

namespace stampgate {
namespace {

using SteadyClock = std::chrono::steady_clock;

// A caller and others wait meanwhile.
constexpr std::chrono::seconds kAskTime(1);
constexpr std::chrono::seconds kSilence(10);

absl::StatusOr<int64_t> TimelineOf(const PostgresAddress& address, const std::string& host) {
  const absl::StatusOr<std::unique_ptr<PostgresConnection>> connection =
      PostgresConnection::OpenHost(address, host, kAskTime);
  return connection.ok() ? (*connection)->Timeline() : connection.status();
}

}  // namespace

absl::Status PrimaryCheck::Confirm(PostgresConnection& connection) {
  const bool all_answered = AskAll();
  if (connection.IsOutdated()) return absl::AbortedError("another server is the primary now");
  if (all_answered || address_.allow_single_server) return absl::OkStatus();
  absl::Status proof = connection.Prove();
  if (proof.ok() || absl::IsUnavailable(proof)) return proof;
  return absl::UnavailableError(proof.message());
}

bool PrimaryCheck::AskAll() {
  bool all_answered = true;
  for (const std::string& host : address_.hosts) {
    SteadyClock::time_point& ask_at = ask_at_[host];
    const bool asks = SteadyClock::now() >= ask_at;
    const absl::StatusOr<int64_t> timeline =
        asks ? TimelineOf(address_, host) : absl::UnavailableError("the server did not answer");
    if (timeline.ok()) {
      address_.SeeTimeline(*timeline);
      continue;
    }
    all_answered = false;
    if (asks) ask_at = SteadyClock::now() + kSilence;
  }
  return all_answered;
}

}  // namespace stampgate
