// Describes in words what a caller may do.
#ifndef STAMPGATE_GATEWAY_CALLERS_DESCRIPTION_H_
#define STAMPGATE_GATEWAY_CALLERS_DESCRIPTION_H_

#include <string>
#include <vector>

#include "stampgate/config/v1/config.pb.h"
#include "translate/operation_set.h"

namespace stampgate {

// Returns lines for the operator. For each grant, there is one line about the grant, and one line for each method and
// each general operation that the grant allows. Requires that `caller` comes from a validated config.
std::vector<std::string> DescribeGrants(const config::v1::Caller& caller, const OperationSet& operations);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLERS_DESCRIPTION_H_
