#include "gateway/key_ring.h"

namespace stampgate {

void KeyRing::Add(const config::v1::Key& key, std::shared_ptr<const Signer> signer) {
  for (const std::string& organization_id : key.organizations()) by_organization_[organization_id] = signer;
  if (key.all_organizations()) for_all_ = std::move(signer);
}

std::shared_ptr<const Signer> KeyRing::Find(absl::string_view organization_id) const {
  auto found = by_organization_.find(organization_id);
  return found != by_organization_.end() ? found->second : for_all_;
}

}  // namespace stampgate
