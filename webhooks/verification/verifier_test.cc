#include "webhooks/verification/verifier.h"

#include <gtest/gtest.h>
#include <simdjson.h>
#include <sodium.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/json/hex.h"
#include "base/threads/mutex.h"
#include "webhooks/verification/delivery_headers.h"
#include "webhooks/verification/verifier_testing.h"

namespace stampgate {
namespace {

constexpr char kBody[] = R"({"type":"activity.created","data":{"id":"act_123"}})";

// Uses the seed, event id, time and body of upstream's own unit test, and the signature that this test expects.
TEST(VerifierTest, AcceptsTheDeliveryOfUpstreamsOwnTest) {
  Delivery delivery = TestSender().Sign("evt_123", kBody, kNow);
  EXPECT_EQ(Header(delivery, "Signature"),
            "99c87f03e9254ed35896a394daa264f30d87574c6f4187e861fe136e4a15b50b"
            "5f43052a1a4f506d6faec7f699e42bfe40d523f5040946984e6c95497dc67a0f");
  Inbox inbox(TestSender().KeySet(), "Service", kNow + absl::Seconds(1));
  Verdict verdict = inbox.Verify(delivery);
  ASSERT_EQ(OutcomeOf(verdict), "OK");
  const Event& event = *std::get<VerifiedEvent>(verdict);
  EXPECT_EQ(event.event_id, "evt_123");
  EXPECT_EQ(event.key_id, "webhook-key-1");
  EXPECT_EQ(event.timestamp_ms, 1'700'000'000'000);
  EXPECT_EQ(absl::BytesToHexString({reinterpret_cast<const char*>(event.signature.data()), event.signature.size()}),
            Header(delivery, "Signature"));
  EXPECT_EQ(event.body, kBody);
  EXPECT_EQ(event.type, "activity.created");
  EXPECT_EQ(event.organization_id, "");
  EXPECT_EQ(event.parent_organization_id, "");
  std::array<uint8_t, 32> sha256;
  crypto_hash_sha256(sha256.data(), reinterpret_cast<const uint8_t*>(kBody), sizeof(kBody) - 1);
  EXPECT_EQ(event.body_sha256, sha256);
  ASSERT_EQ(event.headers.size(), delivery.headers.size() - 1) << "all headers except Content-Type";
  for (size_t i = 0; i < event.headers.size(); ++i) {
    EXPECT_EQ(event.headers[i].name, delivery.headers[i + 1].name);
    EXPECT_EQ(event.headers[i].value, delivery.headers[i + 1].value);
  }
}

// Describes a case in which the verdict of our verifier differs from the verdict of upstream's helper. `ours` is our
// verdict, and `why` explains the difference.
struct Difference {
  const char *ours, *why;
};

const std::map<std::string, Difference>& Differences() {
  static const auto* const differences = new std::map<std::string, Difference>{
      {"bad-short-signature",
       {"malformed_header x-turnkey-signature", "rejected before the key lookup, because no key can make it valid"}},
      {"bad-timestamp-not-numeric",
       {"malformed_header x-turnkey-timestamp", "malformed_header is our reason for a bad form in any header"}},
  };
  return *differences;
}

// Returns the key set for one delivery of the file: the delivery's own `verificationKeys` if they are present,
// otherwise the keys of the file.
std::string KeySetOf(simdjson::dom::element root, simdjson::dom::element delivery) {
  simdjson::dom::array keys;
  if (delivery["verificationKeys"].get(keys) != simdjson::SUCCESS) {
    return simdjson::minify(simdjson::dom::element(root["jwks"]));
  }
  std::vector<std::string> jwks;
  for (simdjson::dom::element key : keys) {
    const std::string point = DecodeHex(std::string(std::string_view(key["publicKey"]))).value();
    std::string_view algorithm;
    jwks.push_back(absl::StrCat(R"({"kty":"OKP","crv":"Ed25519","kid":")", std::string(std::string_view(key["keyId"])),
                                R"(","x":")", absl::WebSafeBase64Escape(point), "\""));
    if (key["algorithm"].get(algorithm) == simdjson::SUCCESS) {
      absl::StrAppend(&jwks.back(), R"(,"turnkey_signature_algorithm":")", std::string(algorithm), "\"");
    }
    absl::StrAppend(&jwks.back(), "}");
  }
  return absl::StrCat(R"({"keys":[)", absl::StrJoin(jwks, ","), "]}");
}

