#include "gateway/tokens/key_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/rsa.h>

#include <random>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/json/hex.h"
#include "gateway/tokens/testing.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const TestTokenKey& RsaKey() {
  static const TestTokenKey key("RSA");
  return key;
}

const TestTokenKey& EcKey() {
  static const TestTokenKey key("P-256");
  return key;
}

const TestTokenKey& OtherEcKey() {
  static const TestTokenKey key("P-256");
  return key;
}

// Parses a set of two keys: `jwk` and a valid key. Returns the reason why `jwk` is left out, or "" if `jwk` is
// accepted.
std::string Refusal(const std::string& jwk) {
  const absl::StatusOr<TokenKeySet> set = TokenKeySet::Parse(JwksOf({jwk, EcKey().Jwk(R"("kid":"good")")}));
  EXPECT_TRUE(set.ok()) << set.status() << jwk;
  return !set.ok() || set->refused().empty() ? "" : set->refused()[0];
}

std::string SetFault(const std::string& json) {
  const absl::StatusOr<TokenKeySet> set = TokenKeySet::Parse(json);
  EXPECT_TRUE(set.ok() || absl::IsInvalidArgument(set.status()));
  return std::string(set.status().message());
}

// The examples of RFC 7515, appendices A.2 and A.3: the same claims, signed by an RSA key and by a P-256 key.
constexpr char kClaims[] =
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
constexpr char kRsaN[] =
    "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgN"
    "MsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xs"
    "mtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_"
    "h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ";
constexpr char kRsaSignature[] =
    "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1d"
    "nZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwu"
    "sC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_"
    "IoypGlUPQGe77Rw";
constexpr char kEcX[] = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU";
constexpr char kEcY[] = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0";
constexpr char kEcSignature[] =
    "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";

TEST(TokenKeyTest, VerifiesTheExamplesOfTheStandard) {
  struct {
    absl::StatusOr<TokenKey> key;
    TokenAlgorithm algorithm;
    std::string token;
  } const cases[] = {
      {TokenKey::Rsa(kRsaN, "AQAB"), TokenAlgorithm::kRs256,
       absl::StrCat("eyJhbGciOiJSUzI1NiJ9.", kClaims, ".", kRsaSignature)},
      {TokenKey::P256(kEcX, kEcY), TokenAlgorithm::kEs256,
       absl::StrCat("eyJhbGciOiJFUzI1NiJ9.", kClaims, ".", kEcSignature)},
  };
  for (const auto& one : cases) {
    ASSERT_TRUE(one.key.ok()) << one.key.status();
    const absl::StatusOr<SignedToken> token = ReadSignedToken(one.token);
    ASSERT_TRUE(token.ok()) << token.status();
    EXPECT_EQ(token->algorithm, one.algorithm);
    EXPECT_EQ(one.key->algorithm(), one.algorithm);
    EXPECT_TRUE(one.key->Verifies(token->signed_text, token->signature));
    for (size_t i = 0; i < token->signature.size(); ++i) {
      std::string other = token->signature;
      other[i] = static_cast<char>(other[i] ^ (1 << (i % 8)));
      EXPECT_FALSE(one.key->Verifies(token->signed_text, other)) << i;
    }
    EXPECT_FALSE(one.key->Verifies(token->signed_text + "x", token->signature));
    EXPECT_FALSE(one.key->Verifies("", token->signature));
  }
}

