// Which events a subscriber wants, and which it may see: by what is signed alone.
#ifndef STAMPGATE_WEBHOOKS_EVENT_FILTER_H_
#define STAMPGATE_WEBHOOKS_EVENT_FILTER_H_

#include <set>
#include <string>

#include "absl/strings/string_view.h"

namespace stampgate {

struct EventFilter {
  // Exact ids; an event passes if its organization or its parent organization is one. Empty: all events pass, also
  // those that name no organization.
  std::set<std::string, std::less<>> organization_ids;
  // Exact event types. Empty: all.
  std::set<std::string, std::less<>> types;

  bool Matches(absl::string_view organization_id, absl::string_view parent_organization_id,
               absl::string_view type) const {
    return (organization_ids.empty() || organization_ids.contains(organization_id) ||
            organization_ids.contains(parent_organization_id)) &&
           (types.empty() || types.contains(type));
  }
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_EVENT_FILTER_H_
