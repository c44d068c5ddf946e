#include "gateway/operations/prepare.h"

#include <string>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "gateway/operations/submit_timestamp.h"
#include "stamp/request_body.h"
#include "translate/answer_size.h"
#include "translate/error.h"
#include "translate/violations.h"

namespace stampgate {
namespace {

constexpr size_t kMaxMethodBytes = 256;

absl::Status Invalid(absl::string_view field, absl::string_view description) {
  Violations violations;
  violations.Add([&] { return Violation{std::string(field), std::string(description)}; });
  return ViolationError(std::move(violations));
}

// Returns the operation called `name`, or null. `name` is the short name that grants use, or the full name with or
// without the leading slash.
const Operation* FindOperation(const OperationTable& table, absl::string_view name) {
  const Operation* full = table.Find(absl::StrCat("/", absl::StripPrefix(name, "/")));
  return full != nullptr ? full : table.Find(absl::StrCat("/stampgate.v1.", name));
}

}  // namespace

absl::StatusOr<const Operation*> FindOperationOf(const OperationTable& table, const v1::PrepareRequest& request) {
  if (!request.GetReflection()->GetUnknownFields(request).empty()) {
    return Invalid("", "has fields that this gateway does not know");
  }
  if (request.method().empty()) return Invalid("method", "is required");
  if (request.method().size() > kMaxMethodBytes) {
    return Invalid("method", absl::StrCat("must be at most ", kMaxMethodBytes, " bytes long"));
  }
  const Operation* operation = FindOperation(table, request.method());
  if (operation == nullptr || operation->kind == v1::OPERATION_KIND_DISCOVERY) {
    return Invalid("method", "must be a method whose requests are stamped, such as \"PolicyService/GetPolicy\"");
  }
  return operation;
}

absl::StatusOr<ParsedMessage> ParsePreparedRequest(const Operation& operation, const v1::PrepareRequest& request,
                                                   RequestMemory& memory) {
  const absl::StatusOr<const ParsedMessage*> parsed = ParseMessage(*operation.request, request.request(), memory);
  if (absl::IsResourceExhausted(parsed.status())) return Invalid("request", parsed.status().message());
  if (!parsed.ok()) {
    return Invalid("request", absl::StrCat("must be a serialized ", operation.request->descriptor->full_name()));
  }
  const ParsedMessage* message = *parsed;
  if (message->Has(*operation.request->client_stamp)) {
    return Invalid("request", "must have no client_stamp: the client makes it from the response to this call");
  }
  if (operation.idempotency_key != nullptr && message->Has(*operation.idempotency_key)) {
    return Invalid("request", "must have no idempotency_key: a request with a client_stamp cannot have one");
  }
  if (operation.wait_until != nullptr && message->Has(*operation.wait_until)) {
    return Invalid("request", "must have no wait_until: a request with a client_stamp cannot have one");
  }
  return *message;
}

absl::StatusOr<PreparedBody> Prepare(const Operation& operation, RenderedRequest rendered,
                                     TimestampAllocator& timestamps, absl::Time now) {
  v1::PrepareResponse response;
  std::string bytes;
  if (operation.is_submit()) {
    ABSL_ASSIGN_OR_RETURN(uint64_t timestamp_ms, TimestampOf(rendered, timestamps, now));
    response.set_timestamp_ms(timestamp_ms);
    bytes = rendered.SubmitBody(timestamp_ms);
  } else {
    bytes = rendered.QueryBody();
  }
  RequestBody body(std::move(bytes));
  response.set_path(rendered.path);
  response.set_webauthn_challenge(body.HexDigest());
  const std::array<uint8_t, 32> sha256 = body.sha256();
  response.set_body(std::move(body).TakeBytes());
  if (response.ByteSizeLong() > kMaxAnswerBytes) return PreparedTooLarge(response.ByteSizeLong());
  return PreparedBody{std::move(response), sha256};
}

}  // namespace stampgate
