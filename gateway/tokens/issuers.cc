#include "gateway/tokens/issuers.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/status_macros.h"
#include "gateway/tokens/jwt.h"

namespace stampgate {
namespace {

absl::StatusOr<VerifiedToken> Check(const TokenIssuerRule& rule, const TokenKey& key, const SignedToken& token,
                                    TokenClaims claims, absl::Time now) {
  if (!key.Verifies(token.signed_text, token.signature)) {
    return absl::UnauthenticatedError("the token's signature is wrong");
  }
  ABSL_RETURN_IF_ERROR(CheckTokenClaims(claims, rule.audiences, now));
  return VerifiedToken{rule.name, std::move(claims.subject), claims.expires + kTokenLeeway};
}

}  // namespace

TokenIssuers::TokenIssuers(std::vector<TokenIssuerRule> rules, std::function<absl::Time()> now)
    : rules_(std::make_shared<const std::vector<TokenIssuerRule>>(std::move(rules))), now_(std::move(now)) {}

void TokenIssuers::Verify(absl::string_view token, absl::AnyInvocable<void(absl::StatusOr<VerifiedToken>)> done) {
  absl::StatusOr<SignedToken> read = ReadSignedToken(token);
  if (!read.ok()) return done(read.status());
  absl::StatusOr<TokenClaims> claims = ReadTokenClaims(std::move(read->payload));
  if (!claims.ok()) return done(claims.status());
  const auto rule = absl::c_find_if(*rules_, [&](const auto& one) { return one.issuer == claims->issuer; });
  if (rule == rules_->end()) return done(absl::UnauthenticatedError("the token's issuer is not known"));
  const TokenAlgorithm algorithm = read->algorithm;
  const std::optional<std::string> key_id = read->key_id;
  rule->keys->Find(algorithm, key_id,
                   [rules = rules_, rule = &*rule, now = now_, read = *std::move(read), claims = *std::move(claims),
                    done = std::move(done)](absl::StatusOr<TokenKey> key) mutable {
                     if (!key.ok()) return done(key.status());
                     done(Check(*rule, *key, read, std::move(claims), now()));
                   });
}

}  // namespace stampgate