TEST(VerifierTest, ADeliverysOwnKeysReplaceTheKeysOfTheFile) {
  simdjson::dom::parser file_parser;
  simdjson::dom::element root = file_parser.load("tests/vectors/webhooks.json");
  const std::string own = R"({"verificationKeys":[{"keyId":"webhook-key-1","publicKey":)"
                          R"("4d8aafc5706c3954f5c20640a5d6ab801fa23fe60e72746969b9525b943d1a98"}]})";
  simdjson::dom::parser parser;
  const Delivery delivery = TestSender().Sign("evt_123", kBody, kNow);
  EXPECT_EQ(Inbox(KeySetOf(root, parser.parse(std::string("{}"))), "Service").Outcome(delivery), "OK");
  EXPECT_EQ(Inbox(KeySetOf(root, parser.parse(own)), "Service").Outcome(delivery), "invalid_signature");
}

TEST(VerifierTest, VerdictsEqualThoseOfUpstreamsHelperExceptKnownDifferences) {
  simdjson::dom::parser parser;
  simdjson::dom::element root = parser.load("tests/vectors/webhooks.json");
  size_t deliveries = 0;
  size_t differences = 0;
  for (simdjson::dom::element entry : root["deliveries"]) {
    auto text = [](simdjson::dom::element value) { return std::string(std::string_view(value)); };
    const std::string id = text(entry["id"]);
    Delivery delivery;
    for (auto [name, value] : simdjson::dom::object(entry["headers"])) {
      delivery.headers.push_back({std::string(name), text(value)});
    }
    ASSERT_TRUE(absl::Base64Unescape(text(entry["bodyBase64"]), &delivery.body));
    ASSERT_EQ(int64_t(entry["maxTimestampAgeMs"]), 300'000);
    std::string helpers = "OK";
    if (!bool(entry["verdict"]["ok"])) {
      helpers = text(entry["verdict"]["reason"]);
      if (std::string_view header; !entry["verdict"]["headerName"].get(header)) {
        absl::StrAppend(&helpers, " ", std::string(header));
      }
    }
    Inbox inbox(KeySetOf(root, entry), "Turnkey", absl::FromUnixMillis(int64_t(entry["nowMs"])));
    Verdict verdict = inbox.Verify(delivery);
    ++deliveries;
    auto difference = Differences().find(id);
    if (difference != Differences().end()) {
      ++differences;
      EXPECT_EQ(OutcomeOf(verdict), difference->second.ours) << id << ": " << difference->second.why;
      EXPECT_NE(helpers, difference->second.ours) << id << " no longer differs";
      continue;
    }
    EXPECT_EQ(OutcomeOf(verdict), helpers) << id;
    if (!std::holds_alternative<VerifiedEvent>(verdict)) continue;
    const Event& event = *std::get<VerifiedEvent>(verdict);
    EXPECT_EQ(event.event_id, text(entry["verdict"]["eventId"])) << id;
    EXPECT_EQ(event.key_id, text(entry["verdict"]["keyId"])) << id;
    EXPECT_EQ(event.timestamp_ms, int64_t(entry["verdict"]["timestampMs"])) << id;
    EXPECT_EQ(event.body, delivery.body) << id;
  }
  EXPECT_EQ(differences, Differences().size()) << "the file lacks a delivery for one of the listed differences";
  EXPECT_GE(deliveries, 20);
}

// Each step adds a fault that the verifier checks before the faults of the previous steps.
TEST(VerifierTest, MakesItsChecksInTheOrderOfRejectionReason) {
  const TestSender sender("a");
  const TestSender other("a", SeedOf(1));
  const TestSender unknown("unknown");
  const std::string key_set =
      absl::StrCat(R"({"keys":[)", sender.Key(), R"(,{"kid":"v2","kty":"OKP","crv":"Ed25519",)",
                   R"("x":"TYqvxXBsOVT1wgZApdargB-iP-YOcnRpablSW5Q9Gpg","service_signature_version":"v2"}]})");
  Inbox inbox(key_set);
  const absl::Time stale = kNow - absl::Hours(1);

  Delivery delivery = sender.Sign("e", "not JSON", stale);
  EXPECT_EQ(inbox.Outcome(delivery), "stale_timestamp");
  delivery = other.Sign("e", "not JSON", stale);
  EXPECT_EQ(inbox.Outcome(delivery), "invalid_signature");
  Header(delivery, "Signature-Key-Id") = "v2";
  EXPECT_EQ(inbox.Outcome(delivery), "invalid_verification_key_algorithm");
  Header(delivery, "Signature-Key-Id") = "unknown";
  EXPECT_EQ(inbox.Outcome(delivery), "missing_key");
  Header(delivery, "Signature-Key-Id") = "un\tknown";
  EXPECT_EQ(inbox.Outcome(delivery), "unsupported_identifier x-service-signature-key-id");
  Header(delivery, "Timestamp") = "soon";
  EXPECT_EQ(inbox.Outcome(delivery), "malformed_header x-service-timestamp");
  delivery.headers.push_back({"x-service-event-id", "e"});
  EXPECT_EQ(inbox.Outcome(delivery), "duplicate_header x-service-event-id");
  Header(delivery, "Signature") = "";
  EXPECT_EQ(inbox.Outcome(delivery), "missing_header x-service-signature");
  Header(delivery, "Signature-Algorithm") = "ED25519";
  EXPECT_EQ(inbox.Outcome(delivery), "unsupported_signature_algorithm");
  Header(delivery, "Signature-Version") = "V1";
  EXPECT_EQ(inbox.Outcome(delivery), "unsupported_signature_version");
}

TEST(VerifierTest, UsesAKeyOnlyForItsAlgorithmAndVersion) {
  const TestSender sender("a");
  const std::string key = sender.Key();
  for (const char* members : {R"("service_signature_algorithm":"EdDSA")", R"("service_signature_algorithm":"")",
                              R"("service_signature_version":"1")", R"("service_signature_version":"V1")"}) {
    const std::string bare = key.substr(0, key.find(R"("service_)"));
    Inbox inbox(absl::StrCat(R"({"keys":[)", bare, members, "}]}"));
    EXPECT_EQ(inbox.Outcome(sender.Sign("e", "{}", kNow)), "invalid_verification_key_algorithm") << members;
  }
}

TEST(VerifierTest, ReasonsThatMayBeTheGatewaysFaultHaveStatus503) {
  struct {
    const char* name;
    RejectionReason reason;
    int http_status;
  } const cases[] = {
      {"missing_header", RejectionReason::kMissingHeader, 400},
      {"duplicate_header", RejectionReason::kDuplicateHeader, 400},
      {"malformed_header", RejectionReason::kMalformedHeader, 400},
      {"unsupported_signature_version", RejectionReason::kUnsupportedSignatureVersion, 503},
      {"unsupported_signature_algorithm", RejectionReason::kUnsupportedSignatureAlgorithm, 503},
      {"unsupported_identifier", RejectionReason::kUnsupportedIdentifier, 503},
      {"missing_key", RejectionReason::kMissingKey, 503},
      {"invalid_verification_key_algorithm", RejectionReason::kInvalidVerificationKeyAlgorithm, 503},
      {"invalid_signature", RejectionReason::kInvalidSignature, 401},
      {"stale_timestamp", RejectionReason::kStaleTimestamp, 503},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(Name(one.reason), one.name);
    EXPECT_EQ(HttpStatus(one.reason), one.http_status) << one.name;
  }
}

// Returns the verdict at the time `now`. The key set is always available.
std::string OutcomeAt(absl::Time now, const TestSender& sender, Delivery delivery) {
  KeySetCache::Options cache_options;
  cache_options.now = [] { return kNow; };
  KeySetCache keys(std::move(cache_options), [&](auto on_answer) {
    on_answer(KeySetAnswer{sender.KeySet(), "", absl::ZeroDuration()});
  });
  Verifier::Options options;
  options.now = [now] { return now; };
  Verifier verifier(std::move(options), keys);
  std::string outcome;
  verifier.Verify(std::move(delivery), [&](Verdict verdict) { outcome = OutcomeOf(verdict); });
  return outcome;
}

TEST(VerifierTest, AcceptsATimestampUpToTheMaximumAge) {
  const TestSender sender;
  const absl::Duration ms = absl::Milliseconds(1);
  const absl::Duration window = absl::Minutes(5);
  struct {
    absl::Duration age;
    const char* outcome;
  } const cases[] = {
      {absl::ZeroDuration(), "OK"},
      {window - ms, "OK"},
      {window, "OK"},
      {window + ms, "stale_timestamp"},
      {-window, "OK"},
      {-window - ms, "stale_timestamp"},
      {absl::Hours(24 * 365 * 1000), "stale_timestamp"},
      {-absl::Hours(24 * 365 * 20), "stale_timestamp"},
      {absl::InfiniteDuration(), "stale_timestamp"},
      {-absl::InfiniteDuration(), "stale_timestamp"},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(OutcomeAt(kNow + one.age, sender, sender.Sign("e", "{}", kNow)), one.outcome) << one.age;
  }
  // Combines the smallest and largest timestamps with the smallest and largest clock values.
  for (int64_t ms_since_1970 : {int64_t{0}, (int64_t{1} << 53) - 1}) {
    const Delivery delivery = sender.Sign("e", "{}", absl::FromUnixMillis(ms_since_1970));
    for (absl::Time now : {absl::InfinitePast(), absl::FromUnixMillis(INT64_MIN), absl::FromUnixMillis(INT64_MAX),
                           absl::InfiniteFuture()}) {
      EXPECT_EQ(OutcomeAt(now, sender, delivery), "stale_timestamp") << now;
    }
    EXPECT_EQ(OutcomeAt(absl::FromUnixMillis(ms_since_1970), sender, delivery), "OK");
  }
}

TEST(VerifierTest, TheSignatureCoversTheLeadingZerosOfTheTimestamp) {
  const TestSender sender;
  Inbox inbox(sender.KeySet());
  Delivery delivery = sender.Sign("e", "{}", kNow);
  Header(delivery, "Timestamp") = "0001700000000000";
  EXPECT_EQ(inbox.Outcome(delivery), "invalid_signature");
}

// A subscriber needs the timestamp's text to recompute the signed message from an event.
TEST(VerifierTest, EventKeepsTheSignedTextOfTheTimestamp) {
  const TestSender sender;
  Inbox inbox(sender.KeySet());
  const Delivery delivery = sender.SignAt("0001700000000000", "e", "{}");
  Verdict verdict = inbox.Verify(delivery);
  ASSERT_EQ(OutcomeOf(verdict), "OK");
  const Event& event = *std::get<VerifiedEvent>(verdict);
  EXPECT_EQ(event.timestamp_ms, 1'700'000'000'000);
  EXPECT_EQ(SignedTimestampOf(event.headers, "Service", event.timestamp_ms), "0001700000000000");
}

TEST(VerifierTest, AcceptsEverySignedBody) {
  const TestSender sender;
  Inbox inbox(sender.KeySet());
  std::string deep = "1";
  for (int i = 0; i < 65; ++i) deep = absl::StrCat(R"({"organizationId":)", deep, "}");
  for (const std::string& body :
       {std::string(), std::string("text"), std::string("null"), std::string("[{}]"), std::string("\"{}\""),
        std::string("{}{}"), std::string("{\"a\":\"\xff\"}"), std::string("{}\0", 3), std::string("\xef\xbb\xbf{}"),
        std::string(R"({"organizationId":"a","organizationId":"b","type":"t"})"),
        std::string(R"({"organizationId":"a","b":{"c":1,"c":1}})"), deep, std::string("1.5"), std::string("."),
        std::string(". {"), std::string(1000, '.')}) {
    Verdict verdict = inbox.Verify(sender.Sign("evt.1", body, kNow));
    ASSERT_EQ(OutcomeOf(verdict), "OK") << body;
    const Event& event = *std::get<VerifiedEvent>(verdict);
    EXPECT_EQ(event.event_id, "evt.1");
    EXPECT_EQ(event.body, body);
    EXPECT_EQ(event.organization_id + event.parent_organization_id + event.type, "")
        << "such a body gives no organization and no type";
  }
}

TEST(VerifierTest, ReadsTheOrganizationOnlyFromTheBody) {
  const TestSender sender;
  Inbox inbox(sender.KeySet());
  Delivery delivery = sender.Sign(
      "e", R"({"type":"balances:finalized","organizationId":"org-2","parentOrganizationId":"org-1"})", kNow);
  Header(delivery, "Organization-Id") = "org-evil";
  Header(delivery, "Event-Type") = "ACTIVITY_UPDATES";
  delivery.headers.push_back({"X-Service-Parent-Organization-Id", "org-evil"});
  delivery.headers.push_back({"X-Service-Organization-Id", "org-evil-2"});
  Verdict verdict = inbox.Verify(delivery);
  ASSERT_EQ(OutcomeOf(verdict), "OK");
  const Event& lied = *std::get<VerifiedEvent>(verdict);

  Delivery silent = delivery;
  std::erase_if(silent.headers, [](const HeaderField& header) {
    return absl::StrContains(header.name, "Organization") || absl::StrContains(header.name, "Event-Type");
  });
  Verdict silent_verdict = inbox.Verify(silent);
  ASSERT_EQ(OutcomeOf(silent_verdict), "OK");
  const Event& plain = *std::get<VerifiedEvent>(silent_verdict);

  EXPECT_EQ(lied.organization_id, "org-2");
  EXPECT_EQ(lied.parent_organization_id, "org-1");
  EXPECT_EQ(lied.type, "BALANCE_FINALIZED_UPDATES");
  EXPECT_EQ(std::tie(lied.event_id, lied.key_id, lied.timestamp_ms, lied.signature, lied.body, lied.organization_id,
                     lied.parent_organization_id, lied.type, lied.body_sha256),
            std::tie(plain.event_id, plain.key_id, plain.timestamp_ms, plain.signature, plain.body,
                     plain.organization_id, plain.parent_organization_id, plain.type, plain.body_sha256));
  EXPECT_EQ(lied.headers.size(), plain.headers.size() + 4);
}

TEST(VerifierTest, KeepsALargeBodyByteForByte) {
  const TestSender sender;
  Inbox inbox(sender.KeySet());
  const std::string body = absl::StrCat("\n {\"a\":\"", std::string(4 << 20, 'x'), "\"}\t");
  Verdict verdict = inbox.Verify(sender.Sign("e", body, kNow));
  ASSERT_EQ(OutcomeOf(verdict), "OK");
  EXPECT_TRUE(std::get<VerifiedEvent>(verdict)->body == body);
}

// Returns the signed message that follows from a delivery's headers and body.
std::string MessageOf(Delivery& delivery) {
  return absl::StrCat("v1.ed25519.", Header(delivery, "Signature-Key-Id"), ".", Header(delivery, "Timestamp"), ".",
                      absl::StrCat(Header(delivery, "Event-Id"), ".", delivery.body));
}

// Returns the order of Ed25519's prime-order group, as little-endian bytes.
const std::string& GroupOrder() {
  static const auto* const order =
      new std::string(DecodeHex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010").value());
  return *order;
}

TEST(VerifierTest, RejectsAnUnreducedScalar) {
  const TestSender sender;
  Inbox inbox(sender.KeySet());
  Delivery delivery = sender.Sign("e", "{}", kNow);
  ASSERT_EQ(inbox.Outcome(delivery), "OK");
  const std::string signature = DecodeHex(Header(delivery, "Signature")).value();
  // Replaces the signature's scalar S by S + L, S + 2L, and so on, where L is the order of the group, as long as the
  // sum fits into 32 bytes. A verifier that does not check the range treats each sum as S.
  std::string scalar = signature.substr(32);
  for (int multiple = 1; multiple < 15; ++multiple) {
    sodium_add(reinterpret_cast<uint8_t*>(scalar.data()), reinterpret_cast<const uint8_t*>(GroupOrder().data()), 32);
    Header(delivery, "Signature") = absl::BytesToHexString(signature.substr(0, 32) + scalar);
    EXPECT_EQ(inbox.Outcome(delivery), "invalid_signature") << multiple;
  }
}

TEST(VerifierTest, RejectsASignatureThatWouldBeValidForEveryMessage) {
  const std::string one = DecodeHex("0100000000000000000000000000000000000000000000000000000000000000").value();
  const TestSender sender("good");
  Inbox inbox(absl::StrCat(R"({"keys":[)", sender.Key(), R"(,{"kid":"identity","kty":"OKP","crv":"Ed25519","x":")",
                           absl::WebSafeBase64Escape(one), R"("}]})"));
  Delivery delivery = sender.Sign("e", "{}", kNow);
  Header(delivery, "Signature-Key-Id") = "identity";
  Header(delivery, "Signature") = absl::BytesToHexString(one + std::string(32, '\0'));
  EXPECT_EQ(inbox.Outcome(delivery), "missing_key");
  Header(delivery, "Signature-Key-Id") = "good";
  EXPECT_EQ(inbox.Outcome(delivery), "invalid_signature");
}

