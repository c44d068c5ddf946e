#include "webhooks/receiver/proven_sources.h"

#include <algorithm>

namespace stampgate {

void ProvenSources::Prove(absl::string_view source, Time now) {
  const MutexLock lock(mutex_);
  if (const auto found = proven_.find(source); found != proven_.end()) {
    found->second = now;
    return;
  }
  if (proven_.size() >= kMost) {
    proven_.erase(std::min_element(proven_.begin(), proven_.end(),
                                   [](const auto& a, const auto& b) { return a.second < b.second; }));
  }
  proven_.emplace(source, now);
}

bool ProvenSources::Has(absl::string_view source, Time now) const {
  const MutexLock lock(mutex_);
  const auto found = proven_.find(source);
  return found != proven_.end() && now - found->second < kTime;
}

}  // namespace stampgate
