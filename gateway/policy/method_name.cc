#include "gateway/policy/method_name.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "stampgate/v1/options.pb.h"

namespace stampgate {

std::string PolicyNameOf(absl::string_view full_name) {
  absl::ConsumePrefix(&full_name, "/stampgate.v1.");
  absl::ConsumePrefix(&full_name, "/");
  return std::string(full_name);
}

std::string ClassNameOf(v1::PolicyClass policy_class) {
  const std::string name = v1::PolicyClass_Name(policy_class);
  return absl::AsciiStrToLower(absl::StripPrefix(name, "POLICY_CLASS_"));
}

const ApiMethod* FindApiMethod(const OperationSet& set, absl::string_view name) {
  const ApiMethod* ours = set.FindMethod(absl::StrCat("/stampgate.v1.", name));
  return ours != nullptr ? ours : set.FindMethod(absl::StrCat("/", name));
}

}  // namespace stampgate
