#include "stamp/fingerprint.h"

#include <array>
#include <cstdint>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "stamp/sha256.h"

namespace stampgate {

std::string Fingerprint(absl::string_view body) {
  const std::array<uint8_t, 32> digest = Sha256(body);
  return absl::StrCat("sha256:", absl::BytesToHexString({reinterpret_cast<const char*>(digest.data()), digest.size()}));
}

}  // namespace stampgate
