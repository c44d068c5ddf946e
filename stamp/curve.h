// The curves that API keys use.
#ifndef STAMPGATE_STAMP_CURVE_H_
#define STAMPGATE_STAMP_CURVE_H_

#include <optional>

#include "absl/strings/string_view.h"

namespace stampgate {

enum class Curve { kP256, kSecp256k1, kEd25519 };

inline constexpr Curve kCurves[] = {Curve::kP256, Curve::kSecp256k1, Curve::kEd25519};

// Returns the name of `curve` in key files and flags.
constexpr absl::string_view CurveName(Curve curve) {
  switch (curve) {
    case Curve::kP256:
      return "p256";
    case Curve::kSecp256k1:
      return "secp256k1";
    case Curve::kEd25519:
      return "ed25519";
  }
  return "";
}

// Returns the name of the signature scheme that a stamp states if a key on `curve` made the stamp.
constexpr absl::string_view StampScheme(Curve curve) {
  switch (curve) {
    case Curve::kP256:
      return "SIGNATURE_SCHEME_TK_API_P256";
    case Curve::kSecp256k1:
      return "SIGNATURE_SCHEME_TK_API_SECP256K1";
    case Curve::kEd25519:
      return "SIGNATURE_SCHEME_TK_API_ED25519";
  }
  return "";
}

// Returns the curve whose CurveName is exactly `name` (case-sensitive), or nothing if there is none.
constexpr std::optional<Curve> ParseCurve(absl::string_view name) {
  for (Curve curve : kCurves) {
    if (name == CurveName(curve)) return curve;
  }
  return std::nullopt;
}

// Returns the curve whose StampScheme is exactly `scheme` (case-sensitive), or nothing if there is none.
constexpr std::optional<Curve> ParseScheme(absl::string_view scheme) {
  for (Curve curve : kCurves) {
    if (scheme == StampScheme(curve)) return curve;
  }
  return std::nullopt;
}

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_CURVE_H_
