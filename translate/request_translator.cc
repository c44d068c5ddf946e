#include "translate/request_translator.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/json/writer.h"
#include "translate/client_stamped_request.h"
#include "translate/error.h"
#include "translate/general_operation.h"
#include "translate/message/writer.h"
#include "translate/request_body.h"
#include "translate/validator.h"

namespace stampgate {

namespace {

// What a body has beside its members and its activity type.
constexpr size_t kEnvelopeBytes = sizeof(R"({"type":"","timestampMs":"18446744073709551615",})");

// The body of a request that holds no more than this needs no check of its size: a value has at least 16 bytes in
// memory and at most about 150 in JSON, and a character becomes at most six.
constexpr size_t kSmallBytes = 16 << 10;

// Returns `members` between `prefix` and a brace. Uses the capacity of `members`.
std::string Enclose(absl::string_view prefix, std::string members) {
  members.reserve(prefix.size() + members.size() + 1);
  members.insert(0, prefix.data(), prefix.size());
  members.push_back('}');
  return members;
}

absl::Status BodyTooLarge(const RequestMemory& memory) {
  const std::string why = memory.Left() < kMaxBodyBytes
                              ? std::string(memory.Exceeded().message())
                              : absl::StrCat("has a JSON body of more than ", kMaxBodyBytes, " bytes");
  return ToStatus(GatewayError(absl::StatusCode::kInvalidArgument, v1::ERROR_REASON_INVALID_REQUEST,
                               absl::StrCat("the request ", why)));
}

}  // namespace

std::string RenderedRequest::Prefix(uint64_t timestamp_ms) const {
  return absl::StrCat("{", type_member, "\"timestampMs\":\"", timestamp_ms, "\",");
}

std::string RenderedRequest::SubmitBody(uint64_t timestamp_ms) {
  if (client_stamp.has_value()) return std::move(*client_stamp->mutable_body());
  return Enclose(Prefix(timestamp_ms), std::exchange(members, std::string()));
}

std::string RenderedRequest::QueryBody() {
  if (client_stamp.has_value()) return std::move(*client_stamp->mutable_body());
  return Enclose("{", std::exchange(members, std::string()));
}

void RenderedRequest::TakeBack(std::string body, uint64_t timestamp_ms) {
  members = std::move(body);
  members.pop_back();
  members.erase(0, Prefix(timestamp_ms).size());
}

absl::StatusOr<CheckedRequest> CheckedRequest::Check(const OperationTable& table, const Operation& operation,
                                                     const ParsedMessage& request, RequestMemory& memory,
                                                     bool is_sent) {
  Violations violations;
  CheckedRequest checked(operation, request, memory);
  if (auto stamped = ReadClientStampedRequest(operation, request, memory, violations)) {
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
    checked.ReadCarried(*carried, violations);
  }
  if (!violations.empty()) return ViolationError(std::move(violations));
  return checked;
}

absl::StatusOr<CheckedRequest> CheckedRequest::Check(const OperationTable& table, const Operation& operation,
                                                     const ParsedMessage& request, RequestMemory& memory) {
  return Check(table, operation, request, memory, /*is_sent=*/true);
}

absl::StatusOr<CheckedRequest> CheckedRequest::CheckUnstamped(const OperationTable& table, const Operation& operation,
                                                              const ParsedMessage& request, RequestMemory& memory) {
  return Check(table, operation, request, memory, /*is_sent=*/false);
}

void CheckedRequest::CheckStamp(const Operation& operation, bool is_sent, Violations& violations) const {
  if (!operation.stamped_by_client || !is_sent || client_stamp_.has_value()) return;
  violations.Add([] { return Violation{"client_stamp", "is required: upstream acts for the party that stamps this"}; });
}

// Reads the body that the gateway will send, so that the rules of `operation` apply to exactly this body.
void CheckedRequest::ReadCarried(const Operation& operation, Violations& violations) {
  const absl::string_view place = client_stamp_.has_value() ? "client_stamp.body" : "parameters";
  std::string rendered_body;
  if (!client_stamp_.has_value()) {
    absl::StatusOr<RenderedRequest> rendered = CheckedRequest(*this).Render();
    if (!rendered.ok()) {
      violations.Add([&] { return Violation{"", std::string(memory_->Exceeded().message())}; });
      return;
    }
    // The gateway may choose the timestamp later. No rule depends on it, so any will do here.
    rendered_body =
        operation.is_submit() ? rendered->SubmitBody(rendered->timestamp_ms.value_or(1)) : rendered->QueryBody();
  }
  std::string& body = client_stamp_.has_value() ? *client_stamp_->mutable_body() : rendered_body;
  const ParsedMessage* request = ReadRequestBody(operation, body, "", place, *memory_, violations);
  if (request == nullptr) return;
  if (violations.empty()) Validate(*request, violations);
  carried_ = Carried{&operation, *request};
}

absl::StatusOr<std::string> MembersOf(const Operation& operation, const ParsedMessage& request,
                                      absl::string_view names_as_of, const RequestMemory& memory) {
  size_t size = 512;
  if (memory.held() > kSmallBytes) {
    const size_t most = std::min(memory.Left(), kMaxBodyBytes);
    size = kEnvelopeBytes + operation.activity_type.size() +
           JsonMembersSize(request, operation.timestamp_ms, names_as_of, most);
    if (size > most) return BodyTooLarge(memory);
  }
  std::string members;
  members.reserve(size);
  AppendJsonMembers(request, operation.timestamp_ms, names_as_of, members);
  return members;
}

std::string PathOf(const Operation& operation, const ParsedMessage& request) {
  return operation.general ? absl::StrCat(operation.path, request.Text(*operation.path_segment)) : operation.path;
}

absl::StatusOr<RenderedRequest> CheckedRequest::Render() && {
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
  ABSL_ASSIGN_OR_RETURN(rendered.members, MembersOf(*operation_, request_, operation_->names_as_of, *memory_));
  return rendered;
}

}  // namespace stampgate
