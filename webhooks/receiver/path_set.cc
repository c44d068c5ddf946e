#include "webhooks/receiver/path_set.h"

#include <openssl/crypto.h>

#include "base/secret/sha256.h"

namespace stampgate {

bool HasPath(const std::vector<std::string>& paths, absl::string_view target) {
  const auto wanted = Sha256(target);
  int found = 0;
  // Compares all paths, also after a match, because the time must not depend on which one matches.
  for (const std::string& path : paths) {
    const auto digest = Sha256(path);
    found |= CRYPTO_memcmp(digest.data(), wanted.data(), digest.size()) == 0 ? 1 : 0;
  }
  return found != 0;
}

}  // namespace stampgate
