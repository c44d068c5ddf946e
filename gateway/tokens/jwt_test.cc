#include "gateway/tokens/jwt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gateway/tokens/testing.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;

constexpr char kGoodHeader[] = R"({"alg":"RS256","kid":"a"})";
constexpr char kGoodClaims[] = R"({"iss":"https://issuer","sub":"someone","aud":"gate","exp":2000000000})";

constexpr char kNoToken[] = "the token is not a JSON Web Token";

std::string TokenOf(absl::string_view header, absl::string_view payload = kGoodClaims,
                    absl::string_view signature = "signature") {
  return absl::StrCat(Base64Url(header), ".", Base64Url(payload), ".", Base64Url(signature));
}

// Returns the reason why a token is refused, or "" if it is accepted.
std::string Refusal(absl::string_view token) {
  const absl::Status status = ReadSignedToken(token).status();
  EXPECT_EQ(status.code(), status.ok() ? absl::StatusCode::kOk : absl::StatusCode::kUnauthenticated);
  return std::string(status.message());
}

std::string ClaimsRefusal(const std::string& payload) {
  const absl::Status status = ReadTokenClaims(payload).status();
  EXPECT_EQ(status.code(), status.ok() ? absl::StatusCode::kOk : absl::StatusCode::kUnauthenticated);
  return std::string(status.message());
}

// Returns the good claims with `from` replaced by `to`.
std::string Claims(absl::string_view from, absl::string_view to) {
  EXPECT_NE(std::string(kGoodClaims).find(std::string(from)), std::string::npos);
  return absl::StrReplaceAll(kGoodClaims, {{from, to}});
}

TEST(SignedTokenTest, IsSplitIntoItsParts) {
  const std::string token = TokenOf(kGoodHeader);
  const absl::StatusOr<SignedToken> read = ReadSignedToken(token);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->algorithm, TokenAlgorithm::kRs256);
  EXPECT_EQ(read->key_id, "a");
  EXPECT_EQ(read->signed_text, absl::StrCat(Base64Url(kGoodHeader), ".", Base64Url(kGoodClaims)));
  EXPECT_EQ(read->signature, "signature");
  EXPECT_EQ(read->payload, kGoodClaims);
}

