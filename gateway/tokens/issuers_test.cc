#include "gateway/tokens/issuers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/hmac.h>
#include <openssl/rsa.h>

#include <cstdint>
#include <deque>
#include <random>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gateway/tokens/testing.h"

namespace stampgate {
namespace {

using ::testing::Each;
using OnAnswer = absl::AnyInvocable<void(absl::StatusOr<KeySetAnswer>)>;

constexpr char kNoKeys[] = "UNAVAILABLE: the keys of the token's issuer are not available";
constexpr char kUnknownKey[] = "UNAUTHENTICATED: the token's key is not known";

// The fixture has two issuers, one thread and a clock. The issuer "file" has its keys from the start. The keys of the
// issuer "net" are fetched, and the test plays the server that returns them.
class TokenIssuersTest : public testing::Test {
 protected:
  TokenIssuersTest() {
    FetchedTokenKeys::Options options;
    options.now = [this] { return now_; };
    net_ = std::make_shared<FetchedTokenKeys>(std::move(options), [this](OnAnswer on_answer) {
      ++fetches_;
      pending_.push_back(std::move(on_answer));
    });
    absl::StatusOr<TokenKeySet> set =
        TokenKeySet::Parse(JwksOf({Rsa().Jwk(R"("kid":"rsa")"), Ec().Jwk(R"("kid":"ec")")}));
    std::vector<TokenIssuerRule> rules = {
        {"file", "https://file", {"gate", "other gate"}, MakeFixedTokenKeys(*std::move(set))},
        {"net", "https://net", {"gate"}, net_},
    };
    issuers_ = std::make_unique<TokenIssuers>(std::move(rules), [this] { return now_; });
  }

  static const TestTokenKey& Rsa() {
    static const TestTokenKey key("RSA");
    return key;
  }
  static const TestTokenKey& Ec() {
    static const TestTokenKey key("P-256");
    return key;
  }
  static const TestTokenKey& NewEc() {
    static const TestTokenKey key("P-256");
    return key;
  }

  std::string Claims(absl::string_view issuer = "https://file", absl::string_view audience = "gate",
                     absl::Duration lifetime = absl::Hours(1)) const {
    return absl::StrCat(R"({"iss":")", issuer, R"(","sub":"someone","aud":")", audience, R"(","exp":)",
                        absl::ToUnixSeconds(now_ + lifetime), "}");
  }

  std::string NetToken(const TestTokenKey& key, absl::string_view key_id) const {
    return key.Token(absl::StrCat(R"({"alg":"ES256","kid":")", key_id, R"("})"), Claims("https://net"));
  }

  // Verifies `token`. Returns a string with the outcome: the verified identity, such as "net/someone", or the error.
  // The string is empty until the verification has ended. The reference stays valid until the test ends.
  const std::string& Verify(absl::string_view token) {
    std::string& outcome = outcomes_.emplace_back();
    issuers_->Verify(token, [&outcome](const absl::StatusOr<VerifiedToken>& verified) {
      EXPECT_EQ(outcome, "") << "Verify has called back twice";
      outcome = verified.ok() ? absl::StrCat(verified->issuer, "/", verified->subject) : verified.status().ToString();
    });
    return outcome;
  }

  void Answer(absl::StatusOr<KeySetAnswer> answer) {
    ASSERT_FALSE(pending_.empty());
    OnAnswer on_answer = std::move(pending_.front());
    pending_.pop_front();
    on_answer(std::move(answer));
  }

  static KeySetAnswer Keys(const std::vector<std::string>& keys) {
    return {JwksOf(keys), "max-age=3600", absl::ZeroDuration()};
  }

  absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
  int fetches_ = 0;
  std::deque<OnAnswer> pending_;
  std::deque<std::string> outcomes_;
  std::shared_ptr<FetchedTokenKeys> net_;
  std::unique_ptr<TokenIssuers> issuers_;
};

TEST_F(TokenIssuersTest, AcceptsGenuineTokens) {
  EXPECT_EQ(Verify(Rsa().Token(R"({"alg":"RS256","kid":"rsa"})", Claims())), "file/someone");
  EXPECT_EQ(Verify(Ec().Token(R"({"alg":"ES256","kid":"ec","typ":"JWT"})", Claims())), "file/someone");
  EXPECT_EQ(Verify(Ec().Token(R"({"alg":"ES256"})", Claims("https://file", "other gate"))), "file/someone");
  EXPECT_EQ(fetches_, 0);
}

TEST_F(TokenIssuersTest, ReturnsWhenATokenBecomesInvalid) {
  absl::Time until;
  const auto on_verified = [&until](const absl::StatusOr<VerifiedToken>& verified) {
    if (verified.ok()) until = verified->until;
  };
  const std::string token = Ec().Token(R"({"alg":"ES256"})", Claims("https://file", "gate", absl::Minutes(5)));
  issuers_->Verify(token, on_verified);
  EXPECT_EQ(until, now_ + absl::Minutes(5) + absl::Seconds(30));
  now_ = until - absl::Nanoseconds(1);
  EXPECT_EQ(Verify(token), "file/someone");
  now_ = until;
  EXPECT_EQ(Verify(token), "UNAUTHENTICATED: the token has expired");
}

TEST_F(TokenIssuersTest, RefusesATokenThatTheIssuerHasNotSigned) {
  const std::string rsa = R"({"alg":"RS256","kid":"rsa"})";
  const std::string ec = R"({"alg":"ES256","kid":"ec"})";
  constexpr char kWrong[] = "UNAUTHENTICATED: the token's signature is wrong";
  const auto with_signature = [&](const std::string& header, const std::string& signature) {
    return absl::StrCat(Base64Url(header), ".", Base64Url(Claims()), ".", Base64Url(signature));
  };
  const auto text = [&](const std::string& header) {
    return absl::StrCat(Base64Url(header), ".", Base64Url(Claims()));
  };
  EXPECT_EQ(Verify(with_signature(ec, Ec().Sign(text(ec)))), "file/someone");
  EXPECT_EQ(Verify(NewEc().Token(ec, Claims())), kWrong);
  EXPECT_EQ(Verify(with_signature(ec, "")), kWrong);
  EXPECT_EQ(Verify(with_signature(ec, Ec().SignDer(text(ec)))), kWrong);
  EXPECT_EQ(Verify(with_signature(ec, Ec().Sign(text(ec)).substr(0, 63))), kWrong);
  EXPECT_EQ(Verify(with_signature(ec, std::string(64, '\0'))), kWrong);
  EXPECT_EQ(Verify(with_signature(ec, Rsa().Sign(text(ec)))), kWrong);
  EXPECT_EQ(Verify(with_signature(rsa, "")), kWrong);
  EXPECT_EQ(Verify(with_signature(rsa, Ec().Sign(text(rsa)))), kWrong);
  EXPECT_EQ(Verify(with_signature(rsa, Rsa().Sign(text(rsa), EVP_sha384()))), kWrong);
  EXPECT_EQ(Verify(with_signature(rsa, Rsa().Sign(text(rsa), EVP_sha256(), RSA_PKCS1_PSS_PADDING))), kWrong);
  EXPECT_EQ(Verify(with_signature(rsa, Rsa().Sign(text(ec)))), kWrong) << "the header is signed too";
}

// Everybody knows the public key. If a verifier used the public key as the secret of an HMAC, it would accept tokens
// that anybody has created.
TEST_F(TokenIssuersTest, NeverUsesAPublicKeyAsAnHmacSecret) {
  for (const TestTokenKey* key : {&Rsa(), &Ec()}) {
    for (const std::string& secret : {key->Pem(), key->Jwk(), key->n(), key->x()}) {
      for (const char* algorithm : {"HS256", "RS256", "ES256"}) {
        const std::string text = absl::StrCat(Base64Url(absl::StrCat(R"({"alg":")", algorithm, R"(","kid":"rsa"})")),
                                              ".", Base64Url(Claims()));
        uint8_t mac[EVP_MAX_MD_SIZE];
        unsigned size = 0;
        HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
             reinterpret_cast<const uint8_t*>(text.data()), text.size(), mac, &size);
        const std::string token =
            absl::StrCat(text, ".", Base64Url(absl::string_view(reinterpret_cast<const char*>(mac), size)));
        EXPECT_TRUE(absl::StartsWith(Verify(token), "UNAUTHENTICATED: ")) << algorithm;
      }
    }
  }
}

TEST_F(TokenIssuersTest, RefusesATokenWhoseKeyBelongsToAnotherAlgorithm) {
  EXPECT_EQ(Verify(Ec().Token(R"({"alg":"ES256","kid":"rsa"})", Claims())), kUnknownKey);
  EXPECT_EQ(Verify(Rsa().Token(R"({"alg":"RS256","kid":"ec"})", Claims())), kUnknownKey);
  EXPECT_EQ(Verify(Ec().Token(R"({"alg":"ES256","kid":"other"})", Claims())), kUnknownKey);
}

TEST_F(TokenIssuersTest, NamesTheRuleThatAClaimBreaks) {
  const std::string header = R"({"alg":"ES256"})";
  struct {
    std::string claims;
    const char* why;
  } const cases[] = {
      {Claims("https://file", "gate", -absl::Seconds(29)), "file/someone"},
      {Claims("https://file", "gate", -absl::Seconds(30)), "UNAUTHENTICATED: the token has expired"},
      {Claims("https://file", "elsewhere"), "UNAUTHENTICATED: the token is not for this audience"},
      {Claims("https://elsewhere"), "UNAUTHENTICATED: the token's issuer is not known"},
      {Claims("https://file/"), "UNAUTHENTICATED: the token's issuer is not known"},
      {Claims("file"), "UNAUTHENTICATED: the token's issuer is not known"},
      {"{}", "UNAUTHENTICATED: the token's claim iss is missing or malformed"},
      {"[]", "UNAUTHENTICATED: the token is not a JSON Web Token"},
  };
  for (const auto& one : cases) EXPECT_EQ(Verify(Ec().Token(header, one.claims)), one.why);
  EXPECT_EQ(Verify("a static token"), "UNAUTHENTICATED: the token is not a JSON Web Token");
  EXPECT_EQ(Verify(std::string(9 << 10, 'x')), "UNAUTHENTICATED: the token is too long");
}

TEST_F(TokenIssuersTest, AnErrorQuotesNoPartOfTheToken) {
  const std::string canary = "CANARY-in-a-token";
  const auto claims = [&](const char* name) { return absl::StrCat(R"({")", name, R"(":")", canary, R"("})"); };
  for (const std::string& token :
       {canary, absl::StrCat(canary, ".", canary, ".", canary), Ec().Token(R"({"alg":"ES256"})", Claims(canary)),
        Ec().Token(R"({"alg":"ES256"})", Claims("https://file", canary)), Ec().Token(claims("alg"), Claims()),
        Ec().Token(claims("jku"), Claims()), Ec().Token(claims("typ"), Claims()),
        Ec().Token(R"({"alg":"ES256"})", claims("exp")), Ec().Token(R"({"alg":"ES256"})", canary),
        Ec().Token(absl::StrCat(R"({"alg":"ES256","kid":")", canary, R"("})"), Claims())}) {
    const std::string& outcome = Verify(token);
    EXPECT_TRUE(absl::StartsWith(outcome, "UNAUTHENTICATED: the token")) << outcome;
    EXPECT_FALSE(absl::StrContains(outcome, canary));
  }
}

TEST_F(TokenIssuersTest, FetchesKeysForTheFirstToken) {
  EXPECT_EQ(fetches_, 0);
  const std::string& first = Verify(NetToken(Ec(), "a"));
  const std::string& second = Verify(NetToken(Ec(), "a"));
  EXPECT_EQ(first + second, "");
  EXPECT_EQ(fetches_, 1);
  Answer(Keys({Ec().Jwk(R"("kid":"a")")}));
  EXPECT_EQ(first, "net/someone");
  EXPECT_EQ(second, "net/someone");
  EXPECT_EQ(Verify(NetToken(Ec(), "a")), "net/someone");
  EXPECT_EQ(fetches_, 1);
}

TEST_F(TokenIssuersTest, UsesTheKeysOfAnIssuerOnlyForItsTokens) {
  Verify(NetToken(Ec(), "a"));
  Answer(Keys({NewEc().Jwk(R"("kid":"ec")")}));
  EXPECT_EQ(Verify(NewEc().Token(R"({"alg":"ES256","kid":"ec"})", Claims("https://net"))), "net/someone");
  EXPECT_EQ(Verify(NewEc().Token(R"({"alg":"ES256","kid":"ec"})", Claims("https://file"))),
            "UNAUTHENTICATED: the token's signature is wrong");
  EXPECT_EQ(Verify(Ec().Token(R"({"alg":"ES256","kid":"ec"})", Claims("https://net"))),
            "UNAUTHENTICATED: the token's signature is wrong");
}

TEST_F(TokenIssuersTest, FetchesARotatedKey) {
  Verify(NetToken(Ec(), "a"));
  Answer(Keys({Ec().Jwk(R"("kid":"a")")}));
  now_ += absl::Seconds(10);
  const std::string& rotated = Verify(NetToken(NewEc(), "b"));
  EXPECT_EQ(rotated, "");
  EXPECT_EQ(Verify(NetToken(Ec(), "a")), "net/someone") << "for a known key, Verify does not wait for the fetch";
  Answer(Keys({NewEc().Jwk(R"("kid":"b")")}));
  EXPECT_EQ(rotated, "net/someone");
  EXPECT_EQ(Verify(NetToken(Ec(), "a")), kUnknownKey) << "the new set does not contain the old key";
}

TEST_F(TokenIssuersTest, FetchesAtMostEveryTenSecondsForUnknownKeys) {
  Verify(NetToken(Ec(), "a"));
  Answer(Keys({Ec().Jwk(R"("kid":"a")")}));
  for (int i = 0; i < 1000; ++i) {
    Verify(NetToken(Ec(), absl::StrCat("unknown-", i)));
    if (!pending_.empty()) Answer(Keys({Ec().Jwk(R"("kid":"a")")}));
    now_ += absl::Milliseconds(100);
  }
  EXPECT_EQ(fetches_, 10) << "one fetch in ten seconds, for a hundred seconds";
  outcomes_.pop_front();
  EXPECT_THAT(outcomes_, Each(kUnknownKey));
}

TEST_F(TokenIssuersTest, UsesOldKeysForADayWhileFetchesFail) {
  Verify(NetToken(Ec(), "a"));
  Answer(Keys({Ec().Jwk(R"("kid":"a")")}));
  const absl::Time received = now_;
  now_ = received + absl::Hours(1 + 24) - absl::Seconds(1);
  const std::string& first = Verify(NetToken(Ec(), "a"));
  Answer(absl::UnavailableError("no route"));
  EXPECT_EQ(first, "net/someone");
  EXPECT_EQ(Verify(NetToken(Ec(), "a")), "net/someone");
  EXPECT_EQ(Verify(NetToken(NewEc(), "b")), kNoKeys) << "the key may be new, so it cannot be refused as unknown";
  now_ = received + absl::Hours(1 + 24);
  EXPECT_EQ(Verify(NetToken(Ec(), "a")), kNoKeys);
  now_ += absl::Seconds(10);
  const std::string& waiting = Verify(NetToken(Ec(), "a"));
  EXPECT_EQ(waiting, "");
  Answer(Keys({Ec().Jwk(R"("kid":"a")")}));
  EXPECT_EQ(waiting, "net/someone");
}

TEST_F(TokenIssuersTest, DoesNotUseAWithdrawnKeyWhileAnExpiredSetIsFetched) {
  Verify(NetToken(Ec(), "a"));
  Answer(Keys({Ec().Jwk(R"("kid":"a")"), NewEc().Jwk(R"("kid":"b")")}));
  now_ += absl::Hours(1);
  const std::string& withdrawn = Verify(NetToken(Ec(), "a"));
  const std::string& known = Verify(NetToken(NewEc(), "b"));
  EXPECT_EQ(absl::StrCat(withdrawn, known), "");
  Answer(Keys({NewEc().Jwk(R"("kid":"b")")}));
  EXPECT_EQ(withdrawn, kUnknownKey);
  EXPECT_EQ(known, "net/someone");
}

TEST_F(TokenIssuersTest, ReportsThatAnIssuerHasNoKeysYet) {
  const std::string& first = Verify(NetToken(Ec(), "a"));
  Answer(KeySetAnswer{"<html>", "", absl::ZeroDuration()});
  EXPECT_EQ(first, kNoKeys);
  EXPECT_EQ(Verify(NetToken(Ec(), "a")), kNoKeys) << "too soon to fetch again";
  EXPECT_EQ(fetches_, 1);
  EXPECT_EQ(Verify(Ec().Token(R"({"alg":"ES256"})", Claims())), "file/someone") << "other issuers still work";
}

// A token may expire while the keys are fetched.
TEST_F(TokenIssuersTest, ChecksTheTimesAfterTheKeysAreFetched) {
  const std::string& outcome = Verify(NetToken(Ec(), "a"));
  now_ += absl::Hours(2);
  Answer(Keys({Ec().Jwk(R"("kid":"a")")}));
  EXPECT_EQ(outcome, "UNAUTHENTICATED: the token has expired");
}

TEST_F(TokenIssuersTest, MayBeDestroyedBeforeItsKeysAreFetched) {
  const std::string& answered = Verify(NetToken(Ec(), "a"));
  issuers_.reset();
  Answer(Keys({Ec().Jwk(R"("kid":"a")")}));
  EXPECT_EQ(answered, "net/someone");
}

TEST_F(TokenIssuersTest, CloseEndsTheCallsThatWaitForKeys) {
  const std::string& waiting = Verify(NetToken(Ec(), "a"));
  net_->Close();
  EXPECT_EQ(waiting, kNoKeys);
  now_ += absl::Minutes(1);
  EXPECT_EQ(Verify(NetToken(Ec(), "a")), kNoKeys);
  EXPECT_EQ(fetches_, 1);
  Answer(Keys({Ec().Jwk(R"("kid":"a")")}));
}

// Changes, adds or removes one character, or swaps two characters.
std::string Mutate(std::string token, std::mt19937& random) {
  static constexpr absl::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ ";
  const size_t at = random() % token.size();
  const char any = random() % 16 == 0 ? static_cast<char>(random()) : kAlphabet[random() % kAlphabet.size()];
  switch (random() % 5) {
    case 0:
      token.erase(at, 1);
      break;
    case 1:
      token.insert(at, 1, any);
      break;
    case 2:
      std::swap(token[at], token[random() % token.size()]);
      break;
    default:
      token[at] = any;
  }
  return token;
}

TEST_F(TokenIssuersTest, RefusesEveryMutatedToken) {
  constexpr int kMutations = 100'000;
  const std::string genuine[] = {Rsa().Token(R"({"alg":"RS256","kid":"rsa"})", Claims()),
                                 Ec().Token(R"({"alg":"ES256","kid":"ec"})", Claims())};
  std::mt19937 random(20240607);
  std::set<std::string> outcomes;
  int mutated = 0;
  while (mutated < kMutations) {
    const std::string& token = genuine[mutated % 2];
    const std::string other = Mutate(token, random);
    if (other == token) continue;
    ++mutated;
    issuers_->Verify(other, [&](const absl::StatusOr<VerifiedToken>& verified) {
      EXPECT_TRUE(absl::IsUnauthenticated(verified.status())) << verified.status() << "\n" << token << "\n" << other;
      outcomes.insert(std::string(verified.status().message()));
    });
  }
  // The mutations break several different rules.
  EXPECT_GE(outcomes.size(), 5u);
  EXPECT_EQ(outcomes.count("the token's signature is wrong"), 1u);
}

}  // namespace
}  // namespace stampgate
