// A set of organizations, which match by their exact ids.
#ifndef STAMPGATE_GATEWAY_POLICY_ORGANIZATION_SET_H_
#define STAMPGATE_GATEWAY_POLICY_ORGANIZATION_SET_H_

#include <set>
#include <string>

#include "absl/strings/string_view.h"

namespace stampgate {

struct OrganizationSet {
  // If true, the set contains every organization, even if the config does not list it. The set then contains the empty
  // id too.
  bool all = false;
  std::set<std::string, std::less<>> ids;

  bool Contains(absl::string_view id) const { return all || ids.contains(id); }
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_POLICY_ORGANIZATION_SET_H_
