#include "gateway/measured_methods.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"
#include "gateway/policed_method.h"
#include "gateway/prepare_call.h"
#include "stampgate/v1/options.pb.h"

namespace stampgate {

std::vector<Metrics::Method> MeasuredMethods() {
  std::vector<Metrics::Method> methods = {{kPrepare, "prepare"}};
  for (const PolicedMethod& method : PolicedMethods()) {
    const std::string name = v1::PolicyClass_Name(method.policy_class);
    methods.push_back({method.full_name, absl::AsciiStrToLower(absl::StripPrefix(name, "POLICY_CLASS_")),
                       method.descriptor->server_streaming()});
  }
  return methods;
}

}  // namespace stampgate