TEST(TokenKeyTest, AP256SignatureMustBeTwoNumbersBelowTheOrder) {
  const absl::StatusOr<TokenKey> key = TokenKey::P256(EcKey().x(), EcKey().y());
  ASSERT_TRUE(key.ok()) << key.status();
  const std::string good = EcKey().Sign("text");
  ASSERT_EQ(good.size(), 64u);
  EXPECT_TRUE(key->Verifies("text", good));
  const std::string r = good.substr(0, 32);
  const std::string s = good.substr(32);
  const std::string zero(32, '\0');
  const std::string one = std::string(31, '\0') + '\1';
  const std::string order = DecodeHex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551").value();
  const std::string most(32, '\xff');
  for (const std::string& bad : {std::string(),
                                 good.substr(1),
                                 good.substr(0, 63),
                                 good + '\0',
                                 '\0' + good,
                                 r,
                                 std::string(64, '\0'),
                                 zero + s,
                                 r + zero,
                                 order + s,
                                 r + order,
                                 most + s,
                                 r + most,
                                 one + one,
                                 s + r,
                                 '\0' + r + '\0' + s,
                                 EcKey().SignDer("text"),
                                 OtherEcKey().Sign("text"),
                                 EcKey().Sign("other"),
                                 RsaKey().Sign("text")}) {
    EXPECT_FALSE(key->Verifies("text", bad)) << absl::BytesToHexString(bad);
  }
}

TEST(TokenKeyTest, AnRsaSignatureMustHaveTheOnePaddingAndHash) {
  const absl::StatusOr<TokenKey> key = TokenKey::Rsa(RsaKey().n(), RsaKey().e());
  ASSERT_TRUE(key.ok()) << key.status();
  const std::string good = RsaKey().Sign("text");
  EXPECT_TRUE(key->Verifies("text", good));
  for (const std::string& bad : {std::string(), good.substr(1), good.substr(0, 255), good + '\0', '\0' + good,
                                 std::string(256, '\0'), std::string(256, '\xff'), std::string(255, '\0') + '\1',
                                 RsaKey().Sign("text", EVP_sha256(), RSA_PKCS1_PSS_PADDING),
                                 RsaKey().Sign("text", EVP_sha384()), RsaKey().Sign("text", EVP_sha1()),
                                 RsaKey().Sign("other"), TestTokenKey("RSA").Sign("text"), EcKey().Sign("text")}) {
    EXPECT_FALSE(key->Verifies("text", bad)) << bad.size();
  }
}

TEST(TokenKeySetTest, FindsKeysByIdAndAlgorithm) {
  const absl::StatusOr<TokenKeySet> set = TokenKeySet::Parse(
      JwksOf({RsaKey().Jwk(R"("kid":"r","use":"sig","alg":"RS256","key_ops":["verify"],"x5c":["..."],"x5t":"x")"),
              EcKey().Jwk(R"("kid":"e.1/+=","alg":"ES256","key_ops":["sign","verify"])")}));
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_THAT(set->refused(), IsEmpty());
  const TokenKey* rsa = set->Find(TokenAlgorithm::kRs256, "r");
  const TokenKey* ec = set->Find(TokenAlgorithm::kEs256, "e.1/+=");
  ASSERT_TRUE(rsa != nullptr && ec != nullptr);
  EXPECT_TRUE(rsa->Verifies("x", RsaKey().Sign("x")));
  EXPECT_TRUE(ec->Verifies("x", EcKey().Sign("x")));
  EXPECT_EQ(set->Find(TokenAlgorithm::kEs256, "r"), nullptr);
  EXPECT_EQ(set->Find(TokenAlgorithm::kRs256, "e.1/+="), nullptr);
  EXPECT_EQ(set->Find(TokenAlgorithm::kRs256, "R"), nullptr);
  EXPECT_EQ(set->Find(TokenAlgorithm::kRs256, ""), nullptr);
  // Each of the two keys is the only key of its algorithm.
  EXPECT_EQ(set->Find(TokenAlgorithm::kRs256, std::nullopt), rsa);
  EXPECT_EQ(set->Find(TokenAlgorithm::kEs256, std::nullopt), ec);
}

TEST(TokenKeySetTest, HoldsTheKeysForTokensOfASpiffeBundle) {
  const absl::StatusOr<TokenKeySet> set = TokenKeySet::Parse(
      JwksOf({EcKey().Jwk(R"("kid":"a","use":"jwt-svid")"), OtherEcKey().Jwk(R"("use":"x509-svid","x5c":["..."])")}));
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_NE(set->Find(TokenAlgorithm::kEs256, "a"), nullptr);
  EXPECT_THAT(set->refused(), ElementsAre("key 1: use is neither sig nor jwt-svid"));
}

