// Selects events by organization and type: only events that the subscriber wants and is allowed to see.
#ifndef STAMPGATE_WEBHOOKS_LOG_EVENT_FILTER_H_
#define STAMPGATE_WEBHOOKS_LOG_EVENT_FILTER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "absl/strings/string_view.h"

namespace stampgate {

// Whether an organization with this id is in a set. Thread-safe.
using OrganizationTest = std::function<bool(absl::string_view organization_id)>;

struct EventFilter {
  // The wanted organizations, as exact ids. An event passes if its organization or its parent organization is in the
  // set. If the set is empty, all events pass, even events without an organization.
  std::set<std::string, std::less<>> organization_ids = {};
  // The wanted event types, compared exactly. If the set is empty, all events pass.
  std::set<std::string, std::less<>> types = {};
  // Whether the subscriber is allowed to see the events of an organization. An event passes if this holds for its
  // organization or its parent organization. If `visible` is null, all events pass, even events without an
  // organization.
  std::shared_ptr<const OrganizationTest> visible = nullptr;

  bool Matches(absl::string_view organization_id, absl::string_view parent_organization_id,
               absl::string_view type) const {
    return (organization_ids.empty() || organization_ids.contains(organization_id) ||
            organization_ids.contains(parent_organization_id)) &&
           (types.empty() || types.contains(type)) &&
           (visible == nullptr || (*visible)(organization_id) || (*visible)(parent_organization_id));
  }

  // Returns about the memory that the sets use.
  size_t bytes() const {
    constexpr size_t kEntry = 96;  // of std::set
    size_t bytes = 0;
    for (const auto* set : {&organization_ids, &types}) {
      for (const std::string& entry : *set) bytes += kEntry + entry.size();
    }
    return bytes;
  }

  // Whether all events pass.
  bool MatchesAll() const { return organization_ids.empty() && types.empty() && visible == nullptr; }
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_EVENT_FILTER_H_
