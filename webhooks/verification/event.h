// A webhook event whose signature has been verified.
#ifndef STAMPGATE_WEBHOOKS_VERIFICATION_EVENT_H_
#define STAMPGATE_WEBHOOKS_VERIFICATION_EVENT_H_

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "webhooks/verification/delivery.h"

namespace stampgate {

// The parts of a delivery that the event log stores. Specification: "Delivery headers", "Signed message".
struct Event {
  // Covered by the signature.
  std::string event_id;      // equal in all repetitions of a delivery; unique within IdScopeOf(event)
  std::string key_id;        // of the verification key
  int64_t timestamp_ms = 0;  // when upstream sent this delivery (not its first attempt), in milliseconds since 1970
  // Over "v1.ed25519.<key_id>.<timestamp>.<event_id>.<body>", where SignedTimestampOf(headers, ...) returns
  // <timestamp>.
  std::array<uint8_t, 64> signature = {};
  std::string body;  // any bytes; see ReadSignedBody

  // Read from the signed body. Empty if the body is not one whole JSON object, or has no such text of at most 128
  // bytes.
  std::string organization_id;
  std::string parent_organization_id;
  // "ACTIVITY_UPDATES" or another event type of upstream; for other bodies, the value of the body's member "type".
  std::string type;

  std::array<uint8_t, 32> body_sha256 = {};

  // The operator's headers ("X-Service-..."), unchanged: those in visible ASCII, at most 16 and 4 KiB in all, always
  // including the six signed ones. No decision uses the unsigned ones.
  std::vector<HeaderField> headers;
};

// The organization within which the event id is unique: the event's own organization, or the parent organization if the
// body names no other. Upstream numbers the events of two organizations independently. All events without an
// organization share one scope.
inline const std::string& IdScopeOf(const Event& event) {
  return event.organization_id.empty() ? event.parent_organization_id : event.organization_id;
}

// Only Verifier can create one, and the event log accepts nothing else: code that stores an unverified event does not
// compile.
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
