#include "webhooks/verification/delivery_headers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<HeaderField> Genuine() {
  return {{"Content-Type", "application/json"},
          {"X-Service-Organization-Id", "org-1"},
          {"X-Service-Timestamp", "1700000000000"},
          {"X-Service-Event-Id", "evt_123"},
          {"X-Service-Signature-Key-Id", "webhook-key-1"},
          {"X-Service-Signature-Algorithm", "ed25519"},
          {"X-Service-Signature-Version", "v1"},
          {"X-Service-Signature", std::string(126, '0') + "aF"}};
}

// The six signed headers, in the order in which ReadSignedHeaders checks them.
const char* const kNames[] = {"timestamp",           "event-id",          "signature-key-id",
                              "signature-algorithm", "signature-version", "signature"};

HeaderField& Header(std::vector<HeaderField>& headers, absl::string_view name) {
  return *std::find_if(headers.begin(), headers.end(), [&](const HeaderField& header) {
    return absl::AsciiStrToLower(header.name) == absl::StrCat("x-service-", name);
  });
}

std::string OutcomeOf(const std::vector<HeaderField>& headers, absl::string_view operator_name = "Service") {
  auto read = ReadSignedHeaders(headers, operator_name);
  if (std::holds_alternative<SignedHeaders>(read)) return "OK";
  const auto& rejection = std::get<Rejection>(read);
  return absl::StrCat(Name(rejection.reason), " ", rejection.header);
}

std::string OutcomeWith(absl::string_view name, std::string value) {
  std::vector<HeaderField> headers = Genuine();
  Header(headers, name).value = std::move(value);
  return OutcomeOf(headers);
}

TEST(DeliveryHeadersTest, ReadsTheSixSignedHeaders) {
  auto read = ReadSignedHeaders(Genuine(), "Service");
  ASSERT_TRUE(std::holds_alternative<SignedHeaders>(read));
  const auto& headers = std::get<SignedHeaders>(read);
  EXPECT_EQ(headers.timestamp, "1700000000000");
  EXPECT_EQ(headers.timestamp_ms, 1700000000000);
  EXPECT_EQ(headers.event_id, "evt_123");
  EXPECT_EQ(headers.key_id, "webhook-key-1");
  EXPECT_EQ(headers.signature_algorithm, "ed25519");
  EXPECT_EQ(headers.signature_version, "v1");
  std::array<uint8_t, 64> signature = {};
  signature.back() = 0xaf;
  EXPECT_EQ(headers.signature, signature);
}

TEST(DeliveryHeadersTest, ComparesNamesWithoutCase) {
  std::vector<HeaderField> headers = Genuine();
  for (HeaderField& header : headers) absl::AsciiStrToLower(&header.name);
  EXPECT_EQ(OutcomeOf(headers), "OK");
  for (HeaderField& header : headers) absl::AsciiStrToUpper(&header.name);
  EXPECT_EQ(OutcomeOf(headers), "OK");
  EXPECT_EQ(OutcomeOf(headers, "sErViCe"), "OK");
  EXPECT_EQ(OutcomeOf(headers, "Turnkey"), "missing_header x-turnkey-timestamp");
}

TEST(DeliveryHeadersTest, RequiresEachSignedHeaderExactlyOnce) {
  for (const char* name : kNames) {
    const std::string header = absl::StrCat(" x-service-", name);
    std::vector<HeaderField> headers = Genuine();
    Header(headers, name).name += "-x";
    EXPECT_EQ(OutcomeOf(headers), "missing_header" + header);
    EXPECT_EQ(OutcomeWith(name, ""), "missing_header" + header);

    headers = Genuine();
    headers.push_back(Header(headers, name));
    EXPECT_EQ(OutcomeOf(headers), "duplicate_header" + header) << "the same header twice";
    absl::AsciiStrToLower(&headers.back().name);
    EXPECT_EQ(OutcomeOf(headers), "duplicate_header" + header) << "the second name in lower case";
    headers.back().value = "";
    EXPECT_EQ(OutcomeOf(headers), "duplicate_header" + header) << "the second value is empty";
    std::swap(headers.back(), Header(headers, name));
    EXPECT_EQ(OutcomeOf(headers), "duplicate_header" + header) << "the first value is empty";
    Header(headers, name).value = headers.back().value = "";
    EXPECT_EQ(OutcomeOf(headers), "missing_header" + header) << "both values are empty";
  }
  EXPECT_EQ(OutcomeOf({}), "missing_header x-service-timestamp");
}

