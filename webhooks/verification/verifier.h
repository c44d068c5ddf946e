// The specification's verification procedure: a delivery becomes a verified event, or is rejected for one reason.
#ifndef STAMPGATE_WEBHOOKS_VERIFICATION_VERIFIER_H_
#define STAMPGATE_WEBHOOKS_VERIFICATION_VERIFIER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "absl/functional/any_invocable.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "webhooks/keys/key_set_cache.h"
#include "webhooks/verification/delivery.h"
#include "webhooks/verification/event.h"
#include "webhooks/verification/rejection.h"

namespace stampgate {

struct SignedHeaders;

using Verdict = std::variant<VerifiedEvent, Rejection>;

// Thread-safe. Verifies with libsodium, in the order of RejectionReason. Everything that decides is signed; the headers
// that name an organization and an event type are not, and are never looked at.
class Verifier {
 public:
  struct Options {
    // The name in "X-<operator>-Signature" and the others; header names compare without case.
    std::string operator_name = "Service";
    // How far the signed time may be from now, either way; exactly this far passes.
    absl::Duration max_timestamp_age = absl::Minutes(5);
    std::function<absl::Time()> now;
  };

  // `keys` outlives the verifier and every call that is under way.
  Verifier(Options options, KeySetCache& keys);

  // Calls `done` once: before it returns if the delivery's key is known or the delivery is rejected for another reason,
  // else when the key set has come, on the thread that brings it. Neither blocks.
  void Verify(Delivery delivery, absl::AnyInvocable<void(Verdict)> done);

 private:
  // Everything from the key on.
  static Verdict Check(const Options& options, const std::optional<VerificationKey>& key, const SignedHeaders& headers,
                       Delivery delivery);

  // Shared with the calls that wait for a key.
  const std::shared_ptr<const Options> options_;
  KeySetCache& keys_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_VERIFICATION_VERIFIER_H_
