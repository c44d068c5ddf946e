// Checks the headers, the signature and the time of a delivery. Returns a verified event, or a rejection with one
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

// Verifies deliveries. Thread-safe. Verifies signatures with libsodium. Makes its checks in the order of
// RejectionReason. Never reads the unsigned headers that name an organization and an event type.
class Verifier {
 public:
  struct Options {
    // Upstream's name, which replaces <operator> in header names such as "X-<operator>-Signature". Its letters may have
    // any case.
    std::string operator_name = "Service";
    // The largest accepted difference between the signed time and the current time, in either direction; inclusive.
    absl::Duration max_timestamp_age = absl::Minutes(5);
    std::function<absl::Time()> now;
  };

  // `keys` must outlive the verifier and every verification in progress.
  Verifier(Options options, KeySetCache& keys);

  // Calls `done` once. If the delivery's key is cached, or the delivery is rejected before its key is needed, calls
  // `done` before returning. Otherwise calls `done` on the thread of the fetch, after the key set has been fetched.
  // Does not block.
  void Verify(Delivery delivery, absl::AnyInvocable<void(Verdict)> done);

 private:
  // Makes the checks that need the verification key, and all later checks.
  static Verdict Check(const Options& options, const std::optional<VerificationKey>& key, const SignedHeaders& headers,
                       Delivery delivery);

  // Shared with the verifications that wait for a key.
  const std::shared_ptr<const Options> options_;
  KeySetCache& keys_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_VERIFICATION_VERIFIER_H_