TEST(TokenKeySetTest, WithoutAnIdFindReturnsNoneOfSeveralKeys) {
  for (const char* members : {"", R"("kid":"b")"}) {
    const absl::StatusOr<TokenKeySet> set =
        TokenKeySet::Parse(JwksOf({EcKey().Jwk(R"("kid":"a")"), OtherEcKey().Jwk(members)}));
    ASSERT_TRUE(set.ok()) << set.status();
    EXPECT_EQ(set->Find(TokenAlgorithm::kEs256, std::nullopt), nullptr);
    EXPECT_NE(set->Find(TokenAlgorithm::kEs256, "a"), nullptr);
  }
  const absl::StatusOr<TokenKeySet> one = TokenKeySet::Parse(JwksOf({EcKey().Jwk(), EcKey().Jwk()}));
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_NE(one->Find(TokenAlgorithm::kEs256, std::nullopt), nullptr);
  EXPECT_EQ(one->Find(TokenAlgorithm::kEs256, "a"), nullptr);
}

TEST(TokenKeySetTest, RefusesTwoDifferentKeysWithOneId) {
  const std::string key = EcKey().Jwk(R"("kid":"a")");
  EXPECT_EQ(SetFault(JwksOf({key, EcKey().Jwk(R"("kid":"a","use":"sig")")})), "");
  constexpr char kTwo[] = "the key set gives one id to two different keys";
  EXPECT_EQ(SetFault(JwksOf({key, OtherEcKey().Jwk(R"("kid":"a")")})), kTwo);
  EXPECT_EQ(SetFault(JwksOf({key, RsaKey().Jwk(R"("kid":"a")")})), kTwo);
}

TEST(TokenKeySetTest, LeavesOutKeysThatCannotBeUsed) {
  EXPECT_EQ(Refusal(RsaKey().Jwk()), "");
  for (const char* key : {"null", "1", "\"RSA\"", "[]"}) EXPECT_EQ(Refusal(key), "key 0: not an object");
  for (const char* key : {"{}", R"({"kty":"oct","k":"c2VjcmV0"})", R"({"kty":"OKP","crv":"Ed25519","x":"AA"})",
                          R"({"kty":"rsa"})", R"({"kty":"ec"})"}) {
    EXPECT_EQ(Refusal(key), "key 0: kty is neither RSA nor EC") << key;
  }
  struct {
    const char* members;
    const char* why;
  } const cases[] = {
      {R"("d":"AQ")", "it is a private key"},
      {R"("k":"AQ")", "it is a private key"},
      {R"("use":"enc")", "use is neither sig nor jwt-svid"},
      {R"("use":"")", "use is neither sig nor jwt-svid"},
      {R"("use":1)", "a member of another type than text"},
      {R"("kid":1)", "a member of another type than text"},
      {R"("kid":null)", "a member of another type than text"},
      {R"("key_ops":"verify")", "key_ops is not a list"},
      {R"("key_ops":[])", "key_ops does not contain verify"},
      {R"("key_ops":["sign",1,"Verify"])", "key_ops does not contain verify"},
      {R"("alg":"RS512")", "alg does not match kty"},
      {R"("alg":"HS256")", "alg does not match kty"},
      {R"("alg":"none")", "alg does not match kty"},
      {R"("kid":"")", "kid is not 1 to 128 visible ASCII characters"},
      {R"("kid":"a b")", "kid is not 1 to 128 visible ASCII characters"},
  };
  for (const TestTokenKey* key : {&RsaKey(), &EcKey()}) {
    for (const auto& one : cases) {
      EXPECT_EQ(Refusal(key->Jwk(one.members)), absl::StrCat("key 0: ", one.why)) << one.members;
    }
  }
  EXPECT_EQ(Refusal(RsaKey().Jwk(R"("alg":"ES256")")), "key 0: alg does not match kty");
  EXPECT_EQ(Refusal(EcKey().Jwk(R"("alg":"RS256")")), "key 0: alg does not match kty");
  EXPECT_EQ(SetFault(JwksOf({"1", "{}"})), "the key set has no key that can be used; key 0: not an object");
}

