#include "stamp/client_stamp.h"

#include <array>
#include <map>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/status_macros.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/json/reader.h"

namespace stampgate {
namespace {

using Kind = ClientStamp::Kind;
using Members = std::map<std::string, std::string>;

struct Header {
  absl::string_view name;
  bool may_be_plain;  // the value may be the JSON itself instead of the base64url of the JSON
  std::vector<absl::string_view> members;
};

const Header& HeaderOf(Kind kind) {
  static const auto& headers = *new std::array<Header, 3>{
      Header{"X-Stamp", false, {"publicKey", "scheme", "signature"}},
      Header{"X-Stamp-WebAuthn", true, {"authenticatorData", "clientDataJson", "credentialId", "signature"}},
      Header{"X-Stamp-Attested", true, {"publicKey", "publicKeyAttestation", "scheme", "signature"}}};
  return headers[static_cast<size_t>(kind)];
}

absl::Status Must(absl::string_view what) { return absl::InvalidArgumentError(absl::StrCat("must ", what)); }

bool IsBase64url(absl::string_view text) {
  return !text.empty() && text.size() % 4 != 1 &&
         absl::c_all_of(text, [](unsigned char c) { return absl::ascii_isalnum(c) || c == '-' || c == '_'; });
}

bool IsHex(absl::string_view text) {
  return !text.empty() && text.size() % 2 == 0 && absl::c_all_of(text, absl::ascii_isxdigit);
}

// Returns true if `hex` has the length and the prefix of a point on a curve, compressed or uncompressed. Some clients
// send uncompressed points.
bool IsPoint(absl::string_view hex) {
  if (!IsHex(hex)) return false;
  if (hex.size() == 66) return absl::StartsWith(hex, "02") || absl::StartsWith(hex, "03");
  return hex.size() == 130 && absl::StartsWith(hex, "04");
}

// Returns true if `hex` can be the DER of two numbers of at most 32 bytes. Checks only the tag and the length, because
// some clients write superfluous leading zeros.
bool IsEcdsaSignature(absl::string_view hex) {
  return IsHex(hex) && absl::StartsWith(hex, "30") && hex.size() >= 16 && hex.size() <= 160;
}

bool IsToken(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, '.');
  return parts.size() == 3 && absl::c_all_of(parts, IsBase64url);
}

absl::Status CheckApiKey(const Members& stamp) {
  const std::string& scheme = stamp.at("scheme");
  if (scheme == "SIGNATURE_SCHEME_TK_API_ED25519") {
    if (!IsHex(stamp.at("publicKey")) || stamp.at("publicKey").size() != 64)
      return Must("have a publicKey of 64 hex digits");
    if (!IsHex(stamp.at("signature")) || stamp.at("signature").size() != 128) {
      return Must("have a signature of 128 hex digits");
    }
    return absl::OkStatus();
  }
  if (scheme != "SIGNATURE_SCHEME_TK_API_P256" && scheme != "SIGNATURE_SCHEME_TK_API_SECP256K1" &&
      scheme != "SIGNATURE_SCHEME_TK_API_SECP256K1_EIP191") {
    return Must("have the scheme of an API key or a wallet");
  }
  if (!IsPoint(stamp.at("publicKey"))) return Must("have a publicKey of 66 hex digits, or of 130");
  if (!IsEcdsaSignature(stamp.at("signature"))) return Must("have a signature in DER as hex digits");
  return absl::OkStatus();
}

absl::Status CheckWebAuthn(const Members& stamp) {
  for (const auto& [name, text] : stamp) {
    if (!IsBase64url(text)) return Must(absl::StrCat("have a ", name, " in base64url without padding"));
  }
  // Authenticator data begins with the hash of the relying party's id (32 bytes), the flags (1 byte) and the counter (4
  // bytes).
  constexpr size_t kMinAuthenticatorBytes = 37;
  std::string decoded;
  if (!absl::WebSafeBase64Unescape(stamp.at("authenticatorData"), &decoded) ||
      decoded.size() < kMinAuthenticatorBytes) {
    return Must("have authenticatorData of 37 bytes or more");
  }
  if (!absl::WebSafeBase64Unescape(stamp.at("clientDataJson"), &decoded) || !CheckJsonObject(decoded).ok()) {
    return Must("have a clientDataJson that is the base64url of a JSON object");
  }
  return absl::OkStatus();
}

absl::Status CheckAttested(const Members& stamp) {
  const std::string& scheme = stamp.at("scheme");
  if (scheme != "STAMP_ATTESTED_SCHEME_P256_VERIFICATION_TOKEN" && scheme != "STAMP_ATTESTED_SCHEME_P256_OIDC") {
    return Must("have the scheme of an attested key");
  }
  if (!IsToken(stamp.at("publicKeyAttestation"))) return Must("have a publicKeyAttestation that is a JSON Web Token");
  if (!IsPoint(stamp.at("publicKey"))) return Must("have a publicKey of 66 hex digits, or of 130");
  if (!IsEcdsaSignature(stamp.at("signature"))) return Must("have a signature in DER as hex digits");
  return absl::OkStatus();
}

// Reads the members of the stamp's JSON object. They must be exactly `header.members`, and all must be strings.
absl::StatusOr<Members> ReadMembers(const Header& header, absl::string_view value) {
  std::string json(value);
  if (!header.may_be_plain || !absl::StartsWith(value, "{")) {
    if (!IsBase64url(value) || !absl::WebSafeBase64Unescape(value, &json)) {
      return Must(absl::StrCat("be ", header.may_be_plain ? "a JSON object, or the " : "the ",
                               "base64url without padding of a JSON object"));
    }
  }
  Members members;
  bool all_texts = true;
  absl::Status status = ReadJsonObject(json, [&](JsonValue& root) {
    return root.ForEachMember([&](absl::string_view name, JsonValue& member) {
      const bool is_text = member.kind() == JsonValue::Kind::kString && member.string().has_value();
      members.emplace(std::string(name), is_text ? std::string(*member.string()) : std::string());
      all_texts = all_texts && is_text;
      return absl::OkStatus();
    });
  });
  if (!status.ok()) return Must(absl::StrCat("be the JSON text of an object: ", status.message()));
  if (!all_texts || !absl::c_equal(header.members, members,
                                   [](absl::string_view name, const auto& member) { return name == member.first; })) {
    return Must(absl::StrCat("have the strings ", absl::StrJoin(header.members, ", "), " as its only members"));
  }
  return members;
}

}  // namespace

absl::StatusOr<ClientStamp> ClientStamp::Read(Kind kind, std::string value) {
  const Header& header = HeaderOf(kind);
  if (value.empty()) return Must("not be empty");
  if (value.size() > kMaxClientStampBytes)
    return Must(absl::StrCat("be at most ", kMaxClientStampBytes, " bytes long"));
  if (!absl::c_all_of(value, absl::ascii_isprint) || value.back() == ' ') {
    return Must("be printable ASCII, and not end in a space");
  }
  ABSL_ASSIGN_OR_RETURN(Members members, ReadMembers(header, value));
  ABSL_RETURN_IF_ERROR(kind == Kind::kApiKey     ? CheckApiKey(members)
                       : kind == Kind::kWebAuthn ? CheckWebAuthn(members)
                                                 : CheckAttested(members));
  return ClientStamp(header.name, std::move(value));
}

StampedRequest ClientStamp::Stamp(std::string path, std::string body) const {
  return StampedRequest(std::move(path), std::move(body), std::string(name_), value_);
}

}  // namespace stampgate
