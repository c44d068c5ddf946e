#include "webhooks/log/postgres/event_seal.h"

#include "webhooks/log/state.h"

namespace stampgate {
namespace {

// No input of the cursors' HMAC, which has the same key, has this length and this first byte: see cursor.cc.
constexpr char kPurpose[] = "stampgate: seals of events";

}  // namespace

EventSeals::EventSeals(const LogIdentity& log) : log_id_(AsText(log.id)), seals_(log.cursor_key.data(), kPurpose) {}

std::string EventSeals::Make(const EventRow& row) const { return seals_.Make(Content(row)); }

bool EventSeals::IsValid(absl::string_view seal, const EventRow& row) const {
  return seals_.IsValid(seal, Content(row));
}

std::string EventSeals::Content(const EventRow& row) const { return log_id_ + EncodeContent(row); }

}  // namespace stampgate
