#include "gateway/callers/denial.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gateway/policy/method_name.h"
#include "translate/error.h"

namespace stampgate {
Question QuestionOf(const Operation& operation, const ParsedMessage& request) {
  Question question;
  question.method = operation.full_name;
  if (operation.organization_id != nullptr) question.organization_id = request.Text(*operation.organization_id);
  question.request = &request;
  question.general = operation.general;
  if (operation.path_segment != nullptr) question.general_path = request.Text(*operation.path_segment);
  if (operation.activity_type_field != nullptr) question.general_type = request.Text(*operation.activity_type_field);
  return question;
}

Caller::Decision DecideByMethod(const Caller& caller, const ApiMethod& method) {
  // If a grant lists at least one general operation, allows every general operation at this step. Validation can
  // thereby report that the caller must call the operation's own method. Authorize decides later whether a grant lists
  // the operation of this call.
  if (method.general && caller.has_general_operations()) {
    Caller::Decision allowed;
    allowed.allowed = true;
    return allowed;
  }
  Question question;
  question.method = method.full_name;
  question.general = method.general;
  Caller::Decision decision = caller.Decide(question);
  if (!decision.allowed && decision.closest == Grant::Fit::kNotTheMethod) decision.why = caller.ExplainMissing(method);
  return decision;
}

Caller::Decision DecideByGrants(const Caller& caller, const Operation& operation, const ParsedMessage& request) {
  if (operation.general) return DecideByMethod(caller, operation);
  Question question = QuestionOf(operation, request);
  question.request = nullptr;
  // An empty organization has two possible causes: the organization is in the body that a client stamped, which the
  // gateway has not parsed yet, or the request names no organization. In the second case, validation reports the
  // missing organization.
  if (question.organization_id == "") question.organization_id.reset();
  return caller.Decide(question);
}

absl::Status Denied(const Caller& caller, const ApiMethod& method, const Caller::Decision& decision) {
  if (decision.closest == Grant::Fit::kNoKey) {
    Violations violations;
    violations.Add([] {
      return Violation{"idempotency_key", "is required: the grant of this call has require_idempotency_key"};
    });
    return ViolationError(std::move(violations));
  }
  const std::string name = PolicyNameOf(method.full_name);
  const bool is_told = decision.closest == Grant::Fit::kNotTheMethod;
  Error error = GatewayError(absl::StatusCode::kPermissionDenied, v1::ERROR_REASON_DENIED_BY_POLICY,
                             absl::StrCat("the gateway's policy does not allow caller ", caller.name(),
                                          " this call of ", name, is_told ? ": " : "", is_told ? decision.why : ""));
  error.metadata.emplace_back("caller", caller.name());
  error.metadata.emplace_back("method", name);
  error.metadata.emplace_back("policy_class", ClassNameOf(method.policy_class));
  return ToStatus(error);
}

}  // namespace stampgate
