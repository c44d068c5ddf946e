#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "webhooks/verification/verifier_testing.h"

namespace stampgate {
namespace {

// Returns the signed parts of a delivery and its signature as one text. Two deliveries have the same text only if all
// bytes of these parts are equal. Returns nothing if one of the six headers does not occur exactly once. Does not use
// the code under test.
std::optional<std::string> SignedParts(const Delivery& delivery) {
  std::map<std::string, std::vector<std::string>> values;
  for (const HeaderField& header : delivery.headers) {
    values[absl::AsciiStrToLower(header.name)].push_back(header.value);
  }
  std::string parts;
  for (const char* name :
       {"timestamp", "event-id", "signature-key-id", "signature-algorithm", "signature-version", "signature"}) {
    const std::vector<std::string>& found = values[absl::StrCat("x-service-", name)];
    if (found.size() != 1) return std::nullopt;
    const bool is_hex = absl::string_view(name) == "signature";
    const std::string value = is_hex ? absl::AsciiStrToLower(found[0]) : found[0];
    absl::StrAppend(&parts, value.size(), ":", value, ";");
  }
  return absl::StrCat(parts, delivery.body);
}

// Makes damaged deliveries from genuine ones. Each damage is of a random kind.
class Mutator {
 public:
  Mutator(std::vector<Delivery> genuine, uint32_t seed) : genuine_(std::move(genuine)), random_(seed) {}

  Delivery Next() {
    Delivery delivery = Any();
    // Header() can add missing headers, and references to headers must stay valid.
    delivery.headers.reserve(delivery.headers.size() + 32);
    for (int i = Below(8) == 0 ? 2 : 1; i > 0; --i) Damage(delivery);
    return delivery;
  }

  size_t Below(size_t end) { return std::uniform_int_distribution<size_t>(0, end - 1)(random_); }

 private:
  const Delivery& Any() { return genuine_[Below(genuine_.size())]; }

  HeaderField& AnyHeader(Delivery& delivery) { return delivery.headers[Below(delivery.headers.size())]; }

  // Returns the value of one of the six signed headers, or the body.
  std::string& AnySigned(Delivery& delivery) {
    static const char* const kNames[] = {"Timestamp",           "Event-Id",          "Signature-Key-Id",
                                         "Signature-Algorithm", "Signature-Version", "Signature"};
    const size_t which = Below(std::size(kNames) + 1);
    return which == std::size(kNames) ? delivery.body : Header(delivery, kNames[which]);
  }

  void Flip(std::string& text) {
    if (text.empty()) return;
    char& c = text[Below(text.size())];
    c = static_cast<char>(c ^ (1 << Below(8)));
  }

  void Damage(Delivery& delivery) {
    if (delivery.headers.empty()) return;
    switch (Below(13)) {
      case 0:
      case 1:
        return Flip(AnySigned(delivery));
      case 2:
        return Flip(AnyHeader(delivery).value);
      case 3:
        return Flip(AnyHeader(delivery).name);
      case 4: {  // truncates a part
        std::string& text = AnySigned(delivery);
        if (!text.empty()) text.resize(Below(text.size()));
        return;
      }
      case 5: {  // adds or removes a byte
        std::string& text = AnySigned(delivery);
        const size_t at = Below(text.size() + 1);
        if (Below(2) == 0) {
          text.insert(at, 1, static_cast<char>(Below(256)));
        } else {
          text.erase(at, 1);
        }
        return;
      }
      case 6: {  // moves the dot between event id and body
        const std::string joined = absl::StrCat(Header(delivery, "Event-Id"), ".", delivery.body);
        return Cut(joined, Header(delivery, "Event-Id"), delivery.body);
      }
      case 7: {  // moves the dot between key id and time
        const std::string joined = absl::StrCat(Header(delivery, "Signature-Key-Id"), ".",
                                                Header(delivery, "Timestamp"), ".", Header(delivery, "Event-Id"));
        std::string& key_id = Header(delivery, "Signature-Key-Id");
        std::string rest;
        Cut(joined, key_id, rest);
        return Cut(rest, Header(delivery, "Timestamp"), Header(delivery, "Event-Id"));
      }
      case 8: {  // copies a part from another delivery
        Delivery other = Any();
        const size_t which = Below(delivery.headers.size() + 1);
        if (which == delivery.headers.size()) {
          delivery.body = other.body;
        } else if (which < other.headers.size()) {
          delivery.headers[which] = other.headers[which];
        }
        return;
      }
      case 9:  // repeats, removes or moves a header
        switch (Below(3)) {
          case 0:
            delivery.headers.push_back(AnyHeader(delivery));
            return;
          case 1:
            delivery.headers.erase(delivery.headers.begin() + static_cast<int64_t>(Below(delivery.headers.size())));
            return;
          default:
            std::swap(AnyHeader(delivery), AnyHeader(delivery));
            return;
        }
      case 10: {  // signs with a key that does not belong to the named key id
        const TestSender wrong(Header(delivery, "Signature-Key-Id"), SeedOf(static_cast<uint8_t>(100 + Below(100))));
        Header(delivery, "Signature") =
            Header(Keep(wrong.Sign(Header(delivery, "Event-Id"), delivery.body, kNow)), "Signature");
        return;
      }
      case 11: {  // makes changes that must not matter: case of the signature and of names, unsigned parts
        if (Below(2) == 0) absl::AsciiStrToUpper(&Header(delivery, "Signature"));
        if (Below(2) == 0) absl::AsciiStrToUpper(&AnyHeader(delivery).name);
        if (Below(2) == 0) Header(delivery, "Organization-Id") = "org-evil";
        if (Below(2) == 0) delivery.headers.push_back({"X-Service-Event-Type", "LIES"});
        return;
      }
      default: {  // adds white space at an end of a part; the receiver would have removed it from a header
        std::string& text = AnySigned(delivery);
        text.insert(Below(2) == 0 ? 0 : text.size(), 1, " \t\n\r"[Below(4)]);
        return;
      }
    }
  }

