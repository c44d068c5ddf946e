#include "translate/request_translator.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "translate/client_stamped_request.h"
#include "translate/error.h"
#include "translate/general_operation.h"
#include "translate/json/writer.h"
#include "translate/message/writer.h"
#include "translate/request_body.h"
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
                                                     const ParsedMessage& request, Arena& arena, bool is_sent) {
  Violations violations;
  CheckedRequest checked(operation, request);
  if (auto stamped = ReadClientStampedRequest(operation, request, arena, violations)) {
    checked.request_ = stamped->request;
    checked.client_stamp_ = std::move(stamped->stamp);
  }
  if (!violations.empty()) return ViolationError(std::move(violations));
  checked.CheckStamp(operation, is_sent, violations);
  Validate(checked.request_, violations);
  const Operation* carried = operation.general ? FindCarried(table, operation, checked.request_) : nullptr;
  if (operation.general) CheckGeneralOperation(table, operation, checked.request_, carried, violations);
  if (carried != nullptr && violations.empty()) {
    checked.CheckStamp(*carried, is_sent, violations);
    checked.ReadCarried(*carried, arena, violations);
  }
  if (!violations.empty()) return ViolationError(std::move(violations));
  return checked;
}

absl::StatusOr<CheckedRequest> CheckedRequest::Check(const OperationTable& table, const Operation& operation,
                                                     const ParsedMessage& request, Arena& arena) {
  return Check(table, operation, request, arena, /*is_sent=*/true);
}

absl::StatusOr<CheckedRequest> CheckedRequest::CheckUnstamped(const OperationTable& table, const Operation& operation,
                                                              const ParsedMessage& request, Arena& arena) {
  return Check(table, operation, request, arena, /*is_sent=*/false);
}

void CheckedRequest::CheckStamp(const Operation& operation, bool is_sent, Violations& violations) const {
  if (!operation.stamped_by_client || !is_sent || client_stamp_.has_value()) return;
  violations.Add([] { return Violation{"client_stamp", "is required: upstream acts for the party that stamps this"}; });
}

// Reads the body that the gateway will send, so that the rules of `operation` apply to exactly this body.
void CheckedRequest::ReadCarried(const Operation& operation, Arena& arena, Violations& violations) {
  std::string body;
  if (client_stamp_.has_value()) {
    body = client_stamp_->body();
  } else {
    const RenderedRequest rendered = CheckedRequest(*this).Render();
    // The gateway may choose the timestamp later. No rule depends on it, so any will do here.
    body = operation.is_submit() ? rendered.SubmitBody(rendered.timestamp_ms.value_or(1)) : rendered.QueryBody();
  }
  const absl::string_view place = client_stamp_.has_value() ? "client_stamp.body" : "parameters";
  const auto* bytes = Arena::Create<std::string>(&arena, ReadRequestBody(operation, body, place, violations));
  const ParsedMessage* request = ParseMessage(*operation.request, *bytes, arena);
  if (request == nullptr) {
    violations.Add([&] { return Violation{std::string(place), "must be readable"}; });
    return;
  }
  if (violations.empty()) Validate(*request, violations);
  carried_ = Carried{&operation, *request};
}

std::string PathOf(const Operation& operation, const ParsedMessage& request) {
  return operation.general ? absl::StrCat(operation.path, request.Text(*operation.path_segment)) : operation.path;
}

RenderedRequest CheckedRequest::Render() && {
  RenderedRequest rendered;
  rendered.client_stamp = std::move(client_stamp_);
  rendered.path = PathOf(*operation_, request_);
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
