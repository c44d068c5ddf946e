#include "stamp/client_stamp.h"

#include <simdjson.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"

namespace stampgate {
namespace {

using Kind = ClientStamp::Kind;

// A stamp that upstream's client libraries made, with the body that it signs.
struct Vector {
  std::string id;
  Kind kind;
  std::string body;
  std::string value;
  std::string json;
};

Kind KindOf(absl::string_view header) {
  if (absl::EqualsIgnoreCase(header, "X-Stamp")) return Kind::kApiKey;
  return absl::EqualsIgnoreCase(header, "X-Stamp-WebAuthn") ? Kind::kWebAuthn : Kind::kAttested;
}

const std::vector<Vector>& Vectors() {
  static const auto& vectors = *new std::vector<Vector>([] {
    simdjson::dom::parser parser;
    const simdjson::dom::element root = parser.load("tests/vectors/stamps.json").value();
    std::vector<Vector> loaded;
    auto text = [](simdjson::dom::element element, const char* name) {
      return std::string(element[name].get_string().value());
    };
    for (const char* list : {"p256", "other", "webauthn", "attested"}) {
      const simdjson::dom::array entries = root[list].get_array().value();
      for (simdjson::dom::element entry : entries) {
        Vector vector{
            text(entry, "id"), KindOf(text(entry, "headerName")), text(entry, "body"), text(entry, "headerValue"), {}};
        if (!absl::WebSafeBase64Unescape(vector.value, &vector.json)) vector.json = vector.value;
        loaded.push_back(std::move(vector));
      }
    }
    return loaded;
  }());
  return vectors;
}

const Vector& VectorOf(Kind kind) {
  for (const Vector& vector : Vectors()) {
    if (vector.kind == kind) return vector;
  }
  std::abort();
}

// Returns the message of the error with which Read rejects `value`; an empty text if Read accepts `value`.
std::string Fault(Kind kind, std::string value) {
  const absl::StatusOr<ClientStamp> stamp = ClientStamp::Read(kind, std::move(value));
  if (stamp.ok()) return "";
  EXPECT_EQ(stamp.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(stamp.status().message());
}

// Returns the base64url of the first vector of `kind`, after replacing `piece` by `other` in the JSON.
std::string With(Kind kind, const std::string& piece, const std::string& other) {
  const std::string& json = VectorOf(kind).json;
  EXPECT_NE(json.find(piece), std::string::npos) << piece;
  return absl::WebSafeBase64Escape(absl::StrReplaceAll(json, {{piece, other}}));
}

// Returns the base64url of the first vector of `kind`, after setting `member` to `value` in the JSON.
std::string WithMember(Kind kind, const std::string& member, const std::string& value) {
  const std::string& json = VectorOf(kind).json;
  const std::string before = absl::StrCat("\"", member, "\":\"");
  const size_t begin = json.find(before) + before.size();
  const size_t end = json.find('"', begin);
  return absl::WebSafeBase64Escape(absl::StrCat(json.substr(0, begin), value, json.substr(end)));
}

TEST(ClientStampTest, AcceptsEveryVectorAndSendsItUnchanged) {
  int kinds[3] = {};
  for (const Vector& vector : Vectors()) {
    SCOPED_TRACE(vector.id);
    const absl::StatusOr<ClientStamp> stamp = ClientStamp::Read(vector.kind, vector.value);
    ASSERT_TRUE(stamp.ok()) << stamp.status();
    const StampedRequest request = stamp->Stamp("/public/v1/submit/stamp_login", vector.body);
    EXPECT_EQ(request.path(), "/public/v1/submit/stamp_login");
    EXPECT_EQ(request.body(), vector.body);
    EXPECT_EQ(request.header_value(), vector.value);
    EXPECT_EQ(stamp->value(), vector.value);
    EXPECT_EQ(stamp->name(), request.header_name());
    ++kinds[static_cast<int>(vector.kind)];
  }
  for (int count : kinds) EXPECT_GT(count, 0);
}

TEST(ClientStampTest, AStampIsSentInTheHeaderOfItsKind) {
  for (const auto& [kind, name] : {std::pair{Kind::kApiKey, "X-Stamp"}, std::pair{Kind::kWebAuthn, "X-Stamp-WebAuthn"},
                                   std::pair{Kind::kAttested, "X-Stamp-Attested"}}) {
    EXPECT_EQ(ClientStamp::Read(kind, VectorOf(kind).value)->name(), name);
  }
}

TEST(ClientStampTest, PasskeyAndAttestedStampsMayBePlainJson) {
  for (Kind kind : {Kind::kWebAuthn, Kind::kAttested}) {
    const std::string& json = VectorOf(kind).json;
    EXPECT_EQ(Fault(kind, json), "");
    EXPECT_EQ(Fault(kind, absl::WebSafeBase64Escape(json)), "");
  }
  EXPECT_EQ(Fault(Kind::kApiKey, VectorOf(Kind::kApiKey).json),
            "must be the base64url without padding of a JSON object");
}

TEST(ClientStampTest, AStampOfOneKindIsRejectedAsAnyOtherKind) {
  for (const Vector& vector : Vectors()) {
    for (Kind kind : {Kind::kApiKey, Kind::kWebAuthn, Kind::kAttested}) {
      if (kind == vector.kind) continue;
      EXPECT_NE(Fault(kind, vector.value), "") << vector.id;
    }
  }
}

TEST(ClientStampTest, AValueThatAHeaderCannotContainIsRejected) {
  const std::string printable = "must be printable ASCII, and not end in a space";
  for (Kind kind : {Kind::kApiKey, Kind::kWebAuthn, Kind::kAttested}) {
    EXPECT_EQ(Fault(kind, ""), "must not be empty");
    const std::string& value = VectorOf(kind).value;
    for (const std::string& bad :
         {std::string("\r"), std::string("\n"), std::string("\r\nX-Stamp: x"), std::string(1, '\0'), std::string("\t"),
          std::string("\x7f"), std::string("\xc3\xa9"), std::string("\x80")}) {
      for (size_t at : {size_t{0}, value.size() / 2, value.size()}) {
        EXPECT_EQ(Fault(kind, std::string(value).insert(at, bad)), printable);
      }
    }
    EXPECT_EQ(Fault(kind, value + " "), printable);
    EXPECT_NE(Fault(kind, " " + value), "");
    EXPECT_NE(Fault(kind, value + "="), "");
    EXPECT_EQ(Fault(kind, std::string(kMaxClientStampBytes + 1, 'A')), "must be at most 8192 bytes long");
  }
  // A value of exactly the maximum length is accepted.
  std::string json = VectorOf(Kind::kAttested).json;
  json.insert(1, std::string(kMaxClientStampBytes - json.size(), ' '));
  ASSERT_EQ(json.size(), kMaxClientStampBytes);
  EXPECT_EQ(Fault(Kind::kAttested, json), "");
}

TEST(ClientStampTest, AStampMustHaveExactlyTheMembersOfItsKind) {
  const std::string api_key = "must have the strings publicKey, scheme, signature as its only members";
  EXPECT_EQ(Fault(Kind::kApiKey, With(Kind::kApiKey, "{", R"({"more":"x",)")), api_key);
  EXPECT_EQ(Fault(Kind::kApiKey, With(Kind::kApiKey, "publicKey", "publickey")), api_key);
  EXPECT_EQ(Fault(Kind::kApiKey, absl::WebSafeBase64Escape("{}")), api_key);
  EXPECT_EQ(Fault(Kind::kApiKey, absl::WebSafeBase64Escape(R"({"publicKey":null,"scheme":1,"signature":[]})")),
            api_key);
  EXPECT_EQ(Fault(Kind::kApiKey, absl::WebSafeBase64Escape(R"({"publicKey":"\ud800","scheme":"","signature":""})")),
            api_key);
  EXPECT_EQ(Fault(Kind::kWebAuthn, "{}"),
            "must have the strings authenticatorData, clientDataJson, credentialId, signature as its only members");
  EXPECT_EQ(Fault(Kind::kAttested, "{}"),
            "must have the strings publicKey, publicKeyAttestation, scheme, signature as its only members");
}

TEST(ClientStampTest, AStampMustBeStrictJson) {
  const std::string begin = "must be the JSON text of an object: ";
  for (const char* text : {"[]", "null", "", "{", R"({"publicKey":"a","publicKey":"b"})", "{}{}", "\xff"}) {
    const std::string fault = Fault(Kind::kApiKey, absl::WebSafeBase64Escape(text));
    if (*text == '\0') {
      EXPECT_EQ(fault, "must not be empty");
    } else {
      EXPECT_TRUE(absl::StartsWith(fault, begin)) << text << ": " << fault;
    }
  }
  EXPECT_TRUE(absl::StartsWith(Fault(Kind::kWebAuthn, "{'a':1}"), begin));
}

TEST(ClientStampTest, TheMembersOfAStampMustHaveTheFormsOfItsScheme) {
  const std::string point = "must have a publicKey of 66 hex digits, or of 130";
  const std::string der = "must have a signature in DER as hex digits";
  const std::string uncompressed = "04" + std::string(128, 'a');
  for (Kind kind : {Kind::kApiKey, Kind::kAttested}) {
    EXPECT_EQ(Fault(kind, WithMember(kind, "publicKey", uncompressed)), "");
    EXPECT_EQ(Fault(kind, WithMember(kind, "publicKey", "03" + std::string(64, 'A'))), "");
    for (const std::string& bad : {std::string(), std::string("02"), std::string(66, 'a'), std::string(66, 'z'),
                                   "0x" + std::string(64, 'a'), std::string(130, 'a'), uncompressed + "aa"}) {
      EXPECT_EQ(Fault(kind, WithMember(kind, "publicKey", bad)), point) << bad;
    }
    for (const std::string& bad : {std::string(), std::string("3"), std::string("30"), std::string(140, 'z'),
                                   std::string(128, 'a'), "30" + std::string(159, 'a'), "30" + std::string(160, 'a')}) {
      EXPECT_EQ(Fault(kind, WithMember(kind, "signature", bad)), der) << bad;
    }
    for (const char* scheme : {"", "SIGNATURE_SCHEME_TK_WEBAUTHN", "signature_scheme_tk_api_p256", "X"}) {
      EXPECT_EQ(Fault(kind, WithMember(kind, "scheme", scheme)), kind == Kind::kApiKey
                                                                     ? "must have the scheme of an API key or a wallet"
                                                                     : "must have the scheme of an attested key");
    }
  }
  // With the scheme of Ed25519, only keys and signatures of Ed25519's lengths are accepted.
  EXPECT_EQ(Fault(Kind::kApiKey, WithMember(Kind::kApiKey, "scheme", "SIGNATURE_SCHEME_TK_API_ED25519")),
            "must have a publicKey of 64 hex digits");
  const std::string key(64, 'a');
  for (const auto& [size, fault] : {std::pair{126, "must have a signature of 128 hex digits"}, std::pair{128, ""}}) {
    EXPECT_EQ(Fault(Kind::kApiKey, absl::WebSafeBase64Escape(absl::StrCat(
                                       R"({"publicKey":")", key, R"(","signature":")", std::string(size, 'b'),
                                       R"(","scheme":"SIGNATURE_SCHEME_TK_API_ED25519"})"))),
              fault);
  }
}

TEST(ClientStampTest, TheMembersOfAPasskeyStampMustBeBase64url) {
  const Kind kind = Kind::kWebAuthn;
  for (const char* member : {"authenticatorData", "clientDataJson", "credentialId", "signature"}) {
    for (const char* bad : {"", "a", "ab=", "a+b/", "a b", "{}"}) {
      EXPECT_EQ(Fault(kind, WithMember(kind, member, bad)),
                absl::StrCat("must have a ", member, " in base64url without padding"))
          << bad;
    }
  }
  EXPECT_EQ(Fault(kind, WithMember(kind, "authenticatorData", absl::WebSafeBase64Escape(std::string(36, 'x')))),
            "must have authenticatorData of 37 bytes or more");
  EXPECT_EQ(Fault(kind, WithMember(kind, "authenticatorData", absl::WebSafeBase64Escape(std::string(200, 'x')))), "");
  EXPECT_EQ(Fault(kind, WithMember(kind, "clientDataJson", absl::WebSafeBase64Escape("[]"))),
            "must have a clientDataJson that is the base64url of a JSON object");
  EXPECT_EQ(Fault(kind, WithMember(kind, "clientDataJson", absl::WebSafeBase64Escape(R"({"x":[1]})"))), "");
}

TEST(ClientStampTest, AnAttestationMustBeAJsonWebToken) {
  for (const char* bad :
       {"", "a.b", "aa.bb", "aa.bb.", "aa..cc", "aa.bb.cc.dd", "aa.b b.cc", "aa.bb.c=", "aa.bb.c+cc"}) {
    EXPECT_EQ(Fault(Kind::kAttested, WithMember(Kind::kAttested, "publicKeyAttestation", bad)),
              "must have a publicKeyAttestation that is a JSON Web Token")
        << bad;
  }
}

TEST(ClientStampTest, ErrorsDoNotQuoteTheStamp) {
  std::mt19937_64 random(6);
  int refused = 0;
  for (int round = 0; round < 30000; ++round) {
    const Vector& vector = Vectors()[random() % Vectors().size()];
    const bool plain = random() % 2 == 0;
    std::string json = vector.json;
    for (size_t n = 1 + random() % 3; n > 0; --n) {
      const size_t at = random() % json.size();
      if (random() % 2 == 0) {
        json[at] = static_cast<char>(random());
      } else {
        json.erase(at, 1 + random() % 8);
      }
    }
    const absl::StatusOr<ClientStamp> stamp =
        ClientStamp::Read(vector.kind, plain ? json : absl::WebSafeBase64Escape(json));
    if (stamp.ok()) continue;
    ++refused;
    const std::string message(stamp.status().message());
    ASSERT_LT(message.size(), 200u);
    for (size_t at = 0; at + 24 <= vector.json.size(); at += 8) {
      // A message may contain the name of a member. A piece of 24 characters is longer than any such name.
      const std::string piece = vector.json.substr(at, 24);
      ASSERT_EQ(message.find(piece), std::string::npos) << message;
    }
  }
  EXPECT_GT(refused, 10000);
}

}  // namespace
}  // namespace stampgate
