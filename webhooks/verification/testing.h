// Webhook deliveries for tests, signed as upstream signs them.
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

// Signs with the Ed25519 key of a fixed seed.
class TestSender {
 public:
  // The key whose seed is 00 01 ... 1f, as in upstream's own tests.
  explicit TestSender(std::string key_id = "webhook-key-1");
  TestSender(std::string key_id, const std::array<uint8_t, 32>& seed);

  // The six headers for operator "Service", the unsigned labels, and the body.
  Delivery Sign(absl::string_view event_id, absl::string_view body, absl::Time time) const;
  // Like Sign, with a timestamp of any spelling.
  Delivery SignAt(absl::string_view timestamp, absl::string_view event_id, absl::string_view body) const;

  // The JSON Web Key as upstream publishes it, and a key set that holds only this key.
  std::string Key() const;
  std::string KeySet() const;

 private:
  std::string key_id_;
  std::array<uint8_t, 32> public_key_;
  std::array<uint8_t, 64> secret_key_;
};

// The event of a delivery that TestSender() signed; the real verifier has accepted it.
VerifiedEvent MakeVerifiedEvent(absl::string_view event_id, absl::string_view body);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_VERIFICATION_TESTING_H_
