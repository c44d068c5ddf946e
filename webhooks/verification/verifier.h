// The specification's verification procedure: turns a delivery into a verified event, or into a rejection with one
// reason.
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

// Thread-safe. Verifies with libsodium, in the order of RejectionReason. Uses signed parts only: it never reads the
// unsigned headers that name an organization and an event type.
class Verifier {
 public:
  struct Options {
    // The operator's name in "X-<operator>-Signature" and the other headers; names are compared without case.
    std::string operator_name = "Service";
    // The largest accepted difference between the signed time and now, in the past or the future; inclusive.
    absl::Duration max_timestamp_age = absl::Minutes(5);
    std::function<absl::Time()> now;
  };

  // `keys` must outlive the verifier and every call that is in progress.
  Verifier(Options options, KeySetCache& keys);

  // Calls `done` once. If the delivery's verification key is cached, or the delivery is rejected before it is needed,
  // calls it before returning. Otherwise calls it after the key set has been fetched, on the thread that fetched it.
  // Neither blocks.
  void Verify(Delivery delivery, absl::AnyInvocable<void(Verdict)> done);

 private:
  // All checks from the verification key on.
  static Verdict Check(const Options& options, const std::optional<VerificationKey>& key, const SignedHeaders& headers,
                       Delivery delivery);

  // Shared with the calls that wait for a verification key.
  const std::shared_ptr<const Options> options_;
  KeySetCache& keys_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_VERIFICATION_VERIFIER_H_
