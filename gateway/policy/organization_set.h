// Organizations by their exact ids.
#ifndef STAMPGATE_GATEWAY_POLICY_ORGANIZATION_SET_H_
#define STAMPGATE_GATEWAY_POLICY_ORGANIZATION_SET_H_

#include <set>
#include <string>

#include "absl/strings/string_view.h"

namespace stampgate {

struct OrganizationSet {
  // All there are, known or not, and what names none.
  bool all = false;
  std::set<std::string, std::less<>> ids;

  bool Contains(absl::string_view id) const { return all || ids.contains(id); }
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_POLICY_ORGANIZATION_SET_H_