TEST(DeliveryHeadersTest, ReportsMissingBeforeDuplicateBeforeMalformedHeaders) {
  // Tries each pair of faults. The rejection must name the fault whose rule is checked first. If both faults violate
  // the same rule, the rejection must name the header that is checked first.
  const std::string faults[] = {"missing_header", "duplicate_header", "malformed_header"};
  const char* const formed[] = {"timestamp", "signature"};
  auto damage = [](std::vector<HeaderField>& headers, absl::string_view name, size_t fault) {
    if (fault == 0) Header(headers, name).value = "";
    if (fault == 1) headers.push_back(Header(headers, name));
    if (fault == 2) Header(headers, name).value = std::string(200, ' ');
  };
  for (size_t i = 0; i < std::size(kNames); ++i) {
    for (size_t j = i + 1; j < std::size(kNames); ++j) {
      for (size_t a = 0; a < std::size(faults); ++a) {
        for (size_t b = 0; b < std::size(faults); ++b) {
          const auto has_form = [&](size_t which) {
            return std::count(std::begin(formed), std::end(formed), kNames[which]);
          };
          if ((a == 2 && !has_form(i)) || (b == 2 && !has_form(j))) continue;
          std::vector<HeaderField> headers = Genuine();
          damage(headers, kNames[i], a);
          damage(headers, kNames[j], b);
          EXPECT_EQ(OutcomeOf(headers), absl::StrCat(faults[std::min(a, b)], " x-service-", kNames[a <= b ? i : j]));
        }
      }
    }
  }
}

TEST(DeliveryHeadersTest, ReportsAnotherVersionOrAlgorithmBeforeAllOtherFaults) {
  const std::pair<const char*, const char*> schemes[] = {
      {"signature-version", "unsupported_signature_version "},
      {"signature-algorithm", "unsupported_signature_algorithm "},
  };
  for (const auto& [scheme, outcome] : schemes) {
    for (const std::string& value :
         {std::string("v2"), std::string("v 1"), std::string("\xc3\xa9"), std::string(65, 'x')}) {
      EXPECT_EQ(OutcomeWith(scheme, value), outcome) << value;
      // Another scheme can have other headers, with other forms.
      for (const char* name : kNames) {
        if (absl::string_view(name) == scheme) continue;
        for (const char* other : {"", "a/b", "not hex"}) {
          if (absl::StartsWith(name, "signature-version")) continue;  // the version is checked first
          std::vector<HeaderField> headers = Genuine();
          Header(headers, scheme).value = value;
          if (absl::string_view(name) != "signature-algorithm") Header(headers, name).value = other;
          EXPECT_EQ(OutcomeOf(headers), outcome) << name;
        }
      }
    }
  }
}

TEST(DeliveryHeadersTest, ChecksTheFormOfTheTimestamp) {
  const std::string malformed = "malformed_header x-service-timestamp";
  for (const char* good : {"0", "1", "1700000000000", "0001700000000000", "9007199254740991"}) {
    EXPECT_EQ(OutcomeWith("timestamp", good), "OK") << good;
  }
  for (const char* bad : {"-1", "+1", "-0", " 1", "1 ", "1.0", "1e3", "0x1", "1_000", "2023-11-14T22:13:20Z",
                          "9007199254740992", "9999999999999999", "00000000000000001", "18446744073709551616",
                          "99999999999999999999999999999999999999999", "\xd9\xa1", "1\t"}) {
    EXPECT_EQ(OutcomeWith("timestamp", bad), malformed) << bad;
  }
  EXPECT_EQ(OutcomeWith("timestamp", std::string("1\0", 2)), malformed);
}

TEST(DeliveryHeadersTest, ChecksTheFormOfIds) {
  for (const char* name : {"event-id", "signature-key-id"}) {
    const std::string unsupported = absl::StrCat("unsupported_identifier x-service-", name);
    for (const char* good : {"AZaz09._:-", "a+b/c=", "a b", "{", "~"}) EXPECT_EQ(OutcomeWith(name, good), "OK") << good;
    EXPECT_EQ(OutcomeWith(name, std::string(1024, 'x')), "OK");
    EXPECT_EQ(OutcomeWith(name, std::string(1025, 'x')), unsupported);
    EXPECT_EQ(OutcomeWith(name, " a"), unsupported);
    EXPECT_EQ(OutcomeWith(name, "a "), unsupported);
    for (int c = 0; c < 256; ++c) {
      const std::string value = {'a', static_cast<char>(c), 'b'};
      EXPECT_EQ(OutcomeWith(name, value), c >= 0x20 && c < 0x7f ? "OK" : unsupported) << c;
    }
  }
}

TEST(DeliveryHeadersTest, ChecksTheFormOfTheSignature) {
  for (const char* digit : {"0", "9", "a", "f", "A", "F"}) {
    EXPECT_EQ(OutcomeWith("signature", absl::StrCat(std::string(127, '0'), digit)), "OK") << digit;
  }
  const std::string zeros(128, '0');
  for (const std::string& bad :
       {zeros.substr(1), zeros.substr(2), zeros + "0", zeros + "00", "0x" + zeros, "0x" + zeros.substr(2),
        " " + zeros.substr(1), zeros.substr(1) + " ", zeros.substr(1) + "g", zeros.substr(1) + "G",
        zeros.substr(1) + "/", zeros.substr(1) + ":", zeros.substr(1) + "@", zeros.substr(1) + "`",
        zeros.substr(2) + "\xc3\xa9", zeros.substr(1) + '\0', zeros.substr(64), std::string("0"),
        std::string(86, 'A') + "=="}) {
    EXPECT_EQ(OutcomeWith("signature", bad), "malformed_header x-service-signature") << bad;
  }
}

