#include "translate/secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/json/reader.h"
#include "base/json/writer.h"
#include "translate/testing/messages.h"
#include "translate/testing/operations.h"
#include "translate/testing/parsed.h"
#include "translate/testing/testing.pb.h"

namespace stampgate {
namespace {

using ::stampgate::testing::OperationOf;
using ::stampgate::testing::RequestOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Strike(absl::string_view method, const std::string& request, absl::string_view text) {
  const Operation& operation = OperationOf(method);
  return Secrets(*testing::Parsed(operation, request)).Strike(text);
}

// Removes one secret, the value of a field inside a list, from `text`.
std::string Strike(const std::string& secret, absl::string_view text) {
  testing::Everything message;
  message.add_secrets(secret);
  return Secrets(*testing::Parsed(message)).Strike(text);
}

bool IsUtf8(absl::string_view text) {
  std::string json = "{\"text\":";
  AppendJsonString(text, json);
  return CheckJsonObject(json + "}").ok();
}

TEST(SecretsTest, AWholeSecretIsReplaced) {
  EXPECT_EQ(Strike("Oauth", R"pb(parameters { oidc_token: "eyJhbGciOiJFUzI1NiJ9" })pb",
                   "cannot decode oidc token 'eyJhbGciOiJFUzI1NiJ9' (bad eyJhbGciOiJFUzI1NiJ9)"),
            "cannot decode oidc token '[secret]' (bad [secret])");
}

TEST(SecretsTest, TheValueOfEverySecretFieldIsReplaced) {
  EXPECT_EQ(
      Strike("Oauth2Authenticate",
             R"pb(parameters { auth_code: "auth-code-1" code_verifier: "code-verifier-2" nonce: "nonce-nonce" })pb",
             "auth-code-1,code-verifier-2,nonce-nonce"),
      "[secret],[secret],nonce-nonce");
  EXPECT_EQ(Strike("VerifyOtp", R"pb(parameters { otp_id: "otp-id-otp-id" encrypted_otp_bundle: "bundle-bundle" })pb",
                   "otp-id-otp-id bundle-bundle"),
            "otp-id-otp-id [secret]");
  EXPECT_EQ(Strike("CreateOauth2Credential", R"pb(parameters { encrypted_client_secret: "client-secret" })pb",
                   "<client-secret>"),
            "<[secret]>");
  EXPECT_EQ(Strike("CreateOauthProviders",
                   R"pb(parameters {
                          oauth_providers { provider_name: "a" oidc_token: "token-one" }
                          oauth_providers { provider_name: "b" oidc_token: "token-two" }
                        })pb",
                   "providers token-two and token-one"),
            "providers [secret] and [secret]");
}

TEST(SecretsTest, TheBase64TextOfSecretBytesAndTheValuesOfASecretMapAreReplaced) {
  const auto message = testing::Proto<testing::Labeled>(R"pb(labels { key: "password" value: "correct horse" }
                                                             labels { key: "pin" value: "1234" }
                                                             data: "\373\377\376"
                                                             datas: "battery staple")pb");
  EXPECT_EQ(Secrets(*testing::Parsed(message))
                .Strike("password 'correct horse', pin 1234, data +//+, datas YmF0dGVyeSBzdGFwbGU="),
            "password '[secret]', pin [secret], data [secret], datas [secret]");
}

TEST(SecretsTest, APieceOfEightBytesOfASecretIsReplaced) {
  const std::string secret = "abcdefghijklmnopqrstuvwxyz";
  EXPECT_EQ(Strike(secret, "starts abcdefgh ends stuvwxyz"), "starts [secret] ends [secret]");
  EXPECT_EQ(Strike(secret, "part ghijklmnop..."), "part [secret]...");
  EXPECT_EQ(Strike(secret, "seven abcdefg and tuvwxyz"), "seven abcdefg and tuvwxyz");
  // Every part of the secret that has eight bytes or more is replaced completely.
  for (size_t begin = 0; begin + 8 <= secret.size(); ++begin) {
    for (size_t size = 8; begin + size <= secret.size(); ++size) {
      EXPECT_EQ(Strike(secret, absl::StrCat("<", secret.substr(begin, size), ">")), "<[secret]>");
    }
  }
}

TEST(SecretsTest, AShortSecretIsReplacedOnlyAsAWhole) {
  EXPECT_EQ(Strike("123456", "code 123456 is wrong, not 12345"), "code [secret] is wrong, not 12345");
  EXPECT_EQ(Strike("1234567", "11234567"), "1[secret]");
  EXPECT_EQ(Strike("aa", "aaa b aa"), "[secret] b [secret]");
  EXPECT_EQ(Strike("7", "17"), "1[secret]");
}