std::string RsaJwk(const std::string& n, const std::string& e = "AQAB") {
  return absl::StrCat(R"({"kty":"RSA","n":")", n, R"(","e":")", e, R"("})");
}

// Returns an odd number that has exactly `bits` bits, in base64url.
std::string Modulus(size_t bits) {
  std::string bytes((bits + 7) / 8, '\xff');
  if (bits % 8 != 0) bytes[0] = static_cast<char>((1 << (bits % 8)) - 1);
  return Base64Url(bytes);
}

TEST(TokenKeySetTest, AcceptsRsaKeysOf2048To8192Bits) {
  EXPECT_EQ(Refusal(RsaJwk(Modulus(2048))), "");
  EXPECT_EQ(Refusal(RsaJwk(Modulus(8192))), "");
  EXPECT_EQ(Refusal(RsaJwk(Modulus(2047))), "key 0: n has less than 2048 bits");
  EXPECT_EQ(Refusal(RsaJwk(Base64Url(std::string(1024, '\0') + std::string(128, '\xff')))),
            "key 0: n has less than 2048 bits");
  EXPECT_EQ(Refusal(RsaJwk("")), "key 0: n has less than 2048 bits");
  EXPECT_EQ(Refusal(RsaJwk(Modulus(8193))), "key 0: n has more than 8192 bits");
  EXPECT_EQ(Refusal(RsaJwk(Base64Url(std::string(255, '\xff') + '\xfe'))), "key 0: n is even");
  EXPECT_EQ(Refusal(RsaJwk(RsaKey().n() + "==")), "key 0: n or e is not canonical base64url");
  EXPECT_EQ(Refusal(RsaJwk(" " + RsaKey().n())), "key 0: n or e is not canonical base64url");
  EXPECT_EQ(Refusal(R"({"kty":"RSA","e":"AQAB"})"), "key 0: n has less than 2048 bits");
}

TEST(TokenKeySetTest, AcceptsTheUsualExponents) {
  for (const char* good : {"AQAB", "Aw", "AAEAAQ", "_____w", "__________8"}) {
    EXPECT_EQ(Refusal(RsaJwk(RsaKey().n(), good)), "") << good;
  }
  for (const char* bad : {"", "AA", "AQ", "Ag", "AQAA", "AQAAAAAAAAAB"}) {
    EXPECT_EQ(Refusal(RsaJwk(RsaKey().n(), bad)), "key 0: e is not an odd number of 3 or more with at most 64 bits")
        << bad;
  }
  EXPECT_EQ(Refusal(RsaJwk(RsaKey().n(), "AQAB=")), "key 0: n or e is not canonical base64url");
}

std::string EcJwk(const std::string& x, const std::string& y, const std::string& curve = "P-256") {
  return absl::StrCat(R"({"kty":"EC","crv":")", curve, R"(","x":")", x, R"(","y":")", y, R"("})");
}