TEST(DeliveryHeadersTest, KeepsUpstreamsHeadersUnchanged) {
  std::vector<HeaderField> headers = {{"Host", "x"},
                                      {"x-SERVICE-Event-Type", "A  b~"},
                                      {"X-Service-", ""},
                                      {"X-Service", "no"},
                                      {"X-Services-A", "no"},
                                      {"AX-Service-A", "no"},
                                      {"X-Other-A", "no"},
                                      {"X-Service-Event-Id", "evt.1"},
                                      {"X-Service-Event-Id", "evt.1"}};
  std::vector<HeaderField> kept = KeepOperatorHeaders(headers, "Service");
  ASSERT_THAT(kept, SizeIs(4));
  EXPECT_EQ(kept[0].name, "x-SERVICE-Event-Type");
  EXPECT_EQ(kept[0].value, "A  b~");
  EXPECT_EQ(kept[1].name, "X-Service-");
  EXPECT_EQ(kept[2].name, "X-Service-Event-Id");
  EXPECT_EQ(kept[3].value, "evt.1");
}

TEST(DeliveryHeadersTest, DropsHeadersThatAreNotVisibleAscii) {
  for (const char* text : {"\x01", "\t", "\n", "\r", "\x1f", "\x7f", "\x80", "\xc3\xa9", "\xff"}) {
    EXPECT_THAT(KeepOperatorHeaders({{"X-Service-A", absl::StrCat("a", text, "b")}}, "Service"), IsEmpty());
    EXPECT_THAT(KeepOperatorHeaders({{absl::StrCat("X-Service-A", text), "b"}}, "Service"), IsEmpty());
  }
  EXPECT_THAT(KeepOperatorHeaders({{"X-Service-A", std::string(1, '\0')}}, "Service"), IsEmpty());
  EXPECT_THAT(KeepOperatorHeaders({{"X-Service-A ", "b"}}, "Service"), IsEmpty());
}

TEST(DeliveryHeadersTest, KeepsHeadersUpToTheLimits) {
  EXPECT_THAT(KeepOperatorHeaders(std::vector<HeaderField>(100, {"X-Service-A", "b"}), "Service"),
              SizeIs(kMaxKeptHeaders));
  const std::string name = "X-Service-A";
  const std::string fits(kMaxKeptHeaderBytes - name.size(), 'b');
  EXPECT_THAT(KeepOperatorHeaders({{name, fits}}, "Service"), SizeIs(1));
  EXPECT_THAT(KeepOperatorHeaders({{name, fits + "b"}}, "Service"), IsEmpty());
  EXPECT_THAT(KeepOperatorHeaders({{name, fits}, {name, ""}}, "Service"), SizeIs(1));
  // After a header that does not fit, a smaller header is still kept.
  EXPECT_THAT(KeepOperatorHeaders({{name, "b"}, {name, fits}, {name, "b"}}, "Service"), SizeIs(2));
}

TEST(DeliveryHeadersTest, KeepsSignedHeadersAfterManyOtherHeaders) {
  std::vector<HeaderField> headers(100, {"X-Service-A", std::string(100, 'b')});
  for (const char* name :
       {"Timestamp", "Event-Id", "Signature-Key-Id", "Signature-Algorithm", "Signature-Version", "SIGNATURE"}) {
    headers.push_back({absl::StrCat("X-Service-", name), std::string(128, '1')});
  }
  const std::vector<HeaderField> kept = KeepOperatorHeaders(headers, "Service");
  ASSERT_THAT(kept, SizeIs(kMaxKeptHeaders));
  EXPECT_EQ(kept[9].name, "X-Service-A");
  EXPECT_EQ(kept[10].name, "X-Service-Timestamp");
  EXPECT_EQ(kept[15].name, "X-Service-SIGNATURE");
}

TEST(DeliveryHeadersTest, ReturnsTheTextOfTheTimestampHeader) {
  const auto spelled = [](const std::vector<HeaderField>& kept) { return SignedTimestampOf(kept, "Service", 17); };
  EXPECT_EQ(spelled({{"X-Service-Timestamp", "17"}}), "17");
  EXPECT_EQ(spelled({{"X-Service-A", "0017"}, {"x-SERVICE-timestamp", "0000000000000017"}}), "0000000000000017");
  // If the header is absent, has another number, or is malformed, SignedTimestampOf returns the number in decimal
  // digits.
  EXPECT_EQ(spelled({}), "17");
  EXPECT_EQ(spelled({{"X-Service-Timestamp", "018"}, {"X-Other-Timestamp", "017"}}), "17");
  EXPECT_EQ(spelled({{"X-Service-Timestamp", "00000000000000017"}}), "17");
}

}  // namespace
}  // namespace stampgate
