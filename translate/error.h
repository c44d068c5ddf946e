// Errors as callers see them: a code that says what to do next, a short text, and google.rpc details.
#ifndef STAMPGATE_TRANSLATE_ERROR_H_
#define STAMPGATE_TRANSLATE_ERROR_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "google/rpc/status.pb.h"
#include "stampgate/v1/error_reason.pb.h"
#include "translate/violations.h"

namespace stampgate {

// ErrorInfo.domain of what the gateway decides, with a v1::ErrorReason as reason.
inline constexpr absl::string_view kGatewayDomain = "stampgate";
// ErrorInfo.domain of what upstream decided, with upstream's own code as reason.
inline constexpr absl::string_view kUpstreamDomain = "upstream";

// A serialized google.rpc.Status stays within this: larger ones break clients, whose metadata is limited to 8 KiB.
inline constexpr size_t kMaxStatusBytes = 4096;
inline constexpr size_t kMaxMessageBytes = 512;

// The parts of an error. Texts may be of any length and must be free of secrets.
struct Error {
  absl::StatusCode code = absl::StatusCode::kUnknown;
  std::string message;
  std::string domain;
  std::string reason;
  std::vector<std::pair<std::string, std::string>> metadata;
  Violations violations;
  std::optional<absl::Duration> retry_delay;
};

// An error of domain kGatewayDomain.
Error GatewayError(absl::StatusCode code, v1::ErrorReason reason, std::string message);

// The error as a Status whose payloads are ErrorInfo and, where there is something to say, BadRequest and RetryInfo. It
// is cut to the limits above: texts at a character's end, violations from the last one, and the error says how many
// there were.
absl::Status ToStatus(const Error& error);

// INVALID_ARGUMENT (INVALID_REQUEST) with every violation; there is at least one.
absl::Status ViolationError(Violations violations);

// ErrorInfo.reason of a Status that ToStatus made; empty of any other.
std::string ErrorReasonOf(const absl::Status& status);

// The value of `key` in ErrorInfo.metadata of a Status that ToStatus made; empty if there is none.
std::string ErrorMetadataOf(const absl::Status& status, const std::string& key);

// Whether ToStatus made `status` from an error of domain kGatewayDomain: its message then holds nothing from outside.
bool IsGatewayError(const absl::Status& status);

// The google.rpc.Status of a Status that ToStatus made (or of any other, without details).
google::rpc::Status ToRpcStatus(const absl::Status& status);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_ERROR_H_
