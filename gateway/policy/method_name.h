// What a policy calls methods and their classes.
#ifndef STAMPGATE_GATEWAY_POLICY_METHOD_NAME_H_
#define STAMPGATE_GATEWAY_POLICY_METHOD_NAME_H_

#include <string>

#include "absl/strings/string_view.h"
#include "translate/method_table.h"

namespace stampgate {

// What a grant calls the method of this full name: "PolicyService/GetPolicy" for
// "/stampgate.v1.PolicyService/GetPolicy".
std::string PolicyNameOf(absl::string_view full_name);

// The class as a grant names it: "query".
std::string ClassNameOf(const ApiMethod& method);

// The one of ApiMethods() called "PolicyService/GetPolicy" or "stampgate.v1.PolicyService/GetPolicy", or null.
const ApiMethod* FindApiMethod(absl::string_view name);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_POLICY_METHOD_NAME_H_
