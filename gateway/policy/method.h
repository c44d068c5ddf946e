// The methods that a policy speaks about, by the names that it gives them.
#ifndef STAMPGATE_GATEWAY_POLICY_METHOD_H_
#define STAMPGATE_GATEWAY_POLICY_METHOD_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "stampgate/v1/options.pb.h"

namespace stampgate {

// A method that has the option `operation`. Its class is DANGEROUS if the option does not say.
struct PolicedMethod {
  const google::protobuf::MethodDescriptor* descriptor = nullptr;
  std::string full_name;  // as gRPC spells it: "/stampgate.v1.PolicyService/GetPolicy"
  v1::PolicyClass policy_class = v1::POLICY_CLASS_DANGEROUS;
  bool general = false;
};

// All that are linked into the program, by name.
const std::vector<PolicedMethod>& PolicedMethods();

// What a grant calls the method of this full name: "PolicyService/GetPolicy" for
// "/stampgate.v1.PolicyService/GetPolicy".
std::string PolicyNameOf(absl::string_view full_name);

// The class as a grant names it: "query".
std::string ClassNameOf(const PolicedMethod& method);

// The one called "PolicyService/GetPolicy" or "stampgate.v1.PolicyService/GetPolicy", or null.
const PolicedMethod* FindPolicedMethod(absl::string_view name);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_POLICY_METHOD_H_