// The token of RFC 7515, appendix A.3, is parsed.
TEST(SignedTokenTest, TheExampleOfTheStandardIsParsed) {
  const absl::StatusOr<SignedToken> read = ReadSignedToken(
      "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0"
      "cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->algorithm, TokenAlgorithm::kEs256);
  EXPECT_EQ(read->key_id, std::nullopt);
  EXPECT_EQ(read->payload, "{\"iss\":\"joe\",\r\n \"exp\":1300819380,\r\n \"http://example.com/is_root\":true}");
  EXPECT_EQ(read->signature.size(), 64u);
}

TEST(SignedTokenTest, MustHaveThreePartsInCanonicalBase64Url) {
  const std::string header = Base64Url(kGoodHeader);
  const std::string payload = Base64Url(kGoodClaims);
  const std::string token = absl::StrCat(header, ".", payload, ".c2ln");
  EXPECT_EQ(Refusal(token), "");
  for (const std::string& bad : {std::string(),
                                 std::string("."),
                                 std::string(".."),
                                 std::string("..."),
                                 header,
                                 absl::StrCat(header, ".", payload),
                                 absl::StrCat(token, "."),
                                 absl::StrCat(token, ".c2ln"),
                                 absl::StrCat(".", token),
                                 absl::StrCat(".", payload, ".c2ln"),  // no header
                                 absl::StrCat(header, "=.", payload, ".c2ln"),
                                 absl::StrCat(token, "="),
                                 absl::StrCat(token, "c2lnYQ=="),
                                 absl::StrCat(token, " "),
                                 absl::StrCat(" ", token),
                                 absl::StrCat(token, "\n"),
                                 absl::StrCat(header, " .", payload, ".c2ln"),
                                 absl::StrCat(header, ".\n", payload, ".c2ln"),
                                 absl::StrCat(header, ".", payload, ".c2l+"),
                                 absl::StrCat(header, ".", payload, ".c2l/"),
                                 absl::StrCat(header, ".", payload, ".c2l\xee"),
                                 absl::StrCat(header, ".", payload,
                                              ".\xe3"
                                              "2ln"),
                                 absl::StrCat(header, ".", payload, ".c"),    // not a whole byte
                                 absl::StrCat(header, ".", payload, ".c2k"),  // this one is good
                                 absl::StrCat(header, ".", payload, ".c2l"),  // bits after the last byte
                                 absl::StrCat(header, ".", payload, ".", std::string(1, '\0')),
                                 std::string("not a token"),
                                 std::string(64, 'a')}) {
    const bool is_good = bad == absl::StrCat(header, ".", payload, ".c2k");
    EXPECT_EQ(Refusal(bad), is_good ? "" : kNoToken) << bad;
  }
}

TEST(SignedTokenTest, MustNotBeTooLong) {
  const std::string start = absl::StrCat(Base64Url(kGoodHeader), ".");
  // In base64url, four characters encode three bytes.
  const size_t left = kMaxTokenBytes - start.size() - 1;
  std::string longest = absl::StrCat(start, ".", std::string(left - left % 4, 'A'));
  EXPECT_EQ(Refusal(longest), "");
  EXPECT_EQ(Refusal(TokenOf(kGoodHeader, kGoodClaims, std::string(6900, 's'))), "the token is too long");
  EXPECT_EQ(Refusal(std::string(9 << 10, 'a')), "the token is too long");
  EXPECT_EQ(Refusal(std::string(kMaxTokenBytes + 1, '.')), "the token is too long");
  EXPECT_EQ(Refusal(std::string(kMaxTokenBytes, '.')), kNoToken);
}

TEST(SignedTokenTest, MustUseOneOfTwoAlgorithms) {
  EXPECT_EQ(Refusal(TokenOf(R"({"alg":"RS256"})")), "");
  EXPECT_EQ(Refusal(TokenOf(R"({"alg":"ES256"})")), "");
  for (const char* algorithm : {"none",  "None",  "NONE",  "",       "HS256",  "HS384",        "HS512",    "RS384",
                                "RS512", "RS1",   "PS256", "PS384",  "PS512",  "ES384",        "ES512",    "ES256K",
                                "EdDSA", "rs256", "es256", "RS256 ", " RS256", "RS256\\u0000", "RSA-OAEP", "dir"}) {
    EXPECT_EQ(Refusal(TokenOf(absl::StrCat(R"({"alg":")", algorithm, R"("})"))),
              "the token's algorithm is missing or not allowed")
        << algorithm;
  }
  for (const char* header : {"{}", R"({"ALG":"RS256"})", R"({"alg":null})", R"({"alg":true})", R"({"alg":1})",
                             R"({"alg":["RS256"]})", R"({"alg":{"alg":"RS256"}})", R"({"alg":"\ud800"})"}) {
    EXPECT_EQ(Refusal(TokenOf(header)), "the token's algorithm is missing or not allowed") << header;
  }
}

TEST(SignedTokenTest, MustNotContainAKeyOrRequireAnExtension) {
  for (const char* name : {"jku", "x5u", "jwk", "x5c", "crit", "b64", "zip"}) {
    for (const char* value : {"\"https://elsewhere/keys\"", "{}", "[]", "true", "null", "\"\""}) {
      EXPECT_EQ(Refusal(TokenOf(absl::StrCat(R"({"alg":"RS256",")", name, "\":", value, "}"))),
                "the token's header has a member that is refused")
          << name << value;
    }
  }
  // A member name that is written with an escape is the same name.
  EXPECT_EQ(Refusal(TokenOf(R"({"alg":"RS256","j\u006bu":"x"})")), "the token's header has a member that is refused");
  EXPECT_EQ(Refusal(TokenOf(R"({"alg":"RS256","x5t":"abc","cty":"x","other":{"jku":[1]}})")), "");
}

