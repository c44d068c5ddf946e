#include "webhooks/log/log_copy.h"

#include <string>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

// One transaction of a server has this many bytes of bodies. A server must store it within a few seconds.
constexpr EventReader::Limits kBatch = {.max_events = 512, .max_bytes = 1 << 20, .max_looked_at = 512};

absl::Status CopyIds(LogSource& source, LogTarget& target) {
  for (Position after = 0;;) {
    ABSL_ASSIGN_OR_RETURN(const std::vector<StoredId> ids, source.IdsAfter(after));
    if (ids.empty()) return absl::OkStatus();
    ABSL_RETURN_IF_ERROR(target.AddIds(ids));
    after = ids.back().position;
  }
}

// Copies the events of `batch`, which follow the event at `*end`, and moves `*end` to the last of them.
absl::Status CopyBatch(const std::vector<LoggedEvent>& batch, const LogIdentity& log, LogTarget& target,
                       LogPoint* end) {
  std::vector<std::string> headers;
  headers.reserve(batch.size());
  std::vector<CopiedEvent> events;
  const ChainDigest* previous = &end->digest;
  for (const LoggedEvent& logged : batch) {
    headers.push_back(EncodeHeaders(logged.event.headers));
    EventRow row = RowOf(logged.event, headers.back());
    row.position = logged.position;
    row.commit_us = absl::ToUnixMicros(logged.commit_time);
    row.previous = AsText(*previous);
    if (ChecksumOf(AsText(log.id), row) != logged.digest) {
      return absl::DataLossError(
          absl::StrCat("event ", logged.position, " of the log does not contain the digest of the event before it"));
    }
    events.push_back({row, logged.digest, logged.event.body});
    previous = &logged.digest;
  }
  ABSL_RETURN_IF_ERROR(target.AddEvents(events));
  *end = {batch.back().position, batch.back().digest};
  return absl::OkStatus();
}

}  // namespace

absl::Status CopyLog(LogSource& source, LogTarget& target, const std::function<void(Position)>& on_progress) {
  ABSL_RETURN_IF_ERROR(CopyIds(source, target));
  const LogState& state = source.state();
  LogPoint end = {state.earliest - 1, state.digest_before};
  while (end.position < state.latest) {
    ABSL_ASSIGN_OR_RETURN(const EventReader::Batch batch, source.reader().Read({end.position}, {}, kBatch));
    if (batch.events.empty()) {
      return absl::DataLossError(absl::StrCat("the log ends before its last event, ", state.latest));
    }
    ABSL_RETURN_IF_ERROR(CopyBatch(batch.events, state.identity, target, &end));
    on_progress(end.position);
  }
  if (end.digest != state.latest_digest) {
    return absl::DataLossError(absl::StrCat("event ", end.position, " is not the one that the log has stored last"));
  }
  ABSL_ASSIGN_OR_RETURN(const SubscriptionStates subscriptions, source.Subscriptions());
  ABSL_RETURN_IF_ERROR(target.AddSubscriptions(subscriptions));
  return target.Finish(state);
}

}  // namespace stampgate
