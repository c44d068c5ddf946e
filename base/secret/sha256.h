// SHA-256 of bytes in memory.
#ifndef STAMPGATE_BASE_SECRET_SHA256_H_
#define STAMPGATE_BASE_SECRET_SHA256_H_

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace stampgate {

// Returns the SHA-256 of `data`. Thread-safe. If OpenSSL has no SHA-256 or memory is short, ends the process, since the
// gateway could not sign without SHA-256.
std::array<uint8_t, 32> Sha256(absl::string_view data);

}  // namespace stampgate

#endif  // STAMPGATE_BASE_SECRET_SHA256_H_
