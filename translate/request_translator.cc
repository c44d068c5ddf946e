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

using google::protobuf::Message;
using google::protobuf::Reflection;

std::string RenderedRequest::SubmitBody(uint64_t timestamp_ms) const {
  if (client_stamp.has_value()) return client_stamp->body();
  return absl::StrCat("{", type_member, "\"timestampMs\":\"", timestamp_ms, "\",", members, "}");
}

std::string RenderedRequest::QueryBody() const {
  return client_stamp.has_value() ? client_stamp->body() : absl::StrCat("{", members, "}");
}

absl::StatusOr<CheckedRequest> CheckedRequest::Check(const OperationTable& table, const Operation& operation,
                                                     Message& request, bool needs_client_stamp) {
  Violations violations;
  std::optional<v1::ClientStamp> client_stamp = TakeClientStamp(operation, request, violations);
  if (!violations.empty()) return ViolationError(std::move(violations));
  if (needs_client_stamp && !client_stamp.has_value()) {
    violations.Add([] {
      return Violation{"client_stamp", "is required: upstream acts for the party that stamps this"};
    });
  }
  Validate(request, *operation.request, violations);
  if (operation.general) CheckGeneralOperation(table, operation, request, violations);
  if (!violations.empty()) return ViolationError(std::move(violations));
  return CheckedRequest(operation, request, std::move(client_stamp));
}

absl::StatusOr<CheckedRequest> CheckedRequest::Check(const OperationTable& table, const Operation& operation,
                                                     Message& request) {
  return Check(table, operation, request, operation.stamped_by_client);
}

absl::StatusOr<CheckedRequest> CheckedRequest::CheckUnstamped(const OperationTable& table, const Operation& operation,
                                                              Message& request) {
  return Check(table, operation, request, /*needs_client_stamp=*/false);
}

RenderedRequest CheckedRequest::Render() && {
  const Reflection& reflection = *message_->GetReflection();
  RenderedRequest rendered;
  rendered.client_stamp = std::move(client_stamp_);
  rendered.path = operation_->path;
  if (operation_->general) rendered.path += reflection.GetString(*message_, operation_->path_segment->field);
  if (operation_->organization_id != nullptr) {
    rendered.organization_id = reflection.GetString(*message_, operation_->organization_id->field);
  }
  if (operation_->timestamp_ms != nullptr && reflection.HasField(*message_, operation_->timestamp_ms->field)) {
    rendered.timestamp_ms = reflection.GetUInt64(*message_, operation_->timestamp_ms->field);
  }
  if (operation_->idempotency_key != nullptr) {
    rendered.idempotency_key = reflection.GetString(*message_, operation_->idempotency_key->field);
  }
  if (!operation_->activity_type.empty()) {
    rendered.type_member = "\"type\":";
    AppendJsonString(operation_->activity_type, rendered.type_member);
    rendered.type_member += ',';
  }
  rendered.members.reserve(message_->ByteSizeLong() + 256);
  AppendJsonMembers(*message_, *operation_->request, operation_->timestamp_ms, rendered.members);
  return rendered;
}

}  // namespace stampgate
