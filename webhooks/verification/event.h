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
  // The parts that the signature covers, and the signature.
  std::string event_id;      // equal in all repetitions of a delivery; unique within the organization IdScopeOf(event)
  std::string key_id;        // the id of the verification key
  int64_t timestamp_ms = 0;  // when upstream sent this repetition, in milliseconds since 1970
  // The signature of "v1.ed25519.<key_id>.<timestamp>.<event_id>.<body>". SignedTimestampOf(headers, ...) returns
  // <timestamp>.
  std::array<uint8_t, 64> signature = {};
  std::string body;  // any bytes, not always JSON; see ReadSignedBody

  // Texts of at most 128 bytes from the signed body. A text is empty if the body lacks it or is not one whole JSON
  // object.
  std::string organization_id;
  std::string parent_organization_id;
  // "ACTIVITY_UPDATES" or another event type that the gateway knows; otherwise the value of the body's member "type".
  std::string type;

  std::array<uint8_t, 32> body_sha256 = {};

  // Upstream's headers ("X-Service-..."), unchanged. Contains only headers in visible ASCII and spaces, at most 16
  // headers with 4 KiB in total. The six signed headers are always included. The gateway makes no decision that depends
  // on the unsigned headers.
  std::vector<HeaderField> headers;
};

// Returns the organization within which the event id is unique: the event's organization or, if the body names none,
// its parent organization. Upstream can give events of two organizations the same id. All events without any
// organization share one scope.
inline const std::string& IdScopeOf(const Event& event) {
  return event.organization_id.empty() ? event.parent_organization_id : event.organization_id;
}

// An event that a Verifier has verified. Only Verifier can create a VerifiedEvent, and the event log accepts no other
// type. Therefore code that stores an unverified event does not compile.
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
