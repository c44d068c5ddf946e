// Errors as callers receive them: a canonical code, a short text, and google.rpc details.
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

// ErrorInfo.domain of the gateway's own errors; the reason is a v1::ErrorReason.
inline constexpr absl::string_view kGatewayDomain = "stampgate";
// ErrorInfo.domain of upstream's errors; the reason is upstream's own code.
inline constexpr absl::string_view kUpstreamDomain = "upstream";

// The largest serialized google.rpc.Status. Larger ones break clients, which accept 8 KiB of metadata.
inline constexpr size_t kMaxStatusBytes = 4096;
inline constexpr size_t kMaxMessageBytes = 512;

// The parts of an error. Texts may have any length and must not contain secrets.
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

// The error as a Status whose payloads are ErrorInfo and, if the error has such content, BadRequest and RetryInfo.
// Shortens texts (at the end of a character) and drops the last violations to stay within the limits above; the message
// states how many violations were dropped.
absl::Status ToStatus(const Error& error);

// INVALID_ARGUMENT (INVALID_REQUEST) with every violation; there must be at least one.
absl::Status ViolationError(Violations violations);

// ErrorInfo.reason of a Status that ToStatus made; empty for other statuses.
std::string ErrorReasonOf(const absl::Status& status);

// The value of `key` in ErrorInfo.metadata of a Status that ToStatus made; empty if there is none.
std::string ErrorMetadataOf(const absl::Status& status, const std::string& key);

// Whether ToStatus made `status` from an error of domain kGatewayDomain. The message of such a status quotes neither a
// request nor upstream.
bool IsGatewayError(const absl::Status& status);

// The google.rpc.Status of `status`; only a Status that ToStatus made has details.
google::rpc::Status ToRpcStatus(const absl::Status& status);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_ERROR_H_
