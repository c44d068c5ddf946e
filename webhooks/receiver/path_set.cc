#include "webhooks/receiver/path_set.h"

#include <openssl/crypto.h>

#include "base/secret/sha256.h"

namespace stampgate {

PathSet::PathSet(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) digests_.push_back(Sha256(path));
}

bool PathSet::Has(absl::string_view target) const {
  const auto wanted = Sha256(target);
  int found = 0;
  // Compares all digests, also after a match, because the time must not depend on which one matches.
  for (const auto& digest : digests_) found |= CRYPTO_memcmp(digest.data(), wanted.data(), digest.size()) == 0 ? 1 : 0;
  return found != 0;
}

}  // namespace stampgate
