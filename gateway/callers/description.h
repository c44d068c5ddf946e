// What a caller may do, in words.
#ifndef STAMPGATE_GATEWAY_CALLERS_DESCRIPTION_H_
#define STAMPGATE_GATEWAY_CALLERS_DESCRIPTION_H_

#include <string>
#include <vector>

#include "stampgate/config/v1/config.pb.h"

namespace stampgate {

// For the operator to read: a line for each grant, and one for each method that it allows. `caller` is one of a checked
// config.
std::vector<std::string> DescribeGrants(const config::v1::Caller& caller);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLERS_DESCRIPTION_H_