TEST(SecretsTest, AnEmptySecretReplacesNothing) {
  EXPECT_EQ(Strike("", "all is well"), "all is well");
  EXPECT_EQ(Strike("Oauth", "", "all is well"), "all is well");
}

TEST(SecretsTest, StringsAndLongNumbersInASecretJsonTextAreSecrets) {
  const std::string request = R"pb(
    parameters: "{\"contact\":\"user@example.com\",\"list\":[{\"deep\":\"deep-\\u0073ecret\"}],"
                "\"n\":12345678,\"count\":1234567,\"flag\":true,\"none\":null}"
  )pb";
  EXPECT_EQ(Strike("SubmitOperation", request, "contact user@example.com: deep-secret, n 12345678"),
            "contact [secret]: [secret], n [secret]");
  EXPECT_EQ(Strike("SubmitOperation", request, "list, deep, count 1234567, flag true, none null"),
            "list, deep, count 1234567, flag true, none null");
  EXPECT_EQ(Strike("QueryOperation", request, "no user@example.com"), "no [secret]");
}

TEST(SecretsTest, TextWithoutSecretsIsUnchanged) {
  const std::string request = R"pb(
    organization_id: "11111111-2222-4333-8444-555555555555"
    parameters {
      oidc_token: "ZXlKaGJHY2lPaUpGVXpJMU5pSjk"
      target_public_key: "041f1f1f1f1f1f1f"
      api_key_name: "my key"
    }
  )pb";
  const std::string text =
      "organization 11111111-2222-4333-8444-555555555555: target public key 041f1f1f1f1f1f1f of \"my key\" is not on "
      "the "
      "curve; é € 😀";
  EXPECT_EQ(Strike("Oauth", request, text), text);
  EXPECT_EQ(Strike("Oauth", request, ""), "");
}

TEST(SecretsTest, ACharacterIsReplacedWholeOrNotAtAll) {
  EXPECT_EQ(Strike("passwörtchen", "wrong: passwörtchen!"), "wrong: [secret]!");
  // The first eight bytes of this secret, "1234567é", end inside the é, with a byte that also begins the è of the text.
  // The whole è is replaced.
  const std::string secret = "1234567\xc3\xa9";
  EXPECT_EQ(Strike(secret, "1234567è."), "[secret].");
  testing::Random random(3);
  for (int i = 0; i < 2000; ++i) {
    std::string of_many;
    std::string text;
    for (int k = 0; k < 8; ++k) absl::StrAppend(&of_many, testing::RandomText(random));
    for (int k = 0; k < 8; ++k) absl::StrAppend(&text, testing::RandomText(random));
    const size_t begin = testing::Below(random, of_many.size() + 1);
    // A piece of the secret may begin and end inside a character.
    const std::string piece = of_many.substr(begin, testing::Below(random, 20));
    const std::string struck = Strike(of_many, IsUtf8(piece) ? text + piece + text : text);
    EXPECT_TRUE(IsUtf8(struck));
    for (size_t at = 0; at + 8 <= of_many.size(); ++at) {
      const std::string eight = of_many.substr(at, 8);
      EXPECT_THAT(struck, Not(HasSubstr(eight)));
    }
  }
}

TEST(SecretsTest, ALongTextIsTruncatedAtTheEndOfACharacter) {
  for (absl::string_view character : {"é", "€", "😀"}) {
    std::string text = "x";
    while (text.size() < 5000) absl::StrAppend(&text, character);
    const std::string struck = Strike("unrelated secret", text);
    EXPECT_LE(struck.size(), Secrets::kMaxTextBytes);
    EXPECT_GT(struck.size(), Secrets::kMaxTextBytes - 4);
    EXPECT_EQ(struck, text.substr(0, struck.size()));
    EXPECT_TRUE(IsUtf8(struck));
  }
}

TEST(SecretsTest, ARepetitiveTextTakesLinearTime) {
  // All pieces of the text and of the secret are equal. Comparing each piece of one with each piece of the other would
  // take 8e9 steps.
  const std::string secret(4 << 20, 'a');
  EXPECT_EQ(Strike(secret, std::string(4 << 20, 'a')), "[secret]");
  EXPECT_EQ(Strike(secret, absl::StrCat("b", std::string(100, 'a'), "b")), "b[secret]b");
  EXPECT_EQ(Strike(secret, std::string(7, 'a')), "aaaaaaa");
}

TEST(SecretsTest, ManySecretsTakeLinearTime) {
  // Comparing each secret with each other secret would take 1e8 steps.
  testing::Everything message;
  for (int i = 0; i < 10000; ++i) message.add_secrets(absl::StrCat("#", i));
  const testing::Parsed request(message);
  const Secrets secrets(*request);
  EXPECT_EQ(secrets.Strike("provider #9999 and #10000, and 4"), "provider [secret] and [secret]0, and 4");
}

}  // namespace
}  // namespace stampgate