TEST(TokenKeySetTest, AcceptsOnlyPointsOnP256) {
  const std::string x = OtherEcKey().x();
  const std::string y = OtherEcKey().y();
  EXPECT_EQ(Refusal(EcJwk(x, y)), "");
  for (const char* curve : {"P-384", "P-521", "secp256k1", "p-256", ""}) {
    EXPECT_EQ(Refusal(EcJwk(x, y, curve)), "key 0: crv is not P-256") << curve;
  }
  for (const auto& [bad_x, bad_y] :
       std::vector<std::pair<std::string, std::string>>{{x, ""},
                                                        {"", y},
                                                        {"", ""},
                                                        {x + "=", y},
                                                        {x, y + "A"},
                                                        {x.substr(0, 42), y},
                                                        {Base64Url(std::string(33, '\1')), y},
                                                        {Base64Url(std::string(31, '\1')), y},
                                                        {x, " " + y}}) {
    EXPECT_EQ(Refusal(EcJwk(bad_x, bad_y)), "key 0: x or y is not 32 bytes in canonical base64url");
  }
  const std::string zero = Base64Url(std::string(32, '\0'));
  const std::string most = Base64Url(std::string(32, '\xff'));
  for (const auto& [bad_x, bad_y] : std::vector<std::pair<std::string, std::string>>{
           {x, x}, {y, x}, {x, EcKey().y()}, {zero, zero}, {most, most}, {x, most}, {zero, most}}) {
    EXPECT_EQ(Refusal(EcJwk(bad_x, bad_y)), "key 0: x and y are not a point on P-256");
  }
}

TEST(TokenKeySetTest, RefusesTooLargeAndMalformedSets) {
  const std::string key = EcKey().Jwk();
  for (const char* json : {R"({"keys":{}})", "{}", R"({"keys":null})", R"({"Keys":[]})"}) {
    EXPECT_EQ(SetFault(json), "the key set has no list of keys");
  }
  EXPECT_EQ(SetFault(R"({"keys":[]})"), "the key set has no key that can be used");
  for (const std::string& json : {std::string(), std::string("[]"), std::string("<html>"), JwksOf({key}) + "x",
                                  absl::StrCat(R"({"keys":[)", key, R"(],"keys":[]})"),
                                  JwksOf({EcKey().Jwk(R"("kid":"a","kid":"a")")}), JwksOf({key, ""})}) {
    EXPECT_NE(SetFault(json), "") << json;
  }
  EXPECT_EQ(SetFault(JwksOf(std::vector<std::string>(64, key))), "");
  EXPECT_EQ(SetFault(JwksOf(std::vector<std::string>(65, key))), "the key set has too many keys");
  const std::string set = JwksOf({key});
  EXPECT_EQ(SetFault(set + std::string((64 << 10) - set.size(), ' ')), "");
  EXPECT_EQ(SetFault(set + std::string((64 << 10) - set.size() + 1, ' ')), "the key set is too large");
}

TEST(TokenKeySetTest, AnyTextIsParsedOrRefused) {
  static constexpr absl::string_view kPieces = "{}[]\",:\\AQ_-=019 \x80\xff";
  const std::string good = JwksOf({RsaKey().Jwk(R"("kid":"r","alg":"RS256")"), EcKey().Jwk(R"("key_ops":["verify"])")});
  std::mt19937 random(5);
  int read = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string json = good;
    for (size_t left = 1 + random() % 3; left > 0; --left) {
      const size_t at = random() % json.size();
      if (random() % 2 == 0) {
        json[at] = kPieces[random() % kPieces.size()];
      } else {
        json.erase(at, 1 + random() % 8);
      }
    }
    const absl::StatusOr<TokenKeySet> set = TokenKeySet::Parse(json);
    EXPECT_TRUE(set.ok() || absl::IsInvalidArgument(set.status()));
    if (set.ok()) ++read;
  }
  EXPECT_GT(read, 100);
}

TEST(TokenKeySetTest, AnErrorQuotesNoPartOfTheKeySet) {
  const absl::StatusOr<TokenKeySet> set =
      TokenKeySet::Parse(JwksOf({EcKey().Jwk(), EcKey().Jwk(R"("alg":"CANARY")"), R"({"kty":"CANARY"})",
                                 EcKey().Jwk(R"("kid":"CANARY CANARY")"), EcKey().Jwk(R"("use":"CANARY")")}));
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_THAT(set->refused(), ElementsAre("key 1: alg does not match kty", "key 2: kty is neither RSA nor EC",
                                          "key 3: kid is not 1 to 128 visible ASCII characters",
                                          "key 4: use is neither sig nor jwt-svid"));
}

}  // namespace
}  // namespace stampgate
