// Which events a subscriber wants, and which it may see: by what is signed alone.
#ifndef STAMPGATE_WEBHOOKS_LOG_EVENT_FILTER_H_
#define STAMPGATE_WEBHOOKS_LOG_EVENT_FILTER_H_

#include <memory>
#include <set>
#include <string>

#include "absl/strings/string_view.h"

namespace stampgate {

using OrganizationIds = std::set<std::string, std::less<>>;

struct EventFilter {
  // Exact ids; an event passes if its organization or its parent organization is one. Empty: all events pass, also
  // those that name no organization.
  OrganizationIds organization_ids = {};
  // Exact event types. Empty: all.
  std::set<std::string, std::less<>> types = {};
  // What the subscriber may see: an event whose organization or parent organization is one of these. Null: all events,
  // also those that name no organization.
  std::shared_ptr<const OrganizationIds> visible = nullptr;

  bool Matches(absl::string_view organization_id, absl::string_view parent_organization_id,
               absl::string_view type) const {
    return (organization_ids.empty() || organization_ids.contains(organization_id) ||
            organization_ids.contains(parent_organization_id)) &&
           (types.empty() || types.contains(type)) &&
           (visible == nullptr || visible->contains(organization_id) || visible->contains(parent_organization_id));
  }
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_EVENT_FILTER_H_
