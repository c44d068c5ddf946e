#include "gateway/policy/key_ring.h"

#include <utility>

namespace stampgate {

void KeyRing::Add(const config::v1::Key& key, std::shared_ptr<const Signer> signer) {
  auto entry = std::make_unique<Entry>();
  entry->key = {key.name(), std::move(signer)};
  entry->organizations.all = key.all_organizations();
  entry->organizations.parts.push_back(std::make_shared<const OrganizationIds>(
      std::vector<absl::string_view>(key.organizations().begin(), key.organizations().end())));
  by_name_.emplace(key.name(), entry.get());
  for (const std::string& organization_id : key.organizations()) by_organization_.emplace(organization_id, entry.get());
  if (key.all_organizations() && for_all_ == nullptr) for_all_ = entry.get();
  entries_.push_back(std::move(entry));
}

const NamedSigner* KeyRing::Find(absl::string_view organization_id, absl::string_view name) const {
  if (name.empty()) {
    const Entry* entry = FirstFor(organization_id);
    return entry == nullptr ? nullptr : &entry->key;
  }
  const auto found = by_name_.find(name);
  if (found == by_name_.end() || !found->second->organizations.Contains(organization_id)) return nullptr;
  return &found->second->key;
}

const KeyRing::Entry* KeyRing::FirstFor(absl::string_view organization_id) const {
  const auto found = by_organization_.find(organization_id);
  return found == by_organization_.end() ? for_all_ : found->second;
}

}  // namespace stampgate
