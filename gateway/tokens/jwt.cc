#include "gateway/tokens/jwt.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status_macros.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/json/base64url.h"
#include "base/json/reader.h"

namespace stampgate {
namespace {

constexpr size_t kMaxKeyIdBytes = 128;

absl::Status Refuse(absl::string_view why) { return absl::UnauthenticatedError(why); }

absl::Status NoToken() { return Refuse("the token is not a JSON Web Token"); }

absl::Status BadClaim(absl::string_view name) {
  return Refuse(absl::StrCat("the token's claim ", name, " is missing or malformed"));
}

std::optional<std::string> TextOf(const JsonValue& value) {
  if (value.kind() != JsonValue::Kind::kString || !value.string().has_value()) return std::nullopt;
  return std::string(*value.string());
}

// Calls ReadJsonObject. If `text` is not valid JSON, replaces the error by NoToken().
absl::Status ReadObject(std::string& text, JsonValue::OnMember on_member) {
  const absl::Status status = ReadJsonObject(text, [&](JsonValue& root) { return root.ForEachMember(on_member); });
  return status.ok() || absl::IsUnauthenticated(status) ? status : NoToken();
}

// Returns whether a header with a member of this name is refused. Each refused member would make a verifier use keys or
// rules that are not in the verifier's config.
bool IsRefusedMember(absl::string_view name) {
  constexpr absl::string_view kRefused[] = {"jku", "x5u", "jwk", "x5c", "crit", "b64", "zip"};
  return absl::c_linear_search(kRefused, name);
}

// Returns whether the gateway accepts a token of this media type: "JWT" (RFC 7519), "JOSE" (RFC 7515, JWT-SVID) or
// "at+jwt" (RFC 9068), each with or without "application/", in upper or lower case (RFC 7515, section 4.1.9).
bool IsAcceptedType(absl::string_view type) {
  constexpr absl::string_view kPrefix = "application/";
  if (absl::StartsWithIgnoreCase(type, kPrefix)) type.remove_prefix(kPrefix.size());
  constexpr absl::string_view kAccepted[] = {"JWT", "JOSE", "at+jwt"};
  return absl::c_any_of(kAccepted, [type](absl::string_view one) { return absl::EqualsIgnoreCase(type, one); });
}

absl::Status ReadHeader(std::string header, SignedToken& token) {
  bool has_algorithm = false;
  const absl::Status status = ReadObject(header, [&](absl::string_view name, JsonValue& value) -> absl::Status {
    if (IsRefusedMember(name)) return Refuse("the token's header has a member that is refused");
    const std::optional<std::string> text = TextOf(value);
    if (name == "alg") {
      has_algorithm = true;
      if (text != "RS256" && text != "ES256") return Refuse("the token's algorithm is missing or not allowed");
      token.algorithm = text == "RS256" ? TokenAlgorithm::kRs256 : TokenAlgorithm::kEs256;
    } else if (name == "kid") {
      if (!text.has_value() || !IsTokenKeyId(*text)) return Refuse("the token's key id is malformed");
      token.key_id = *text;
    } else if (name == "typ") {
      if (!text.has_value() || !IsAcceptedType(*text)) return Refuse("the token is of another type");
    }
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return has_algorithm ? absl::OkStatus() : Refuse("the token's algorithm is missing or not allowed");
}

// Parses a NumericDate: a number of seconds since 1970, with or without a fraction. Returns nothing for a date before
// 1970 or after the year 9999.
std::optional<absl::Time> TimeOf(const JsonValue& value) {
  constexpr double kLast = 253402300799;
  double seconds = 0;
  if (value.kind() != JsonValue::Kind::kNumber || !absl::SimpleAtod(value.number(), &seconds)) return std::nullopt;
  if (!(seconds >= 0 && seconds <= kLast)) return std::nullopt;
  return absl::UnixEpoch() + absl::Seconds(seconds);
}

absl::Status ReadAudiences(JsonValue& value, std::vector<std::string>& audiences) {
  const auto add = [&](const JsonValue& one) {
    std::optional<std::string> text = TextOf(one);
    if (!text.has_value()) return BadClaim("aud");
    audiences.push_back(*std::move(text));
    return absl::OkStatus();
  };
  if (value.kind() != JsonValue::Kind::kArray) return add(value);
  return value.ForEachElement([&](size_t, JsonValue& element) { return add(element); });
}

}  // namespace

bool IsTokenKeyId(absl::string_view text) {
  return !text.empty() && text.size() <= kMaxKeyIdBytes &&
         absl::c_all_of(text, [](char c) { return absl::ascii_isgraph(static_cast<unsigned char>(c)); });
}

absl::StatusOr<SignedToken> ReadSignedToken(absl::string_view token) {
  if (token.size() > kMaxTokenBytes) return Refuse("the token is too long");
  const std::vector<absl::string_view> parts = absl::StrSplit(token, '.');
  if (parts.size() != 3) return NoToken();
  std::optional<std::string> header = DecodeBase64Url(parts[0]);
  std::optional<std::string> payload = DecodeBase64Url(parts[1]);
  std::optional<std::string> signature = DecodeBase64Url(parts[2]);
  if (!header.has_value() || !payload.has_value() || !signature.has_value()) return NoToken();
  SignedToken read;
  ABSL_RETURN_IF_ERROR(ReadHeader(*std::move(header), read));
  read.signed_text = std::string(token.substr(0, parts[0].size() + 1 + parts[1].size()));
  read.signature = *std::move(signature);
  read.payload = *std::move(payload);
  return read;
}

absl::StatusOr<TokenClaims> ReadTokenClaims(std::string payload) {
  TokenClaims claims;
  std::optional<std::string> issuer;
  std::optional<std::string> subject;
  std::optional<absl::Time> expires;
  const absl::Status status = ReadObject(payload, [&](absl::string_view name, JsonValue& value) -> absl::Status {
    if (name == "iss") {
      issuer = TextOf(value);
    } else if (name == "sub") {
      subject = TextOf(value);
    } else if (name == "aud") {
      return ReadAudiences(value, claims.audiences);
    } else if (name == "exp") {
      expires = TimeOf(value);
    } else if (name == "nbf") {
      claims.not_before = TimeOf(value);
      if (!claims.not_before.has_value()) return BadClaim("nbf");
    } else if (name == "iat") {
      // RFC 7519 gives "iat" no effect: a token of an issuer whose clock is ahead is valid from "nbf".
      if (!TimeOf(value).has_value()) return BadClaim("iat");
    }
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  if (!issuer.has_value()) return BadClaim("iss");
  if (!subject.has_value() || subject->empty() || subject->size() > kMaxSubjectBytes) return BadClaim("sub");
  if (!expires.has_value()) return BadClaim("exp");
  if (claims.audiences.empty()) return BadClaim("aud");
  claims.issuer = *std::move(issuer);
  claims.subject = *std::move(subject);
  claims.expires = *expires;
  return claims;
}

absl::Status CheckTokenClaims(const TokenClaims& claims, absl::Span<const std::string> audiences, absl::Time now) {
  if (absl::c_none_of(claims.audiences,
                      [&](const std::string& one) { return absl::c_linear_search(audiences, one); })) {
    return Refuse("the token is not for this audience");
  }
  if (now >= claims.expires + kTokenLeeway) return Refuse("the token has expired");
  if (claims.not_before.value_or(now) > now + kTokenLeeway) return Refuse("the token is not valid yet");
  return absl::OkStatus();
}

}  // namespace stampgate
