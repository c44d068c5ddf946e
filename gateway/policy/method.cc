#include "gateway/policy/method.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "translate/linked_methods.h"

namespace stampgate {
namespace {

std::vector<PolicedMethod> ListPolicedMethods() {
  std::vector<PolicedMethod> methods;
  for (const google::protobuf::MethodDescriptor* descriptor : LinkedMethods()) {
    if (!descriptor->options().HasExtension(v1::operation)) continue;
    const v1::OperationRule& rule = descriptor->options().GetExtension(v1::operation);
    PolicedMethod method;
    method.descriptor = descriptor;
    method.full_name = absl::StrCat("/", descriptor->service()->full_name(), "/", descriptor->name());
    if (rule.policy_class() != v1::POLICY_CLASS_UNSPECIFIED) method.policy_class = rule.policy_class();
    method.general = rule.general();
    methods.push_back(std::move(method));
  }
  return methods;
}

}  // namespace

const std::vector<PolicedMethod>& PolicedMethods() {
  static const auto& methods = *new std::vector<PolicedMethod>(ListPolicedMethods());
  return methods;
}

std::string PolicyNameOf(absl::string_view full_name) {
  absl::ConsumePrefix(&full_name, "/stampgate.v1.");
  absl::ConsumePrefix(&full_name, "/");
  return std::string(full_name);
}

std::string ClassNameOf(const PolicedMethod& method) {
  const std::string name = v1::PolicyClass_Name(method.policy_class);
  return absl::AsciiStrToLower(absl::StripPrefix(name, "POLICY_CLASS_"));
}

const PolicedMethod* FindPolicedMethod(absl::string_view name) {
  const std::string full = absl::StrCat("/", name);
  const std::string ours = absl::StrCat("/stampgate.v1.", name);
  for (const PolicedMethod& method : PolicedMethods()) {
    if (method.full_name == ours || method.full_name == full) return &method;
  }
  return nullptr;
}

}  // namespace stampgate
