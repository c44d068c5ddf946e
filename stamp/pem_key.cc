#include "stamp/pem_key.h"

#include <sodium.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/secret/bytes.h"

namespace stampgate {
namespace {

// Returns all bytes of a string literal, including those after a NUL byte.
template <size_t kSize>
constexpr absl::string_view Bytes(const char (&literal)[kSize]) {
  return {literal, kSize - 1};
}

constexpr uint8_t kInteger = 0x02;
constexpr uint8_t kBitString = 0x03;
constexpr uint8_t kOctetString = 0x04;
constexpr uint8_t kObjectId = 0x06;
constexpr uint8_t kSequence = 0x30;
constexpr uint8_t kContext0 = 0xa0;           // in SEC1: the curve's parameters; in PKCS#8: attributes
constexpr uint8_t kContext1 = 0xa1;           // in SEC1: the public key, as a BIT STRING inside this element
constexpr uint8_t kContext1Primitive = 0x81;  // in PKCS#8: the public key; this element is the BIT STRING

constexpr absl::string_view kOidEcPublicKey = Bytes("\x2a\x86\x48\xce\x3d\x02\x01");
constexpr absl::string_view kOidP256 = Bytes("\x2a\x86\x48\xce\x3d\x03\x01\x07");
constexpr absl::string_view kOidSecp256k1 = Bytes("\x2b\x81\x04\x00\x0a");
constexpr absl::string_view kOidEd25519 = Bytes("\x2b\x65\x70");

absl::Status Refuse(absl::string_view rule) { return absl::InvalidArgumentError(rule); }
absl::Status BadDer() { return Refuse("its PEM block does not hold a well-formed private key"); }

// Reads one DER element after the other from a text. The results point into the text.
class DerReader {
 public:
  explicit DerReader(absl::string_view bytes) : rest_(bytes) {}

  bool AtEnd() const { return rest_.empty(); }

  // If the next element has the tag `tag`, and its length is valid DER with at most two length bytes, moves past the
  // element and returns its content. Otherwise returns nothing.
  std::optional<absl::string_view> Take(uint8_t tag) {
    if (rest_.size() < 2 || static_cast<uint8_t>(rest_[0]) != tag) return std::nullopt;
    size_t length = static_cast<uint8_t>(rest_[1]);
    size_t header = 2;
    if (length >= 0x80) {
      const size_t length_bytes = length - 0x80;
      if (length_bytes < 1 || length_bytes > 2 || rest_.size() < 2 + length_bytes) return std::nullopt;
      length = 0;
      for (; header < 2 + length_bytes; ++header) length = length << 8 | static_cast<uint8_t>(rest_[header]);
      if (length < (length_bytes == 1 ? 0x80 : 0x100)) return std::nullopt;
    }
    if (rest_.size() - header < length) return std::nullopt;
    absl::string_view content = rest_.substr(header, length);
    rest_.remove_prefix(header + length);
    return content;
  }

