#include "gateway/store/key_shares.h"

namespace stampgate {

void KeyShares::Add(absl::string_view caller, int64_t keys) {
  const auto found = keys_.try_emplace(std::string(caller), 0).first;
  found->second += keys;
  if (found->second <= 0) keys_.erase(found);
}

bool KeyShares::HasShare(absl::string_view caller, int64_t max) const {
  const auto own = keys_.find(caller);
  if (own == keys_.end()) return max == 0;
  return own->second * static_cast<int64_t>(keys_.size()) >= max;
}

}  // namespace stampgate
