// A webhook event whose signature was verified.
#ifndef STAMPGATE_WEBHOOKS_VERIFICATION_EVENT_H_
#define STAMPGATE_WEBHOOKS_VERIFICATION_EVENT_H_

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "webhooks/verification/delivery.h"

namespace stampgate {

// What the log keeps of a delivery. Specification: "Delivery headers", "Signed message".
struct Event {
  // Signed.
  std::string event_id;      // the same in every repetition of a delivery; unique within IdScopeOf(event)
  std::string key_id;        // of the key that signed
  int64_t timestamp_ms = 0;  // when upstream sent this very delivery, since 1970
  // Over "v1.ed25519.<key_id>.<timestamp>.<event_id>.<body>", the timestamp as SignedTimestampOf(headers, ...) gives
  // it.
  std::array<uint8_t, 64> signature = {};
  std::string body;  // any bytes; see ReadSignedBody

  // Read from the signed body. Empty where the body does not say, or not as text of at most 128 bytes, and where it is
  // not one whole JSON object.
  std::string organization_id;
  std::string parent_organization_id;
  // "ACTIVITY_UPDATES", another of upstream's event types, or the body's own "type" where it is none of those.
  std::string type;

  std::array<uint8_t, 32> body_sha256 = {};

  // The operator's headers ("X-Service-..."), as they came: those that are visible ASCII, at most 16 and 4 KiB in all,
  // with all that are signed among them. The others decide nothing.
  std::vector<HeaderField> headers;
};

// The organization within which an event's id names it: the event's own, or its parent if the body names no other.
// Upstream numbers the events of two organizations independently. Events without an organization share one scope.
inline const std::string& IdScopeOf(const Event& event) {
  return event.organization_id.empty() ? event.parent_organization_id : event.organization_id;
}

// Only Verifier makes one, and the event log takes nothing else: what was not verified does not compile.
class VerifiedEvent {
 public:
  VerifiedEvent(VerifiedEvent&&) = default;
  VerifiedEvent& operator=(VerifiedEvent&&) = default;
  VerifiedEvent(const VerifiedEvent&) = delete;
  VerifiedEvent& operator=(const VerifiedEvent&) = delete;

  const Event& operator*() const { return event_; }
  const Event* operator->() const { return &event_; }

 private:
  friend class Verifier;

  explicit VerifiedEvent(Event event) : event_(std::move(event)) {}

  Event event_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_VERIFICATION_EVENT_H_
