#include "webhooks/verification/testing.h"

#include <sodium.h>

#include <optional>
#include <utility>
#include <variant>

#include "absl/base/internal/raw_logging.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "webhooks/keys/key_set_cache.h"
#include "webhooks/verification/verifier.h"

namespace stampgate {
namespace {

std::array<uint8_t, 32> CountingSeed() {
  std::array<uint8_t, 32> seed;
  for (size_t i = 0; i < seed.size(); ++i) seed[i] = static_cast<uint8_t>(i);
  return seed;
}

absl::string_view AsText(const std::array<uint8_t, 32>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

TestSender::TestSender(std::string key_id) : TestSender(std::move(key_id), CountingSeed()) {}

TestSender::TestSender(std::string key_id, const std::array<uint8_t, 32>& seed) : key_id_(std::move(key_id)) {
  crypto_sign_seed_keypair(public_key_.data(), secret_key_.data(), seed.data());
}

Delivery TestSender::Sign(absl::string_view event_id, absl::string_view body, absl::Time time) const {
  return SignAt(absl::StrCat(absl::ToUnixMillis(time)), event_id, body);
}

Delivery TestSender::SignAt(absl::string_view timestamp, absl::string_view event_id, absl::string_view body) const {
  const std::string message =
      absl::StrCat("v1.ed25519.", key_id_, ".", timestamp, absl::StrCat(".", event_id, ".", body));
  std::string signature(crypto_sign_BYTES, '\0');
  crypto_sign_detached(reinterpret_cast<uint8_t*>(signature.data()), nullptr,
                       reinterpret_cast<const uint8_t*>(message.data()), message.size(), secret_key_.data());
  return {{{"Content-Type", "application/json"},
           {"X-Service-Organization-Id", "00000000-0000-0000-0000-000000000001"},
           {"X-Service-Event-Type", "ACTIVITY_UPDATES"},
           {"X-Service-Webhook-Version", "1"},
           {"X-Service-Timestamp", std::string(timestamp)},
           {"X-Service-Event-Id", std::string(event_id)},
           {"X-Service-Signature-Key-Id", key_id_},
           {"X-Service-Signature-Algorithm", "ed25519"},
           {"X-Service-Signature-Version", "v1"},
           {"X-Service-Signature", absl::BytesToHexString(signature)}},
          std::string(body)};
}

std::string TestSender::Key() const {
  // WebSafeBase64Escape writes no padding, as JSON Web Keys require.
  return absl::StrCat(R"({"kid":")", key_id_, R"(","kty":"OKP","crv":"Ed25519","alg":"EdDSA","use":"sig","x":")",
                      absl::WebSafeBase64Escape(AsText(public_key_)),
                      R"(","service_signature_algorithm":"ed25519","service_signature_version":"v1"})");
}

std::string TestSender::KeySet() const { return absl::StrCat(R"({"keys":[)", Key(), "]}"); }

VerifiedEvent MakeVerifiedEvent(absl::string_view event_id, absl::string_view body) {
  const absl::Time now = absl::FromUnixMillis(1'700'000'000'000);
  const TestSender sender;
  KeySetCache::Options cache_options;
  cache_options.now = [now] { return now; };
  KeySetCache keys(std::move(cache_options), [&sender](auto done) { done(KeySetAnswer{sender.KeySet(), "", {}}); });
  Verifier::Options options;
  options.now = [now] { return now; };
  Verifier verifier(std::move(options), keys);
  std::optional<Verdict> verdict;
  verifier.Verify(sender.Sign(event_id, body, now), [&](Verdict given) { verdict = std::move(given); });
  ABSL_RAW_CHECK(verdict.has_value() && std::holds_alternative<VerifiedEvent>(*verdict),
                 "the verifier rejected a test's event");
  return std::get<VerifiedEvent>(*std::move(verdict));
}

}  // namespace stampgate
