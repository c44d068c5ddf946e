// The names of methods and classes in a policy.
#ifndef STAMPGATE_GATEWAY_POLICY_METHOD_NAME_H_
#define STAMPGATE_GATEWAY_POLICY_METHOD_NAME_H_

#include <string>

#include "absl/strings/string_view.h"
#include "stampgate/v1/options.pb.h"
#include "translate/operation_set/operation_set.h"

namespace stampgate {

// Returns the name that a grant uses for a method: "PolicyService/GetPolicy" for the full name
// "/stampgate.v1.PolicyService/GetPolicy".
std::string PolicyNameOf(absl::string_view full_name);

// Returns the name that a grant uses for a class, such as "query".
std::string ClassNameOf(v1::PolicyClass policy_class);

// Returns the method of `set` whose name is `name`, in one of two forms: "PolicyService/GetPolicy" or
// "stampgate.v1.PolicyService/GetPolicy". Returns null if there is no such method.
const ApiMethod* FindApiMethod(const OperationSet& set, absl::string_view name);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_POLICY_METHOD_NAME_H_