  void Cut(const std::string& joined, std::string& before, std::string& after) {
    std::vector<size_t> dots;
    for (size_t i = 0; i < joined.size(); ++i) {
      if (joined[i] == '.') dots.push_back(i);
    }
    if (dots.empty()) return;
    const size_t dot = dots[Below(dots.size())];
    before = joined.substr(0, dot);
    after = joined.substr(dot + 1);
  }

  Delivery& Keep(Delivery delivery) {
    kept_ = std::move(delivery);
    return kept_;
  }

  const std::vector<Delivery> genuine_;
  std::mt19937 random_;
  Delivery kept_;
};

// The verifier accepts a damaged delivery only if all signed parts are still those of a genuine delivery and the
// timestamp is fresh.
TEST(VerifierPropertyTest, AcceptsADamagedDeliveryOnlyIfItsSignedPartsAreGenuine) {
  const int mutations = std::getenv("STAMPGATE_LONG") != nullptr ? 500'000 : 25'000;
  const TestSender first("webhook-key-1");
  const TestSender second("0b6f6c0e-6d0e-4a0f-9a3c-3d1f5f0c8a11", SeedOf(4));
  std::vector<Delivery> genuine;
  std::map<std::string, absl::Time> signed_parts;
  const std::string bodies[] = {R"({"type":"activity.created","data":{"id":"act_123"}})", "{}", " {\"a\":\"x.y.{}\"}\n",
                                R"({"organizationId":"org-1","n":1.5,"s":"é."})",
                                R"({"type":"balances:confirmed","organizationId":"org-2","msg":{"a":[1,2.5]}})"};
  for (const char* event_id : {"evt_123", "a.b.c", "1700000000000", ":"}) {
    for (const std::string& body : bodies) {
      for (const TestSender* sender : {&first, &second}) {
        const absl::Time time = kNow + absl::Milliseconds(genuine.size());
        genuine.push_back(sender->Sign(event_id, body, time));
        signed_parts[SignedParts(genuine.back()).value()] = time;
      }
    }
  }
  Inbox inbox(TwoKeys(first, second));
  for (const Delivery& delivery : genuine) ASSERT_EQ(inbox.Outcome(delivery), "OK");

  Mutator mutator(genuine, 1962);
  std::map<std::string, int> outcomes;
  for (int i = 0; i < mutations; ++i) {
    const Delivery delivery = mutator.Next();
    // One of 16 deliveries arrives too late or too early.
    const bool is_late = mutator.Below(16) == 0;
    inbox.now() = kNow + (is_late ? absl::Minutes(mutator.Below(2) == 0 ? 6 : -6) : absl::ZeroDuration());
    const std::optional<std::string> parts = SignedParts(delivery);
    const bool is_genuine = parts.has_value() && signed_parts.contains(*parts);
    Verdict verdict = inbox.Verify(delivery);
    const std::string outcome = OutcomeOf(verdict);
    ++outcomes[outcome.substr(0, outcome.find(' '))];
    ASSERT_EQ(outcome == "OK", is_genuine && !is_late) << i << " " << outcome << " " << parts.value_or("no parts");
    if (is_genuine && is_late) {
      ASSERT_EQ(outcome, "stale_timestamp");
    }
    if (outcome == "OK") {
      ASSERT_EQ(std::get<VerifiedEvent>(verdict)->body, delivery.body);
    }
  }
  // The damaged deliveries reach every check except the check of the key's algorithm, because all keys have the same
  // algorithm.
  for (const char* name :
       {"OK", "missing_header", "duplicate_header", "malformed_header", "unsupported_signature_version",
        "unsupported_signature_algorithm", "missing_key", "invalid_signature", "stale_timestamp"}) {
    EXPECT_GT(outcomes[name], 100) << name;
    RecordProperty(name, outcomes[name]);
  }
}

}  // namespace
}  // namespace stampgate