TEST(SignedTokenTest, MayNameItsKeyAndItsType) {
  EXPECT_EQ(Refusal(TokenOf(absl::StrCat(R"({"alg":"RS256","kid":")", std::string(128, 'k'), R"("})"))), "");
  EXPECT_EQ(Refusal(TokenOf(R"({"alg":"RS256","kid":"a.b/c+d=e~"})")), "");
  const std::string too_long = absl::StrCat("\"", std::string(129, 'k'), "\"");
  for (const std::string& kid :
       {std::string("\"\""), std::string("\"a b\""), std::string(R"("a\n")"), std::string(R"("\u0000")"),
        std::string("\"\xc3\xa4\""), std::string("1"), std::string("null"), std::string("[\"a\"]"), too_long}) {
    EXPECT_EQ(Refusal(TokenOf(absl::StrCat(R"({"alg":"RS256","kid":)", kid, "}"))), "the token's key id is malformed")
        << kid;
  }
  for (const char* type : {"JWT", "jwt", "Jwt", "at+jwt", "AT+JWT", "JOSE", "jose", "application/jwt",
                           "Application/JWT", "application/jose", "application/at+jwt", "APPLICATION/AT+JWT"}) {
    EXPECT_EQ(Refusal(TokenOf(absl::StrCat(R"({"typ":")", type, R"(","alg":"RS256"})"))), "") << type;
  }
  for (const char* type : {"\"\"", "\"JWE\"", "\"JOSE+JSON\"", "\"JWT \"", "\"logout+jwt\"", "\"application/\"",
                           "\"application/logout+jwt\"", "\"application/application/jwt\"", "\"text/jwt\"",
                           "\"x/at+jwt\"", "null", "1", "[\"JWT\"]"}) {
    EXPECT_EQ(Refusal(TokenOf(absl::StrCat(R"({"alg":"RS256","typ":)", type, "}"))), "the token is of another type")
        << type;
  }
}

TEST(SignedTokenTest, MustHaveAHeaderInStrictJson) {
  for (const char* header : {"",
                             " ",
                             "null",
                             "\"RS256\"",
                             "[]",
                             R"([{"alg":"RS256"}])",
                             "{",
                             R"({"alg":"RS256"}x)",
                             R"({"alg":"RS256"}{})",
                             R"({"alg":"RS256",})",
                             R"({'alg':'RS256'})",
                             R"({alg:"RS256"})",
                             "{\"alg\":\"RS256\",\"x\":\"\xff\"}",
                             R"({"alg":"RS256","alg":"RS256"})",
                             R"({"alg":"RS256","a\u006cg":"RS256"})",
                             R"({"alg":"RS256","x":1,"x":1})",
                             R"({"alg":"RS256","kid":"a","kid":"b"})",
                             R"({"alg":"RS256","x":{"y":1,"y":2}})",
                             R"({"alg":"RS256","x":01})",
                             "{\"alg\":\"RS256\",\"x\":\"\n\"}",
                             "\xef\xbb\xbf{\"alg\":\"RS256\"}"}) {
    EXPECT_EQ(Refusal(TokenOf(header)), kNoToken) << header;
  }
  // A token with two algorithms is refused, whichever comes first.
  EXPECT_NE(Refusal(TokenOf(R"({"alg":"RS256","alg":"none"})")), "");
  EXPECT_NE(Refusal(TokenOf(R"({"alg":"none","alg":"RS256"})")), "");
}

TEST(TokenClaimsTest, AreParsed) {
  const absl::StatusOr<TokenClaims> claims = ReadTokenClaims(
      R"({"iss":"i","sub":"s","aud":["a","b"],"exp":1300819380,"nbf":1300819379.25,"iat":1.3e9,"jti":{"x":[null]}})");
  ASSERT_TRUE(claims.ok()) << claims.status();
  EXPECT_EQ(claims->issuer, "i");
  EXPECT_EQ(claims->subject, "s");
  EXPECT_THAT(claims->audiences, ElementsAre("a", "b"));
  EXPECT_EQ(claims->expires, absl::FromUnixSeconds(1300819380));
  EXPECT_EQ(claims->not_before, absl::FromUnixSeconds(1300819379) + absl::Milliseconds(250));
  const absl::StatusOr<TokenClaims> fewest = ReadTokenClaims(kGoodClaims);
  ASSERT_TRUE(fewest.ok()) << fewest.status();
  EXPECT_THAT(fewest->audiences, ElementsAre("gate"));
  EXPECT_EQ(fewest->not_before, std::nullopt);
}

