#include "translate/request_translator.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "translate/client_stamped_request.h"
#include "translate/error.h"
#include "translate/general_operation.h"
#include "translate/json/writer.h"
#include "translate/message_writer.h"
#include "translate/validator.h"

namespace stampgate {

using google::protobuf::Arena;

std::string RenderedRequest::SubmitBody(uint64_t timestamp_ms) const {
  if (client_stamp.has_value()) return client_stamp->body();
  return absl::StrCat("{", type_member, "\"timestampMs\":\"", timestamp_ms, "\",", members, "}");
}

std::string RenderedRequest::QueryBody() const {
  return client_stamp.has_value() ? client_stamp->body() : absl::StrCat("{", members, "}");
}

absl::StatusOr<CheckedRequest> CheckedRequest::Check(const OperationTable& table, const Operation& operation,
                                                     const ParsedMessage& request, Arena& arena,
                                                     bool needs_client_stamp) {
  Violations violations;
  CheckedRequest checked(operation, request);
  if (auto stamped = ReadClientStampedRequest(operation, request, arena, violations)) {
    checked.request_ = stamped->request;
    checked.client_stamp_ = std::move(stamped->stamp);
  }
  if (!violations.empty()) return ViolationError(std::move(violations));
  if (needs_client_stamp && !checked.client_stamp_.has_value()) {
    violations.Add([] {
      return Violation{"client_stamp", "is required: upstream acts for the party that stamps this"};
    });
  }
  Validate(checked.request_, violations);
  if (operation.general) CheckGeneralOperation(table, operation, checked.request_, violations);
  if (!violations.empty()) return ViolationError(std::move(violations));
  return checked;
}

absl::StatusOr<CheckedRequest> CheckedRequest::Check(const OperationTable& table, const Operation& operation,
                                                     const ParsedMessage& request, Arena& arena) {
  return Check(table, operation, request, arena, operation.stamped_by_client);
}

absl::StatusOr<CheckedRequest> CheckedRequest::CheckUnstamped(const OperationTable& table, const Operation& operation,
                                                              const ParsedMessage& request, Arena& arena) {
  return Check(table, operation, request, arena, /*needs_client_stamp=*/false);
}

RenderedRequest CheckedRequest::Render() && {
  RenderedRequest rendered;
  rendered.client_stamp = std::move(client_stamp_);
  rendered.path = operation_->path;
  if (operation_->general) absl::StrAppend(&rendered.path, request_.Text(*operation_->path_segment));
  if (operation_->timestamp_ms != nullptr && request_.Has(*operation_->timestamp_ms)) {
    rendered.timestamp_ms = request_.Number(*operation_->timestamp_ms);
  }
  if (operation_->idempotency_key != nullptr) {
    rendered.idempotency_key = std::string(request_.Text(*operation_->idempotency_key));
  }
  if (!operation_->activity_type.empty()) {
    rendered.type_member = "\"type\":";
    AppendJsonString(operation_->activity_type, rendered.type_member);
    rendered.type_member += ',';
  }
  rendered.members.reserve(512);
  AppendJsonMembers(request_, operation_->timestamp_ms, rendered.members);
  return rendered;
}

}  // namespace stampgate
