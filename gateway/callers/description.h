// Describes in words what a caller may do.
#ifndef STAMPGATE_GATEWAY_CALLERS_DESCRIPTION_H_
#define STAMPGATE_GATEWAY_CALLERS_DESCRIPTION_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gateway/policy/organization_set.h"
#include "stampgate/config/v1/config.pb.h"
#include "translate/operation_set/operation_set.h"

namespace stampgate {

// Returns lines for the operator. For each grant, there is one line about the grant, and one line for each method and
// each general operation that the grant allows. Requires that `caller` comes from a validated config.
// `class_grants_as_of` is the setting of the config, as for Grant. `of_files` has the ids in the organizations files of
// the grants, as for Caller.
std::vector<std::string> DescribeGrants(const config::v1::Caller& caller, const OperationSet& operations,
                                        absl::string_view class_grants_as_of = "",
                                        const std::vector<std::shared_ptr<const OrganizationIds>>& of_files = {});

// Returns lines of the same form, only for the grants that would allow further methods if class_grants_as_of were the
// newest day of `operations`, and only for these methods. Returns no lines if there are none.
std::vector<std::string> DescribeGains(const config::v1::Caller& caller, const OperationSet& operations,
                                       absl::string_view class_grants_as_of,
                                       const std::vector<std::shared_ptr<const OrganizationIds>>& of_files = {});

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLERS_DESCRIPTION_H_
