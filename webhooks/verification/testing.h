// Makes webhook deliveries for tests, signed as upstream signs them.
#ifndef STAMPGATE_WEBHOOKS_VERIFICATION_TESTING_H_
#define STAMPGATE_WEBHOOKS_VERIFICATION_TESTING_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "webhooks/verification/delivery.h"
#include "webhooks/verification/event.h"

namespace stampgate {

// A sender of deliveries that signs with an Ed25519 key of a fixed seed.
class TestSender {
 public:
  // Uses the seed 00 01 ... 1f, as upstream's own tests do.
  explicit TestSender(std::string key_id = "webhook-key-1");
  TestSender(std::string key_id, const std::array<uint8_t, 32>& seed);

  // Returns a delivery with `body`, signed at `time`. It has all headers that upstream sends if upstream's name is
  // "Service": the six signature headers (see ReadSignedHeaders), and the headers that the signature does not cover
  // (organization, event type, webhook version and Content-Type).
  Delivery Sign(absl::string_view event_id, absl::string_view body, absl::Time time) const;
  // Returns a signed delivery as Sign does, but with any text as timestamp.
  Delivery SignAt(absl::string_view timestamp, absl::string_view event_id, absl::string_view body) const;

  // Key returns the sender's JSON Web Key in the form that upstream publishes. KeySet returns a key set with only this
  // key.
  std::string Key() const;
  std::string KeySet() const;

 private:
  std::string key_id_;
  std::array<uint8_t, 32> public_key_;
  std::array<uint8_t, 64> secret_key_;
};

// Returns the event of a delivery that TestSender() has signed and the real verifier has accepted.
VerifiedEvent MakeVerifiedEvent(absl::string_view event_id, absl::string_view body);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_VERIFICATION_TESTING_H_
