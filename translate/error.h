// Errors as callers receive them: each has a canonical code, a short message, and google.rpc details.
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

// The maximum size of a serialized google.rpc.Status, which gRPC sends as metadata. Clients accept at most 8 KiB of
// metadata by default.
inline constexpr size_t kMaxStatusBytes = 4096;
inline constexpr size_t kMaxMessageBytes = 512;

// The parts of an error, from which ToStatus makes a Status. Texts may have any length and must not contain secrets.
struct Error {
  absl::StatusCode code = absl::StatusCode::kUnknown;
  std::string message;
  std::string domain;
  std::string reason;
  std::vector<std::pair<std::string, std::string>> metadata;
  Violations violations;
  std::optional<absl::Duration> retry_delay;
};

// Returns an error of domain kGatewayDomain.
Error GatewayError(absl::StatusCode code, v1::ErrorReason reason, std::string message);

// Returns the error as a Status with an ErrorInfo, with a BadRequest if the error has violations, and with a RetryInfo
// if it has a delay. To stay within the limits above, truncates texts (never inside a character) and drops the last
// violations. If violations were dropped, the message states how many.
absl::Status ToStatus(const Error& error);

// Returns INVALID_ARGUMENT (INVALID_REQUEST) with all violations that `violations` kept. Requires at least one.
absl::Status ViolationError(Violations violations);

// Returns the ErrorInfo.reason of a Status that ToStatus made; empty for other statuses.
std::string ErrorReasonOf(const absl::Status& status);

// Returns the value of `key` in the ErrorInfo.metadata of a Status that ToStatus made; empty if there is none.
std::string ErrorMetadataOf(const absl::Status& status, const std::string& key);

// Returns true if ToStatus made `status` from an error of domain kGatewayDomain. The message of such a status quotes
// nothing of a request and no text of upstream.
bool IsGatewayError(const absl::Status& status);

// Returns `status` as a google.rpc.Status. It has details only if ToStatus made `status`.
google::rpc::Status ToRpcStatus(const absl::Status& status);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_ERROR_H_
