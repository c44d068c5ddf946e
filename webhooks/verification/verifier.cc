#include "webhooks/verification/verifier.h"

#include <sodium.h>

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/secret/sha256.h"
#include "webhooks/verification/delivery_headers.h"
#include "webhooks/verification/signed_body.h"
#include "webhooks/verification/split.h"

namespace stampgate {
namespace {

// Returns whether `key` has signed the delivery. libsodium also rejects scalars that are not reduced and points of
// small order, which RFC 8032 does not clearly forbid.
bool SignatureIsValid(const SignedHeaders& headers, absl::string_view body, const VerificationKey& key) {
  const std::string message = absl::StrCat(headers.signature_version, ".", headers.signature_algorithm, ".",
                                           headers.key_id, ".", headers.timestamp, ".", headers.event_id, ".", body);
  return crypto_sign_verify_detached(headers.signature.data(), reinterpret_cast<const uint8_t*>(message.data()),
                                     message.size(), key.public_key.data()) == 0;
}

// Returns whether the signed time is close enough to `now`. Compares whole milliseconds, as upstream's helper does.
// Extreme times cause no overflow.
bool IsFresh(const SignedHeaders& headers, absl::Time now, absl::Duration max_age) {
  const absl::Duration age = absl::FromUnixMillis(absl::ToUnixMillis(now)) - absl::FromUnixMillis(headers.timestamp_ms);
  return absl::AbsDuration(age) <= max_age;
}

}  // namespace

Verifier::Verifier(Options options, KeySetCache& keys)
    : options_(std::make_shared<const Options>(std::move(options))), keys_(keys) {}

void Verifier::Verify(Delivery delivery, absl::AnyInvocable<void(Verdict)> done) {
  std::variant<SignedHeaders, Rejection> read = ReadSignedHeaders(delivery.headers, options_->operator_name);
  if (auto* rejection = std::get_if<Rejection>(&read)) return done(std::move(*rejection));
  auto& headers = std::get<SignedHeaders>(read);
  const std::string key_id = headers.key_id;
  keys_.Find(key_id, [options = options_, headers = std::move(headers), delivery = std::move(delivery),
                      done = std::move(done)](const std::optional<VerificationKey>& key) mutable {
    done(Check(*options, key, headers, std::move(delivery)));
  });
}

Verdict Verifier::Check(const Options& options, const std::optional<VerificationKey>& key, const SignedHeaders& headers,
                        Delivery delivery) {
  if (!key.has_value()) return Rejection{RejectionReason::kMissingKey, ""};
  if (key->signature_version != headers.signature_version || key->signature_algorithm != headers.signature_algorithm) {
    return Rejection{RejectionReason::kInvalidVerificationKeyAlgorithm, ""};
  }
  if (!SignatureIsValid(headers, delivery.body, *key)) return Rejection{RejectionReason::kInvalidSignature, ""};
  if (!IsFresh(headers, options.now(), options.max_timestamp_age)) {
    return Rejection{RejectionReason::kStaleTimestamp, ""};
  }
  // If the body is not a JSON object, the event is accepted nevertheless, without organization and type, so that no
  // signed event is lost.
  absl::StatusOr<SignedBody> body = ReadSignedBody(delivery.body);
  switch (CheckSplit(headers, delivery.body, body.ok())) {
    case Split::kSigned:
      break;
    case Split::kOther:
      return Rejection{RejectionReason::kInvalidSignature, ""};
    case Split::kAmbiguous:
      return Rejection{RejectionReason::kUnsupportedIdentifier, ""};
  }
  if (!body.ok()) body = SignedBody();
  Event event;
  event.event_id = headers.event_id;
  event.key_id = headers.key_id;
  event.timestamp_ms = headers.timestamp_ms;
  event.signature = headers.signature;
  event.body = std::move(delivery.body);
  event.organization_id = std::move(body->organization_id);
  event.parent_organization_id = std::move(body->parent_organization_id);
  event.type = std::move(body->event_type);
  event.body_sha256 = Sha256(event.body);
  event.headers = KeepOperatorHeaders(std::move(delivery.headers), options.operator_name);
  return VerifiedEvent(std::move(event));
}

}  // namespace stampgate
