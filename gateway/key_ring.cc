#include "gateway/key_ring.h"

#include <utility>

namespace stampgate {

void KeyRing::Add(const config::v1::Key& key, std::shared_ptr<const Signer> signer) {
  const NamedSigner named{key.name(), std::move(signer)};
  for (const std::string& organization_id : key.organizations()) by_organization_[organization_id] = named;
  if (key.all_organizations()) for_all_ = named;
}

const NamedSigner* KeyRing::Find(absl::string_view organization_id) const {
  auto found = by_organization_.find(organization_id);
  if (found != by_organization_.end()) return &found->second;
  return for_all_.has_value() ? &*for_all_ : nullptr;
}

}  // namespace stampgate
