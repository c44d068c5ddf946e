#include "gateway/policy/p256_point.h"

#include <openssl/err.h>
#include <openssl/obj_mac.h>

#include <cstdint>

#include "base/json/hex.h"
#include "base/secret/openssl_ptr.h"

namespace stampgate {
namespace {

constexpr size_t kCompressedBytes = 33;
constexpr size_t kUncompressedBytes = 65;

// Whether the first byte of `bytes` names one of the two usual forms. OpenSSL also accepts the hybrid form, which
// hardly any other library accepts.
bool HasKnownForm(absl::string_view bytes) {
  return (bytes.size() == kCompressedBytes && (bytes[0] == 2 || bytes[0] == 3)) ||
         (bytes.size() == kUncompressedBytes && bytes[0] == 4);
}

}  // namespace

std::optional<std::string> DecodeExportKey(absl::string_view hex) {
  const std::optional<std::string> decoded_hex = DecodeHex(hex);
  if (!decoded_hex.has_value() || !HasKnownForm(*decoded_hex)) return std::nullopt;
  const std::string& bytes = *decoded_hex;
  const EcGroupPtr curve(EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1));
  const EcPointPtr point(curve == nullptr ? nullptr : EC_POINT_new(curve.get()));
  std::string compressed(kCompressedBytes, '\0');
  const bool decoded =
      point != nullptr &&
      EC_POINT_oct2point(curve.get(), point.get(), reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(),
                         nullptr) == 1 &&
      EC_POINT_point2oct(curve.get(), point.get(), POINT_CONVERSION_COMPRESSED,
                         reinterpret_cast<uint8_t*>(compressed.data()), compressed.size(), nullptr) == kCompressedBytes;
  ERR_clear_error();
  if (!decoded) return std::nullopt;
  return compressed;
}

}  // namespace stampgate