 private:
  absl::string_view rest_;
};

// The parts of a private key. The views point into the decoded PEM block.
struct KeyParts {
  std::optional<Curve> curve;
  absl::string_view scalar;
  absl::string_view public_key;  // empty if the block contains no public key
};

absl::StatusOr<Curve> CurveOfOid(absl::string_view oid) {
  if (oid == kOidP256) return Curve::kP256;
  if (oid == kOidSecp256k1) return Curve::kSecp256k1;
  return Refuse("its curve is none of P-256, secp256k1 and Ed25519");
}

// Returns the curve that `encoded`, the DER of ECParameters, names by its OBJECT IDENTIFIER. Rejects parameters that
// describe a curve without its name.
absl::StatusOr<Curve> CurveOfParameters(absl::string_view encoded) {
  DerReader reader(encoded);
  std::optional<absl::string_view> oid = reader.Take(kObjectId);
  if (!oid || !reader.AtEnd()) return Refuse("its curve is not given by name");
  return CurveOfOid(*oid);
}

// Sets `bytes` to the bits of a BIT STRING whose DER content is `content`. Returns false unless these bits are one or
// more whole bytes.
bool TakeBits(absl::string_view content, absl::string_view* bytes) {
  *bytes = content;
  return absl::ConsumePrefix(bytes, Bytes("\0")) && !bytes->empty();
}

// Reads the ECPrivateKey of RFC 5915 into `parts`. If `parts` already names a curve, the ECPrivateKey must not name
// another curve.
absl::Status ReadSec1(absl::string_view der, KeyParts* parts) {
  DerReader outer(der);
  std::optional<absl::string_view> sequence = outer.Take(kSequence);
  if (!sequence || !outer.AtEnd()) return BadDer();
  DerReader reader(*sequence);
  std::optional<absl::string_view> version = reader.Take(kInteger);
  std::optional<absl::string_view> scalar = reader.Take(kOctetString);
  if (!version || *version != Bytes("\1") || !scalar) return BadDer();
  parts->scalar = *scalar;
  if (std::optional<absl::string_view> parameters = reader.Take(kContext0)) {
    ABSL_ASSIGN_OR_RETURN(Curve curve, CurveOfParameters(*parameters));
    if (parts->curve.value_or(curve) != curve) return Refuse("it names two different curves");
    parts->curve = curve;
  }
  if (std::optional<absl::string_view> wrapped = reader.Take(kContext1)) {
    DerReader inner(*wrapped);
    std::optional<absl::string_view> bits = inner.Take(kBitString);
    if (!bits || !inner.AtEnd() || !TakeBits(*bits, &parts->public_key)) return BadDer();
  }
  return reader.AtEnd() ? absl::OkStatus() : BadDer();
}

// Reads the OneAsymmetricKey of RFC 5958 into `parts`. Version 0 of this structure is PKCS#8.
absl::Status ReadPkcs8(absl::string_view der, KeyParts* parts) {
  DerReader outer(der);
  std::optional<absl::string_view> sequence = outer.Take(kSequence);
  if (!sequence || !outer.AtEnd()) return BadDer();
  DerReader reader(*sequence);
  std::optional<absl::string_view> version = reader.Take(kInteger);
  std::optional<absl::string_view> algorithm = reader.Take(kSequence);
  std::optional<absl::string_view> key = reader.Take(kOctetString);
  if (!version || (*version != Bytes("\0") && *version != Bytes("\1")) || !algorithm || !key) return BadDer();
  reader.Take(kContext0);  // skips the attributes
  absl::string_view public_key;
  if (std::optional<absl::string_view> bits = reader.Take(kContext1Primitive)) {
    if (!TakeBits(*bits, &public_key)) return BadDer();
  }
  if (!reader.AtEnd()) return BadDer();

  DerReader algorithm_reader(*algorithm);
  std::optional<absl::string_view> oid = algorithm_reader.Take(kObjectId);
  if (!oid) return BadDer();
  if (*oid == kOidEd25519) {
    DerReader seed_reader(*key);
    std::optional<absl::string_view> seed = seed_reader.Take(kOctetString);
    if (!algorithm_reader.AtEnd() || !seed || !seed_reader.AtEnd()) return BadDer();
    *parts = {Curve::kEd25519, *seed, public_key};
    return absl::OkStatus();
  }
  if (*oid != kOidEcPublicKey) return Refuse("its curve is none of P-256, secp256k1 and Ed25519");
  std::optional<absl::string_view> curve_oid = algorithm_reader.Take(kObjectId);
  if (!curve_oid || !algorithm_reader.AtEnd()) return Refuse("its curve is not given by name");
  ABSL_ASSIGN_OR_RETURN(Curve curve, CurveOfOid(*curve_oid));
  parts->curve = curve;
  ABSL_RETURN_IF_ERROR(ReadSec1(*key, parts));
  if (parts->public_key.empty()) {
    parts->public_key = public_key;
  } else if (!public_key.empty() && public_key != parts->public_key) {
    return Refuse("its two public keys differ");
  }
  return absl::OkStatus();
}

bool ConsumeLineEnd(absl::string_view* text) {
  absl::ConsumePrefix(text, "\r");
  return absl::ConsumePrefix(text, "\n");
}

// If `text` begins with a PEM block with this label, removes the block from `text` and returns its base64. Otherwise
// returns nothing.
std::optional<absl::string_view> TakeBlock(absl::string_view label, absl::string_view* text) {
  absl::string_view rest = *text;
  if (!absl::ConsumePrefix(&rest, absl::StrCat("-----BEGIN ", label, "-----")) || !ConsumeLineEnd(&rest)) {
    return std::nullopt;
  }
  const size_t end = rest.find("-----");
  if (end == absl::string_view::npos) return std::nullopt;
  absl::string_view base64 = rest.substr(0, end);
  rest.remove_prefix(end);
  if (!absl::ConsumePrefix(&rest, absl::StrCat("-----END ", label, "-----"))) return std::nullopt;
  if (!rest.empty() && !ConsumeLineEnd(&rest)) return std::nullopt;
  *text = rest;
  return base64;
}

absl::StatusOr<SecretBytes> DecodeBase64(absl::string_view base64, size_t* size) {
  absl::StatusOr<SecretBytes> bytes = SecretBytes::Create(base64.size() / 4 * 3 + 3);
  if (!bytes.ok()) return bytes.status();
  // libsodium would accept and ignore NUL bytes in the base64.
  if (std::memchr(base64.data(), 0, base64.size()) != nullptr ||
      sodium_base642bin(bytes->data(), bytes->size(), base64.data(), base64.size(), "\r\n", size, nullptr,
                        sodium_base64_VARIANT_ORIGINAL) != 0) {
    return Refuse("its PEM block is not base64");
  }
  return bytes;
}

absl::Status ExplainNoBlock(absl::string_view text) {
  if (absl::StartsWith(text, "-----BEGIN ENCRYPTED PRIVATE KEY-----")) return Refuse("it is encrypted");
  if (absl::StartsWith(text, "-----BEGIN PUBLIC KEY-----")) return Refuse("it holds a public key, not a private one");
  if (absl::StartsWith(text, "-----BEGIN PRIVATE KEY-----") ||
      absl::StartsWith(text, "-----BEGIN EC PRIVATE KEY-----")) {
    return Refuse("its PEM block is incomplete, or its first or last line is malformed");
  }
  return Refuse("its PEM block has neither the label PRIVATE KEY nor EC PRIVATE KEY");
}

}  // namespace

absl::StatusOr<PrivateKey> ParsePemKey(absl::string_view text) {
  KeyParts parts;
  if (std::optional<absl::string_view> base64 = TakeBlock("EC PARAMETERS", &text)) {
    size_t size = 0;
    ABSL_ASSIGN_OR_RETURN(SecretBytes der, DecodeBase64(*base64, &size));
    ABSL_ASSIGN_OR_RETURN(Curve curve, CurveOfParameters(der.text().substr(0, size)));
    parts.curve = curve;
  }
  std::optional<absl::string_view> sec1 = TakeBlock("EC PRIVATE KEY", &text);
  std::optional<absl::string_view> pkcs8 = sec1 || parts.curve ? std::nullopt : TakeBlock("PRIVATE KEY", &text);
  if (!sec1 && !pkcs8) return ExplainNoBlock(text);
  if (sec1 && absl::StartsWith(*sec1, "Proc-Type:")) return Refuse("it is encrypted");
  text = absl::StripLeadingAsciiWhitespace(text);
  if (absl::StartsWith(text, "-----BEGIN ")) return Refuse("it has another PEM block after the key");
  if (!text.empty()) return Refuse("it has text after the PEM block");

  size_t size = 0;
  ABSL_ASSIGN_OR_RETURN(SecretBytes der, DecodeBase64(sec1 ? *sec1 : *pkcs8, &size));
  const absl::string_view der_text = der.text().substr(0, size);
  ABSL_RETURN_IF_ERROR(sec1 ? ReadSec1(der_text, &parts) : ReadPkcs8(der_text, &parts));
  if (!parts.curve) return Refuse("it does not name its curve");
  if (parts.scalar.size() != kScalarBytes) return Refuse("its scalar is not 32 bytes long");

  ABSL_ASSIGN_OR_RETURN(SecretBytes scalar, SecretBytes::Create(kScalarBytes));
  std::memcpy(scalar.data(), parts.scalar.data(), kScalarBytes);
  PrivateKey key{*parts.curve, std::move(scalar)};
  ABSL_ASSIGN_OR_RETURN(PublicKey public_key, DerivePublicKey(key));
  if (!parts.public_key.empty() && !public_key.Matches(parts.public_key)) {
    return Refuse("its public key does not belong to its private key");
  }
  return key;
}

}  // namespace stampgate
