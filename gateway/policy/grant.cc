#include "gateway/policy/grant.h"

#include "absl/algorithm/container.h"
#include "gateway/policy/method_name.h"

namespace stampgate {

Grant::Grant(const config::v1::Grant& grant, const OperationSet& operations) : key_(grant.key()), rules_(grant) {
  for (const std::string& name : grant.methods()) {
    if (const ApiMethod* method = FindApiMethod(operations, name)) methods_.insert(method->full_name);
  }
  for (const ApiMethod& method : operations.methods()) {
    // A class never grants methods of GeneralService: a grant must list each general operation.
    if (!method.general && absl::c_linear_search(grant.classes(), method.policy_class)) {
      methods_.insert(method.full_name);
    }
  }
  for (const config::v1::GeneralOperation& operation : grant.general_operations()) {
    general_.emplace(operation.path(), operation.activity_type());
  }
  auto organizations = std::make_shared<OrganizationSet>();
  organizations->all = grant.all_organizations();
  organizations->ids.insert(grant.organizations().begin(), grant.organizations().end());
  organizations_ = std::move(organizations);
}

Grant::Answer Grant::Ask(const Question& question) const {
  const bool named = question.general
                         ? general_.contains({std::string(question.general_path), std::string(question.general_type)})
                         : methods_.contains(question.method);
  if (!named) return {Fit::kNotTheMethod, ""};
  if (question.organization_id.has_value() && !organizations_->Contains(*question.organization_id)) {
    return {Fit::kNotTheOrganization, ""};
  }
  if (question.request == nullptr) return {Fit::kAllowed, ""};
  std::optional<std::string> why = rules_.Refuse(*question.request);
  if (why.has_value()) return {Fit::kNotTheValues, *std::move(why)};
  return {Fit::kAllowed, ""};
}

}  // namespace stampgate
