#include "webhooks/receiver/path_set.h"

#include <openssl/crypto.h>

namespace stampgate {
namespace {

std::array<unsigned char, SHA256_DIGEST_LENGTH> Digest(absl::string_view text) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return digest;
}

}  // namespace

PathSet::PathSet(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) digests_.push_back(Digest(path));
}

bool PathSet::Has(absl::string_view target) const {
  const auto wanted = Digest(target);
  int found = 0;
  // All of them, also after the right one.
  for (const auto& digest : digests_) found |= CRYPTO_memcmp(digest.data(), wanted.data(), digest.size()) == 0 ? 1 : 0;
  return found != 0;
}

}  // namespace stampgate