// The owner of the private key can sign with the neutral element as R. RFC 8032 allows such a signature, but it reveals
// the private key, so only a faulty signer makes one. libsodium rejects it.
TEST(VerifierTest, RejectsASignatureWhoseRHasSmallOrder) {
  const std::array<uint8_t, 32> seed = SeedOf(7);
  const TestSender sender("a", seed);
  Inbox inbox(sender.KeySet());
  Delivery delivery = sender.Sign("e", "{}", kNow);
  ASSERT_EQ(inbox.Outcome(delivery), "OK");
  std::array<uint8_t, 64> hash;
  crypto_hash_sha512(hash.data(), seed.data(), seed.size());
  hash[0] &= 248;
  hash[31] = (hash[31] & 127) | 64;
  uint8_t wide_secret[64] = {};
  std::copy_n(hash.begin(), 32, wide_secret);
  uint8_t secret[32];
  crypto_core_ed25519_scalar_reduce(secret, wide_secret);
  std::array<uint8_t, 32> public_key;
  crypto_scalarmult_ed25519_base_noclamp(public_key.data(), secret);

  const std::string message = MessageOf(delivery);
  auto sign_with = [&](const std::string& r_spelling) {
    crypto_hash_sha512_state state;
    crypto_hash_sha512_init(&state);
    crypto_hash_sha512_update(&state, reinterpret_cast<const uint8_t*>(r_spelling.data()), r_spelling.size());
    crypto_hash_sha512_update(&state, public_key.data(), public_key.size());
    crypto_hash_sha512_update(&state, reinterpret_cast<const uint8_t*>(message.data()), message.size());
    uint8_t challenge_hash[64];
    crypto_hash_sha512_final(&state, challenge_hash);
    uint8_t challenge[32];
    crypto_core_ed25519_scalar_reduce(challenge, challenge_hash);
    std::string scalar(32, '\0');
    crypto_core_ed25519_scalar_mul(reinterpret_cast<uint8_t*>(scalar.data()), challenge, secret);
    // Proves that the signature satisfies the equation S B = R + challenge A, with R as neutral element.
    uint8_t left[32];
    uint8_t right[32];
    EXPECT_EQ(crypto_scalarmult_ed25519_base_noclamp(left, reinterpret_cast<const uint8_t*>(scalar.data())), 0);
    EXPECT_EQ(crypto_scalarmult_ed25519_noclamp(right, challenge, public_key.data()), 0);
    EXPECT_EQ(sodium_memcmp(left, right, 32), 0);
    return absl::BytesToHexString(r_spelling + scalar);
  };
  for (const char* r : {"0100000000000000000000000000000000000000000000000000000000000000",
                        "0100000000000000000000000000000000000000000000000000000000000080",
                        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"}) {
    Header(delivery, "Signature") = sign_with(DecodeHex(r).value());
    EXPECT_EQ(inbox.Outcome(delivery), "invalid_signature") << r;
  }
}

// Dots in the signed message are not escaped, so a delivery with other parts can have the same message. For every
// choice of three dots, the test splits the message at these dots into key id, timestamp, event id and body.
TEST(VerifierTest, AcceptsOnlyOneSplitOfAMessage) {
  const TestSender sender("key");
  Inbox inbox(sender.KeySet());
  int cuts = 0;
  for (const char* event_id :
       {"e", "evt.1.2", "..", "a.1700000000000.b", "1700000000000", "a/b", "a.b/c", "{.}", "{}.{}"}) {
    for (const char* body :
         {R"({"a":"x.y.z","b":1.5})", R"({"a":".{}"})", "\n{\".\":{}}", "{}", R"({"a":".{\".\":1}"})"}) {
      const Delivery genuine = sender.Sign(event_id, body, kNow);
      Delivery delivery = genuine;
      const std::string joined = MessageOf(delivery).substr(std::string("v1.ed25519.").size());
      std::vector<size_t> dots;
      for (size_t i = 0; i < joined.size(); ++i) {
        if (joined[i] == '.') dots.push_back(i);
      }
      int taken = 0;
      for (size_t i = 0; i < dots.size(); ++i) {
        for (size_t j = i + 1; j < dots.size(); ++j) {
          for (size_t k = j + 1; k < dots.size(); ++k) {
            Delivery cut = genuine;
            Header(cut, "Signature-Key-Id") = joined.substr(0, dots[i]);
            Header(cut, "Timestamp") = joined.substr(dots[i] + 1, dots[j] - dots[i] - 1);
            Header(cut, "Event-Id") = joined.substr(dots[j] + 1, dots[k] - dots[j] - 1);
            cut.body = joined.substr(dots[k] + 1);
            ASSERT_EQ(MessageOf(cut), MessageOf(delivery));
            ++cuts;
            Verdict verdict = inbox.Verify(cut);
            if (!std::holds_alternative<VerifiedEvent>(verdict)) continue;
            ++taken;
            EXPECT_EQ(std::get<VerifiedEvent>(verdict)->event_id, event_id);
            EXPECT_EQ(std::get<VerifiedEvent>(verdict)->body, body);
          }
        }
      }
      EXPECT_EQ(taken, 1) << event_id << " " << body;
    }
  }
  EXPECT_GT(cuts, 400);
}

TEST(VerifierTest, AcceptsIdsOfOtherFormsIfTheMessageHasOneSplit) {
  for (const char* key_id : {"key", "a+b/c=", "a.b", "a b"}) {
    const TestSender sender(key_id);
    Inbox inbox(sender.KeySet());
    const std::string long_id(1024, 'x');
    for (const char* event_id : {"e", "a/b", "a+b/c=", "a b", "{\"a\":1}", long_id.c_str()}) {
      for (const char* body : {R"({"a":"x.y.z","b":1.5,"ip":"10.0.0.1"})", "\n{\".\":{}}", "{}"}) {
        EXPECT_EQ(inbox.Outcome(sender.Sign(event_id, body, kNow)), "OK") << key_id << " " << event_id << " " << body;
      }
      EXPECT_EQ(inbox.Outcome(sender.Sign(event_id, "no object", kNow)), "OK") << key_id << " " << event_id;
    }
  }
}

TEST(VerifierTest, RejectsIdsOfOtherFormsIfTheMessageHasASecondSplit) {
  const TestSender sender("a.b");
  Inbox inbox(sender.KeySet());
  EXPECT_EQ(inbox.Outcome(sender.Sign("e.5.f", "{}", kNow)), "unsupported_identifier");
  EXPECT_EQ(inbox.Outcome(sender.Sign("e", "no.object", kNow)), "unsupported_identifier");
  const TestSender ordinary("key");
  Inbox other(ordinary.KeySet());
  EXPECT_EQ(other.Outcome(ordinary.Sign("a/b.5.c", "{}", kNow)), "unsupported_identifier");
  // Ordinary ids are accepted as before.
  EXPECT_EQ(other.Outcome(ordinary.Sign("a.5.c", "{}", kNow)), "OK");
  EXPECT_EQ(other.Outcome(ordinary.Sign("a", "no.object", kNow)), "OK");
}

TEST(VerifierTest, WaitsOnlyIfTheKeyMustBeFetched) {
  const TestSender old_key("old");
  const TestSender new_key("new", SeedOf(2));
  Inbox inbox(old_key.KeySet());
  EXPECT_EQ(inbox.Outcome(old_key.Sign("e1", "{}", kNow)), "OK");
  inbox.now() += absl::Seconds(10);
  inbox.SlowDown();
  const auto& early = inbox.Start(new_key.Sign("e2", "{}", kNow));
  const auto& stale = inbox.Start(new_key.Sign("e3", "{}", kNow - absl::Hours(1)));
  const auto& forged = inbox.Start(TestSender("new").Sign("e4", "{}", kNow));
  EXPECT_FALSE(early.has_value());
  EXPECT_EQ(inbox.Outcome(old_key.Sign("e5", "{}", kNow)), "OK") << "a known key needs no fetch";
  inbox.set_key_set(TwoKeys(old_key, new_key));
  inbox.EndFetches();
  ASSERT_TRUE(early.has_value() && stale.has_value() && forged.has_value());
  EXPECT_EQ(OutcomeOf(*early), "OK");
  EXPECT_EQ(OutcomeOf(*stale), "stale_timestamp");
  EXPECT_EQ(OutcomeOf(*forged), "invalid_signature");
}

// The verifier compares the timestamp with the clock after the key was fetched, not when the delivery arrives.
TEST(VerifierTest, ChecksTheTimestampAfterTheKeyWasFetched) {
  const TestSender sender;
  Inbox inbox(sender.KeySet());
  inbox.SlowDown();
  const auto& verdict = inbox.Start(sender.Sign("e", "{}", kNow));
  inbox.now() += absl::Minutes(6);
  inbox.EndFetches();
  ASSERT_TRUE(verdict.has_value());
  EXPECT_EQ(OutcomeOf(*verdict), "stale_timestamp");
}

TEST(VerifierTest, VerifierMayBeDestroyedBeforeTheKeyWasFetched) {
  KeySetCache::Options cache_options;
  cache_options.now = [] { return kNow; };
  absl::AnyInvocable<void(absl::StatusOr<KeySetAnswer>)> pending;
  KeySetCache keys(std::move(cache_options), [&](auto on_answer) { pending = std::move(on_answer); });
  const TestSender sender;
  std::string outcome;
  {
    Verifier::Options options;
    options.now = [] { return kNow; };
    Verifier verifier(std::move(options), keys);
    verifier.Verify(sender.Sign("e", "{}", kNow), [&](Verdict verdict) { outcome = OutcomeOf(verdict); });
  }
  EXPECT_EQ(outcome, "");
  pending(KeySetAnswer{sender.KeySet(), "", absl::ZeroDuration()});
  EXPECT_EQ(outcome, "OK");
}

TEST(VerifierTest, AFloodOfUnknownKeyIdsDoesNotDisturbKnownAndNewKeys) {
  const TestSender known("known");
  const TestSender rotated("rotated", SeedOf(3));
  Inbox inbox(known.KeySet());
  EXPECT_EQ(inbox.Outcome(known.Sign("first", "{}", kNow)), "OK");
  ASSERT_EQ(inbox.fetches(), 1);
  inbox.now() += absl::Seconds(20);
  inbox.SlowDown();

  std::mt19937_64 random(20231114);
  auto flood = [&](int count, absl::Duration pause) {
    for (int i = 0; i < count; ++i) {
      inbox.Start(TestSender(absl::StrCat("kid-", absl::Hex(random()))).Sign("flood", "{}", inbox.now()));
      if (i % 10 == 0) {
        ASSERT_EQ(inbox.Outcome(known.Sign("known", "{}", inbox.now())), "OK") << "a known key needs no fetch";
      }
      inbox.now() += pause;
    }
  };
  // Sends 10,000 deliveries in five seconds. The first one starts a fetch that takes two seconds. Later, upstream
  // rotates its key.
  flood(4000, absl::Microseconds(500));
  EXPECT_EQ(inbox.fetches(), 2);
  for (int i = 0; i < 10; ++i) {
    inbox.EndFetches();
    flood(100, absl::Microseconds(500));
  }
  EXPECT_EQ(inbox.fetches(), 1 + kMaxKeySetFetchesInARow) << "the number of fetches that are allowed in a row";
  inbox.set_key_set(TwoKeys(known, rotated));
  flood(5000, absl::Microseconds(500));
  EXPECT_EQ(inbox.fetches(), 1 + kMaxKeySetFetchesInARow);
  EXPECT_EQ(inbox.Outcome(rotated.Sign("rotated", "{}", inbox.now())), "missing_key")
      << "the status is 503, so that upstream repeats the delivery";

  // The flood continues. After the next fetch, deliveries that the new key signed are accepted nevertheless.
  flood(3000, absl::Milliseconds(2));
  inbox.EndFetches();
  EXPECT_EQ(inbox.fetches(), 2 + kMaxKeySetFetchesInARow);
  EXPECT_EQ(inbox.Outcome(rotated.Sign("rotated", "{}", inbox.now())), "OK");
  EXPECT_EQ(inbox.Outcome(known.Sign("last", "{}", inbox.now())), "OK");
}

TEST(VerifierTest, VerifiesOnManyThreads) {
  constexpr int kThreads = 4;
  constexpr int kDeliveries = 200;
  const TestSender sender;
  KeySetCache::Options cache_options;
  cache_options.now = [] { return kNow; };
  std::thread fetch;
  KeySetCache keys(std::move(cache_options), [&](auto on_answer) {
    fetch = std::thread([&sender, on_answer = std::move(on_answer)]() mutable {
      on_answer(KeySetAnswer{sender.KeySet(), "", absl::ZeroDuration()});
    });
  });
  Verifier::Options options;
  options.now = [] { return kNow; };
  Verifier verifier(std::move(options), keys);

  struct {
    Mutex mutex;
    Condition changed;
    std::map<std::string, int> outcomes ABSL_GUARDED_BY(mutex);
    int count ABSL_GUARDED_BY(mutex) = 0;
  } verdicts;
  auto count = [&](const Verdict& verdict) {
    MutexLock lock(verdicts.mutex);
    ++verdicts.outcomes[OutcomeOf(verdict)];
    ++verdicts.count;
    verdicts.changed.WakeAll();
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kDeliveries; ++i) {
        Delivery delivery = sender.Sign(absl::StrCat("e", i), kBody, kNow);
        if (i % 2 == 0) delivery.body += " ";
        verifier.Verify(std::move(delivery), count);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  {
    MutexLock lock(verdicts.mutex);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (verdicts.count != kThreads * kDeliveries && !verdicts.changed.WaitUntil(verdicts.mutex, deadline)) {
    }
    ASSERT_EQ(verdicts.count, kThreads * kDeliveries);
    EXPECT_EQ(verdicts.outcomes["OK"], kThreads * kDeliveries / 2);
    EXPECT_EQ(verdicts.outcomes["invalid_signature"], kThreads * kDeliveries / 2);
  }
  fetch.join();
}

}  // namespace
}  // namespace stampgate
