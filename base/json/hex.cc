#include "base/json/hex.h"

#include <sodium.h>

namespace stampgate {

std::optional<std::string> DecodeHex(absl::string_view text) {
  std::string bytes(text.size() / 2, '\0');
  if (text.size() % 2 != 0 || sodium_hex2bin(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(), text.data(),
                                             text.size(), nullptr, nullptr, nullptr) != 0) {
    return std::nullopt;
  }
  return bytes;
}

}  // namespace stampgate
