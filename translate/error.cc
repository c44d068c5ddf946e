#include "translate/error.h"

#include <algorithm>
#include <map>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/time/duration.h"
#include "google/rpc/error_details.pb.h"
#include "translate/wire/serialize.h"

namespace stampgate {
namespace {

constexpr absl::string_view kTypePrefix = "type.googleapis.com/";
constexpr size_t kMaxFieldBytes = 160;
constexpr size_t kMaxDescriptionBytes = 160;
constexpr size_t kMaxMetadataBytes = 160;

// Returns `text` if it has at most `size` bytes. Otherwise returns its beginning and "...", at most `size` bytes in
// all, without splitting a UTF-8 character.
std::string Cut(absl::string_view text, size_t size) {
  if (text.size() <= size) return std::string(text);
  constexpr absl::string_view kEllipsis = "...";
  size_t end = size - kEllipsis.size();
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return absl::StrCat(text.substr(0, end), kEllipsis);
}

template <typename Detail>
std::string TypeUrl() {
  return absl::StrCat(kTypePrefix, Detail::descriptor()->full_name());
}

// Adds `detail` to `status`. Equal details give equal bytes.
template <typename Detail>
void SetDetail(const Detail& detail, absl::Status& status) {
  const std::string bytes = SerializeDeterministically(detail);
  // Not from the string itself: GCC and Clang have different names for that constructor, and GCC compiled Abseil.
  status.SetPayload(TypeUrl<Detail>(), absl::Cord(absl::string_view(bytes)));
}

// Returns the status of `error` with only its first `violation_count` violations.
absl::Status StatusWith(const Error& error, size_t violation_count) {
  std::string message = error.message;
  const size_t left_out = error.violations.count() - violation_count;
  if (violation_count > 0 && left_out > 0) {
    // Truncates the message before appending the number, so that the number is not truncated.
    message = absl::StrCat(Cut(message, kMaxMessageBytes - 40), " (and ", left_out, " more)");
  }
  absl::Status status(error.code, Cut(message, kMaxMessageBytes));

  google::rpc::ErrorInfo info;
  info.set_domain(error.domain);
  info.set_reason(error.reason);
  for (const auto& [key, value] : error.metadata) (*info.mutable_metadata())[key] = Cut(value, kMaxMetadataBytes);
  if (left_out > 0) (*info.mutable_metadata())["violations_left_out"] = absl::StrCat(left_out);
  SetDetail(info, status);

  if (violation_count > 0) {
    google::rpc::BadRequest bad_request;
    for (size_t i = 0; i < violation_count; ++i) {
      const Violation& violation = error.violations.kept()[i];
      auto* field = bad_request.add_field_violations();
      field->set_field(Cut(violation.field, kMaxFieldBytes));
      field->set_description(Cut(violation.description, kMaxDescriptionBytes));
    }
    SetDetail(bad_request, status);
  }
  if (error.retry_delay.has_value()) {
    google::rpc::RetryInfo retry;
    *retry.mutable_retry_delay() = ToProto(*error.retry_delay);
    SetDetail(retry, status);
  }
  return status;
}

// Returns the ErrorInfo of `status`, or an empty one if the status has none.
google::rpc::ErrorInfo InfoOf(const absl::Status& status) {
  google::rpc::ErrorInfo info;
  const absl::optional<absl::Cord> payload = status.GetPayload(TypeUrl<google::rpc::ErrorInfo>());
  if (payload.has_value() && !info.ParseFromString(std::string(*payload))) info.Clear();
  return info;
}

}  // namespace

Error GatewayError(absl::StatusCode code, v1::ErrorReason reason, std::string message) {
  Error error;
  error.code = code;
  error.message = std::move(message);
  error.domain = std::string(kGatewayDomain);
  error.reason = std::string(absl::StripPrefix(v1::ErrorReason_Name(reason), "ERROR_REASON_"));
  return error;
}

absl::Status ToStatus(const Error& error) {
  size_t violations = error.violations.kept().size();
  absl::Status status = StatusWith(error, violations);
  while (violations > 0 && ToRpcStatus(status).ByteSizeLong() > kMaxStatusBytes)
    status = StatusWith(error, --violations);
  return status;
}

absl::Status ViolationError(Violations violations) {
  const Violation& first = violations.kept().front();
  Error error = GatewayError(
      absl::StatusCode::kInvalidArgument, v1::ERROR_REASON_INVALID_REQUEST,
      absl::StrCat("the request is not valid: ", first.field.empty() ? "it" : first.field, " ", first.description));
  error.violations = std::move(violations);
  return ToStatus(error);
}

std::string ErrorReasonOf(const absl::Status& status) { return InfoOf(status).reason(); }

std::string ErrorMetadataOf(const absl::Status& status, const std::string& key) {
  const google::rpc::ErrorInfo info = InfoOf(status);
  const auto found = info.metadata().find(key);
  return found == info.metadata().end() ? std::string() : found->second;
}

bool IsGatewayError(const absl::Status& status) { return InfoOf(status).domain() == kGatewayDomain; }

google::rpc::Status ToRpcStatus(const absl::Status& status) {
  google::rpc::Status rpc;
  rpc.set_code(static_cast<int>(status.code()));
  rpc.set_message(std::string(status.message()));
  // ForEachPayload has no fixed order. The map orders the payloads, so that equal errors give equal bytes.
  std::map<std::string, std::string> details;
  status.ForEachPayload(
      [&](absl::string_view type_url, const absl::Cord& payload) { details.emplace(type_url, std::string(payload)); });
  for (auto& [type_url, payload] : details) {
    auto* detail = rpc.add_details();
    detail->set_type_url(type_url);
    detail->set_value(payload);
  }
  return rpc;
}

}  // namespace stampgate
