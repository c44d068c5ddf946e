#include "gateway/policy/grant.h"

#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "gateway/policy/class_coverage.h"
#include "gateway/policy/method_name.h"

namespace stampgate {

Grant::Grant(const config::v1::Grant& grant, const OperationSet& operations, absl::string_view class_grants_as_of,
             std::shared_ptr<const OrganizationIds> of_file)
    : classes_(grant.classes().begin(), grant.classes().end()),
      key_(grant.key()),
      requires_idempotency_key_(grant.require_idempotency_key()),
      rules_(grant) {
  for (const std::string& name : grant.methods()) {
    if (const ApiMethod* method = FindApiMethod(operations, name)) Add(*method, grant);
  }
  for (const ApiMethod& method : operations.methods()) {
    if (ClassesCover(method, class_grants_as_of) && HasClassOf(method)) {
      Add(method, grant);
    }
  }
  for (const config::v1::GeneralOperation& operation : grant.general_operations()) {
    general_.emplace(operation.path(), operation.activity_type());
  }
  organizations_.all = grant.all_organizations();
  if (!grant.organizations().empty()) {
    organizations_.parts.push_back(std::make_shared<const OrganizationIds>(
        std::vector<absl::string_view>(grant.organizations().begin(), grant.organizations().end())));
  }
  if (of_file != nullptr) organizations_.parts.push_back(std::move(of_file));
}

void Grant::Add(const ApiMethod& method, const config::v1::Grant& grant) {
  const absl::string_view unchecked = UncheckedRule(grant, method);
  if (unchecked.empty()) {
    methods_.insert(method.full_name);
  } else {
    unchecked_.emplace(method.full_name, unchecked);
  }
}

Grant::Answer Grant::Ask(const Question& question) const {
  const auto unchecked = question.general ? unchecked_.end() : unchecked_.find(question.method);
  const bool named = question.general
                         ? general_.contains({std::string(question.general_path), std::string(question.general_type)})
                         : methods_.contains(question.method);
  if (!named && unchecked == unchecked_.end()) return {Fit::kNotTheMethod, ""};
  if (question.organization_id.has_value() && !organizations_.Contains(*question.organization_id)) {
    return {Fit::kNotTheOrganization, ""};
  }
  if (unchecked != unchecked_.end()) {
    return {Fit::kNotTheValues,
            absl::StrCat(unchecked->second, " cannot be checked for this method: grant it without them")};
  }
  if (question.request == nullptr) return {Fit::kAllowed, ""};
  std::optional<std::string> why = rules_.Refuse(*question.request);
  if (why.has_value()) return {Fit::kNotTheValues, *std::move(why)};
  if (requires_idempotency_key_ && question.lacks_key) {
    return {Fit::kNoKey, "idempotency_key is not set, and the grant has require_idempotency_key"};
  }
  return {Fit::kAllowed, ""};
}

}  // namespace stampgate
