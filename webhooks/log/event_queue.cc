#include "webhooks/log/event_queue.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace stampgate {

size_t QueuedBytes(const Event& event) {
  size_t bytes = sizeof(WaitingEvent) + event.body.size() + 512;
  for (const HeaderField& header : event.headers) {
    bytes += sizeof(HeaderField) + header.name.size() + header.value.size();
  }
  return bytes;
}

absl::Status CannotStore(const absl::Status& why) {
  const absl::StatusCode code =
      absl::IsResourceExhausted(why) ? absl::StatusCode::kResourceExhausted : absl::StatusCode::kUnavailable;
  return absl::Status(code, absl::StrCat("the event log cannot store: ", why.message()));
}

void Finish(WaitingEvent& waiting, absl::StatusOr<AppendOutcome> outcome) {
  { const VerifiedEvent freed = std::move(waiting.event); }
  waiting.done(std::move(outcome));
}

}  // namespace stampgate