TEST(TokenClaimsTest, MustExistAndHaveTheRightTypes) {
  struct {
    const char* claim;
    const char* good;
    std::vector<std::string> bad;  // "" removes the claim
  } const cases[] = {
      {"iss", R"("iss":"https://issuer",)", {"", "null", "1", "[\"https://issuer\"]", "{}", R"("\ud800")"}},
      {"sub",
       R"("sub":"someone",)",
       {"", "null", "1", "\"\"", "[\"someone\"]", "true", absl::StrCat("\"", std::string(513, 's'), "\"")}},
      {"aud", R"("aud":"gate",)", {"", "null", "1", "[]", "{}", "[\"gate\",1]", "[[\"gate\"]]", "[null]"}},
  };
  for (const auto& one : cases) {
    for (const std::string& bad : one.bad) {
      const std::string payload = Claims(one.good, bad.empty() ? "" : absl::StrCat("\"", one.claim, "\":", bad, ","));
      EXPECT_EQ(ClaimsRefusal(payload), absl::StrCat("the token's claim ", one.claim, " is missing or malformed"))
          << payload;
    }
  }
  EXPECT_EQ(ClaimsRefusal(Claims("\"someone\"", absl::StrCat("\"", std::string(512, 's'), "\""))), "");
}

TEST(TokenClaimsTest, MustHaveNumbersAsTimes) {
  for (const char* good : {"0", "0.5", "1e9", "1E+9", "2000000000.999999", "253402300799", "-0"}) {
    for (const char* name : {"exp", "nbf", "iat"}) {
      const std::string payload =
          absl::StrCat(R"({"iss":"i","sub":"s","aud":"a",)", std::string(name) == "exp" ? "" : "\"exp\":1,", "\"", name,
                       "\":", good, "}");
      EXPECT_EQ(ClaimsRefusal(payload), "") << payload;
    }
  }
  for (const char* bad : {"null", "\"2000000000\"", "true", "[2000000000]", "{}", "-1", "253402300800", "1e300",
                          "1e999", "99999999999999999999999999999999"}) {
    for (const char* name : {"exp", "nbf", "iat"}) {
      const std::string payload =
          absl::StrCat(R"({"iss":"i","sub":"s","aud":"a",)", std::string(name) == "exp" ? "" : "\"exp\":1,", "\"", name,
                       "\":", bad, "}");
      EXPECT_EQ(ClaimsRefusal(payload), absl::StrCat("the token's claim ", name, " is missing or malformed"));
    }
  }
  EXPECT_EQ(ClaimsRefusal(R"({"iss":"i","sub":"s","aud":"a"})"), "the token's claim exp is missing or malformed");
}

TEST(TokenClaimsTest, MustBeStrictJson) {
  for (const std::string& payload :
       {std::string(), std::string("x"), std::string("null"), std::string("[]"), absl::StrCat(kGoodClaims, " x"),
        Claims("\"exp\":2000000000", "\"exp\":2000000000,\"exp\":2000000000"),
        Claims("\"exp\":2000000000", "\"exp\":2000000000,\"e\\u0078p\":3000000000"),
        Claims("\"exp\":2000000000", "\"exp\":2000000000,\"other\":1,\"other\":1"),
        Claims("\"exp\":2000000000", "\"exp\":02000000000"), Claims("\"exp\":2000000000", "\"exp\":NaN"),
        Claims("someone", "some\none"), Claims("someone", "some\xff")}) {
    EXPECT_EQ(ClaimsRefusal(payload), kNoToken) << payload;
  }
}

TEST(TokenClaimsTest, AreValidInTheirPeriodPlusTheLeeway) {
  const absl::Time now = absl::FromUnixSeconds(1'700'000'000);
  const std::vector<std::string> gate = {"gate"};
  TokenClaims claims;
  claims.audiences = {"gate"};
  const auto check = [&] { return std::string(CheckTokenClaims(claims, gate, now).message()); };

  constexpr absl::Duration kTick = absl::Nanoseconds(1);
  claims.expires = now + absl::Hours(1);
  EXPECT_EQ(check(), "");
  claims.expires = now;
  EXPECT_EQ(check(), "");
  claims.expires = now - kTokenLeeway + kTick;
  EXPECT_EQ(check(), "");
  claims.expires = now - kTokenLeeway;
  EXPECT_EQ(check(), "the token has expired");
  claims.expires = absl::UnixEpoch();
  EXPECT_EQ(check(), "the token has expired");

  claims.expires = now + absl::Hours(1);
  claims.not_before = now + kTokenLeeway;
  EXPECT_EQ(check(), "");
  claims.not_before = now + kTokenLeeway + kTick;
  EXPECT_EQ(check(), "the token is not valid yet");
  claims.not_before = now - absl::Hours(1000);
  EXPECT_EQ(check(), "");
}

TEST(TokenClaimsTest, MustNameTheAudienceExactly) {
  const absl::Time now = absl::FromUnixSeconds(1'700'000'000);
  TokenClaims claims;
  claims.expires = now;
  const std::vector<std::string> ours = {"gate", "https://gate.example"};
  for (const std::vector<std::string>& good :
       {std::vector<std::string>{"gate"}, {"other", "gate"}, {"https://gate.example"}, {"gate", "gate"}}) {
    claims.audiences = good;
    EXPECT_TRUE(CheckTokenClaims(claims, ours, now).ok());
  }
  for (const std::vector<std::string>& bad : {std::vector<std::string>{"other"},
                                              {"Gate"},
                                              {"gate "},
                                              {"gat"},
                                              {"gate/"},
                                              {""},
                                              {"https://gate.example/"},
                                              {}}) {
    claims.audiences = bad;
    EXPECT_EQ(CheckTokenClaims(claims, ours, now).message(), "the token is not for this audience");
  }
}

// Changes a few bytes, mostly to characters that have a meaning in JSON.
std::string Mutate(std::string text, std::mt19937& random) {
  static constexpr absl::string_view kPieces = "{}[]\",:\\u0123456789eE.+-ntfalsr \x80\xff";
  for (size_t left = 1 + random() % 3; left > 0; --left) {
    const size_t at = random() % (text.size() + 1);
    const char piece = kPieces[random() % kPieces.size()];
    if (random() % 3 == 0) {
      text.insert(at, 1, piece);
    } else if (at < text.size() && random() % 2 == 0) {
      text.erase(at, 1 + random() % 4);
    } else if (at < text.size()) {
      text[at] = piece;
    }
  }
  return text;
}

TEST(TokenClaimsTest, AnyPayloadIsParsedOrRefused) {
  const std::string good =
      R"({"iss":"i","sub":"\u00e4s","aud":["a","b"],"exp":1300819380.5,"nbf":13e8,"x":{"y":[null,1]}})";
  std::mt19937 random(4);
  int read = 0;
  for (int i = 0; i < 50'000; ++i) {
    const absl::StatusOr<TokenClaims> claims = ReadTokenClaims(Mutate(good, random));
    EXPECT_TRUE(claims.ok() || absl::IsUnauthenticated(claims.status()));
    const std::string header = Mutate(R"({"alg":"ES256","kid":"\u0061","typ":"JWT","x":[{}]})", random);
    const absl::StatusOr<SignedToken> token = ReadSignedToken(TokenOf(header));
    EXPECT_TRUE(token.ok() || absl::IsUnauthenticated(token.status()));
    if (!claims.ok() || !token.ok()) continue;
    ++read;
    EXPECT_FALSE(claims->subject.empty() || claims->audiences.empty());
    EXPECT_NE(header.find("S256"), std::string::npos);
  }
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace stampgate
