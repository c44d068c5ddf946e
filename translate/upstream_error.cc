#include "translate/upstream_error.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/json/reader.h"
#include "translate/error.h"
#include "translate/secrets.h"

namespace stampgate {
namespace {

using absl::StatusCode;
using Cause = TransportFailure::Cause;

constexpr absl::Duration kRetryDelay = absl::Seconds(1);

constexpr absl::string_view kRateLimitCode = "RATE_LIMIT_EXCEEDED";

// A row maps a code of upstream's error bodies to a canonical code, because upstream's code is more precise than the
// HTTP status of the response. Upstream adds codes over time; for a code without a row, the HTTP status of the response
// decides.
struct UpstreamCode {
  absl::string_view name;
  StatusCode code;
};
constexpr UpstreamCode kUpstreamCodes[] = {
    {"API_OPERATIONS_DISABLED", StatusCode::kFailedPrecondition},
    {"CREDENTIAL_CONFLICT", StatusCode::kAlreadyExists},
    {"CREDENTIAL_NOT_FOUND", StatusCode::kNotFound},
    {"EMAIL_SENDING_DISABLED", StatusCode::kFailedPrecondition},
    {"FORBIDDEN", StatusCode::kPermissionDenied},
    {"INTERNAL", StatusCode::kInternal},
    {"INVALID_ACTIVITY_CALLER", StatusCode::kPermissionDenied},
    {"INVALID_EMAIL", StatusCode::kInvalidArgument},
    {"INVALID_FQDN", StatusCode::kInvalidArgument},
    {"INVALID_OAUTH2_PROVIDER", StatusCode::kInvalidArgument},
    {"INVALID_OIDC_TOKEN", StatusCode::kInvalidArgument},
    {"INVALID_ORGANIZATION_ID", StatusCode::kInvalidArgument},
    {"INVALID_TIME", StatusCode::kInvalidArgument},
    {"INVALID_TRANSACTION", StatusCode::kInvalidArgument},
    {"MAX_OTP_INITIATED", StatusCode::kResourceExhausted},
    {"OAUTH2_CREDENTIAL_NOT_FOUND", StatusCode::kNotFound},
    {"OAUTH2_PROVIDER_NOT_CONFIGURED", StatusCode::kFailedPrecondition},
    {"OAUTH2_PROVIDER_NOT_FOUND", StatusCode::kNotFound},
    {"OAUTH_PROVIDER_ALREADY_EXISTS", StatusCode::kAlreadyExists},
    {"ORGANIZATION_MISMATCH", StatusCode::kFailedPrecondition},
    {"ORGANIZATION_NOT_FOUND", StatusCode::kNotFound},
    {kRateLimitCode, StatusCode::kResourceExhausted},
    {"REQUEST_NOT_AUTHORIZED", StatusCode::kPermissionDenied},
    {"RPC_CALL_ERROR", StatusCode::kInternal},  // a blockchain node failed upstream; the caller did not cause it
    {"SIGNING_QUOTA_EXCEEDED", StatusCode::kResourceExhausted},
    {"SWAP_QUOTE_ALREADY_USED", StatusCode::kFailedPrecondition},
    {"TRANSACTION_RISK_SCREENING_DENIED", StatusCode::kFailedPrecondition},
    {"TRANSACTION_RISK_SCREENING_UNVERIFIED", StatusCode::kFailedPrecondition},
    {"TVC_CLIENT_VERSION_TOO_OLD", StatusCode::kFailedPrecondition},
    {"TVC_IMAGE_VALIDATION_FAILED", StatusCode::kFailedPrecondition},
    {"UNSUPPORTED_TRANSACTION_TYPE", StatusCode::kInvalidArgument},
    {"WALLET_ACCOUNT_NOT_EXPORTED", StatusCode::kFailedPrecondition},
};

// Codes that mean that upstream rejected the stamp, which the gateway's own key or a client made.
constexpr absl::string_view kCredentialCodes[] = {"API_KEY_EXPIRED", "PUBLIC_KEY_NOT_FOUND", "SIGNATURE_INVALID",
                                                  "SIGNATURE_MISSING", "UNAUTHENTICATED"};

// Codes that mean that waiting does not help, although their HTTP status can be 429.
constexpr absl::string_view kHardQuotaCodes[] = {"API_OPERATIONS_DISABLED", "SIGNING_QUOTA_EXCEEDED"};

// The HTTP statuses from 500 that a proxy returns while it, or the way from it to upstream, fails or is overloaded. The
// first three are standard; upstream itself returns 503 and 504 too. The others are those of the proxies that are
// named.
constexpr int kProxyFailures[] = {
    502,  // Bad Gateway
    503,  // Service Unavailable
    504,  // Gateway Timeout
    509,  // Apache and control panels: the bandwidth of the site is used up
    520,  // Cloudflare: upstream's response was empty or not understood
    521,  // Cloudflare: upstream refused the connection
    522,  // Cloudflare: the connection to upstream timed out
    523,  // Cloudflare: no route to upstream
    524,  // Cloudflare: upstream did not respond in time
    525,  // Cloudflare: the TLS handshake with upstream failed
    526,  // Cloudflare: upstream's certificate was not valid
    527,  // Cloudflare: the connection through its own agent failed
    529,  // several: the site is overloaded
    530,  // Cloudflare: upstream's name was not resolved, or another error with a code of its own
    540,  // several: the site is disabled for a time
    598,  // several: reading from upstream timed out
    599,  // several: connecting to upstream timed out
};

// Returns the canonical code for an HTTP status below 500. `rpc_code` is the value of "code" in upstream's error body.
StatusCode CodeOfRefusal(int http_status, int rpc_code) {
  switch (http_status) {
    case 400:
      if (rpc_code == 9) return StatusCode::kFailedPrecondition;
      if (rpc_code == 11) return StatusCode::kOutOfRange;
      return StatusCode::kInvalidArgument;
    case 403:
      return StatusCode::kPermissionDenied;
    case 404:
      return StatusCode::kNotFound;
    case 405:
    case 406:
    case 415:
      return StatusCode::kInternal;  // only the gateway can have caused this status
    case 409:
      return rpc_code == 10 ? StatusCode::kAborted : StatusCode::kAlreadyExists;
    case 413:
    case 422:
      return StatusCode::kInvalidArgument;
    case 429:
      return StatusCode::kResourceExhausted;
    default:
      return StatusCode::kFailedPrecondition;
  }
}

// The content of upstream's error body, which has several known forms.
struct ErrorBody {
  int rpc_code = 0;
  std::string message;
  std::string upstream_code;
  Violations violations;
};

// Returns true if `name` is the name of the member with upstream's code. The member's name begins with upstream's name.
// The value may be "", which means no code.
bool IsCodeMember(absl::string_view name) { return absl::EndsWith(name, "ErrorCode"); }

// Returns true if `text` can be an ErrorInfo.reason. "UNSPECIFIED", the zero value of upstream's enum, cannot: it means
// that there is no code.
bool IsReason(absl::string_view text) {
  return text != "UNSPECIFIED" && text.size() >= 2 && text.size() <= 63 && absl::ascii_isupper(text.front()) &&
         text.back() != '_' && absl::c_all_of(text, [](unsigned char c) {
           return absl::ascii_isupper(c) || absl::ascii_isdigit(c) || c == '_';
         });
}

void TakeString(JsonValue& value, std::string& out) {
  if (value.kind() == JsonValue::Kind::kString && value.string().has_value()) out = std::string(*value.string());
}

void TakeCode(JsonValue& value, std::string& out) {
  std::string code;
  TakeString(value, code);
  if (IsReason(code)) out = code;
}

absl::Status ReadViolation(JsonValue& value, Violations& violations) {
  if (value.kind() != JsonValue::Kind::kObject) return absl::OkStatus();
  Violation violation;
  const absl::Status status = value.ForEachMember([&](absl::string_view name, JsonValue& member) {
    if (name == "field") TakeString(member, violation.field);
    if (name == "description") TakeString(member, violation.description);
    return absl::OkStatus();
  });
  violations.Add([&] { return std::move(violation); });
  return status;
}

absl::Status ReadDetail(JsonValue& value, ErrorBody& body) {
  if (value.kind() != JsonValue::Kind::kObject) return absl::OkStatus();
  return value.ForEachMember([&](absl::string_view name, JsonValue& member) {
    if (IsCodeMember(name)) TakeCode(member, body.upstream_code);
    if (name == "fieldViolations" && member.kind() == JsonValue::Kind::kArray) {
      return member.ForEachElement(
          [&](size_t, JsonValue& violation) { return ReadViolation(violation, body.violations); });
    }
    return absl::OkStatus();
  });
}

// Reads upstream's error body. Returns nothing if `text` is not a JSON object but, for example, the error page of a
// proxy.
std::optional<ErrorBody> ReadErrorBody(std::string& text) {
  ErrorBody body;
  absl::Status status = ReadJsonObject(text, [&](JsonValue& root) {
    return root.ForEachMember([&](absl::string_view name, JsonValue& value) {
      if (name == "message") TakeString(value, body.message);
      if (name == "code" && value.kind() == JsonValue::Kind::kNumber) {
        if (!absl::SimpleAtoi(value.number(), &body.rpc_code)) body.rpc_code = 0;
      }
      if (IsCodeMember(name)) TakeCode(value, body.upstream_code);
      if (name == "details" && value.kind() == JsonValue::Kind::kArray) {
        return value.ForEachElement([&](size_t, JsonValue& detail) { return ReadDetail(detail, body); });
      }
      return absl::OkStatus();
    });
  });
  if (!status.ok()) return std::nullopt;
  return body;
}

bool IsKnownCode(absl::string_view code) {
  return absl::c_any_of(kUpstreamCodes, [&](const UpstreamCode& row) { return row.name == code; }) ||
         absl::c_linear_search(kCredentialCodes, code);
}

// Returns true if the caller can repeat the call after a delay. Upstream also returns 429 for exhausted quotas, for
// which waiting does not help. The response for an exhausted quota has a known code other than kRateLimitCode, or has
// neither a code, nor a Retry-After, nor a message about too many requests.
bool IsRateLimit(const HttpAnswer& answer, const std::optional<ErrorBody>& body) {
  const absl::string_view code = body.has_value() ? absl::string_view(body->upstream_code) : absl::string_view();
  if (code == kRateLimitCode) return true;
  if (answer.status != 429 || IsKnownCode(code)) return false;
  if (!body.has_value() || answer.retry_after.has_value()) return true;
  if (!code.empty()) return false;
  const std::string message = absl::AsciiStrToLower(body->message);
  return absl::StrContains(message, "too many requests") || absl::StrContains(message, "rate limit");
}

// Returns the name, for an error message, of the field that a caller must set to the same value again, so that upstream
// recognizes the repeated submit.
std::string SameSubmit(const SentCall& call) {
  if (call.client_stamp.has_value()) return "the same client_stamp";
  const FieldPlan* key = call.operation.idempotency_key;
  const bool keyed = key != nullptr && call.request.Has(*key);
  return keyed ? "its idempotency_key" : absl::StrCat("timestamp_ms ", call.timestamp_ms);
}

Error OutcomeUnknown(StatusCode code, absl::string_view what, const SentCall& call) {
  Error error = GatewayError(code, v1::ERROR_REASON_OUTCOME_UNKNOWN,
                             absl::StrCat(what, "; the submit may have been carried out: repeat it with ",
                                          SameSubmit(call), " to learn its outcome; upstream acts at most once"));
  error.metadata.emplace_back("timestamp_ms", absl::StrCat(call.timestamp_ms));
  error.metadata.emplace_back("fingerprint", call.fingerprint);
  return error;
}

Error Repeatable(StatusCode code, v1::ErrorReason reason, absl::string_view what) {
  Error error = GatewayError(code, reason, std::string(what));
  error.retry_delay = kRetryDelay;
  return error;
}

Error UpstreamUnavailable(absl::string_view what) {
  return Repeatable(StatusCode::kUnavailable, v1::ERROR_REASON_UPSTREAM_UNAVAILABLE, what);
}

// Returns the secrets of the request and of its client stamp. The secrets of a client stamp are the stamp itself and
// the token that attests a key.
Secrets SecretsOf(const SentCall& call) {
  Secrets secrets(call.request);
  if (!call.client_stamp.has_value()) return secrets;
  std::string stamp = *call.client_stamp;
  secrets.Add(stamp);
  if (std::string decoded; absl::WebSafeBase64Unescape(stamp, &decoded)) stamp = std::move(decoded);
  (void)ReadJsonObject(stamp, [&](JsonValue& root) {
    return root.ForEachMember([&](absl::string_view name, JsonValue& value) {
      std::string token;
      if (name == "publicKeyAttestation") TakeString(value, token);
      secrets.Add(std::move(token));
      return absl::OkStatus();
    });
  });
  return secrets;
}

// Returns true if `code` can be returned to the caller. An unknown code may be a secret of the request that upstream
// repeats.
bool IsSafeCode(absl::string_view code, const Secrets& secrets) {
  return IsKnownCode(code) || secrets.Strike(code) == code;
}

// Adds upstream's code and message as metadata to an error whose reason is one of the gateway's.
void AddUpstreamsWords(const HttpAnswer& answer, const std::optional<ErrorBody>& body, const Secrets& secrets,
                       Error& error) {
  error.metadata.emplace_back("http_status", absl::StrCat(answer.status));
  if (!body.has_value()) return;
  if (!body->upstream_code.empty()) error.metadata.emplace_back("upstream_code", body->upstream_code);
  std::string message = secrets.Strike(body->message);
  if (!message.empty()) error.metadata.emplace_back("upstream_message", std::move(message));
}

// Returns an error with upstream's code as its reason, and with upstream's message.
Error Refusal(const HttpAnswer& answer, std::optional<ErrorBody> body, const Secrets& secrets) {
  Error error;
  error.domain = std::string(kUpstreamDomain);
  error.reason = absl::StrCat("HTTP_", answer.status);
  error.code = CodeOfRefusal(answer.status, body.has_value() ? body->rpc_code : 0);
  error.metadata.emplace_back("http_status", absl::StrCat(answer.status));
  if (IsRateLimit(answer, body)) error.retry_delay = answer.retry_after.value_or(kRetryDelay);
  if (body.has_value()) {
    error.message = secrets.Strike(body->message);
    for (const Violation& violation : body->violations.kept()) {
      error.violations.Add([&] {
        return Violation{secrets.Strike(violation.field), secrets.Strike(violation.description)};
      });
    }
    error.violations.AddUnkept(body->violations.count() - body->violations.kept().size());
    if (!body->upstream_code.empty()) {
      error.reason = body->upstream_code;
      for (const UpstreamCode& row : kUpstreamCodes) {
        if (row.name == body->upstream_code) error.code = row.code;
      }
    }
  }
  if (error.message.empty()) error.message = absl::StrCat("upstream answered HTTP ", answer.status);
  return error;
}

}  // namespace

absl::Status ErrorFromFailure(const TransportFailure& failure, const SentCall& call) {
  const std::string what = absl::StrCat("upstream: ", failure.detail);
  if (call.operation.is_submit() && failure.body_sent) {
    switch (failure.cause) {
      case Cause::kTimeout:
        return ToStatus(
            OutcomeUnknown(StatusCode::kDeadlineExceeded, "the call timed out before upstream responded", call));
      case Cause::kCancelled:
        return ToStatus(OutcomeUnknown(StatusCode::kCancelled, "the call was cancelled", call));
      default:
        return ToStatus(OutcomeUnknown(StatusCode::kUnknown, what, call));
    }
  }
  switch (failure.cause) {
    case Cause::kNoSlot:
      return ToStatus(Repeatable(StatusCode::kResourceExhausted, v1::ERROR_REASON_UPSTREAM_BUSY,
                                 "the call timed out before a connection to upstream was free; nothing was sent"));
    case Cause::kTimeout:
      return ToStatus(GatewayError(StatusCode::kDeadlineExceeded, v1::ERROR_REASON_UPSTREAM_TIMEOUT,
                                   "the call timed out before upstream responded"));
    case Cause::kCancelled:
      return ToStatus(GatewayError(StatusCode::kCancelled, v1::ERROR_REASON_CANCELLED, "the call was cancelled"));
    case Cause::kShutdown:
      return ToStatus(
          GatewayError(StatusCode::kUnavailable, v1::ERROR_REASON_SHUTTING_DOWN, "the gateway is shutting down"));
    case Cause::kTooLarge:
      return ToStatus(GatewayError(StatusCode::kInternal, v1::ERROR_REASON_UPSTREAM_ANSWER_UNREADABLE, what));
    case Cause::kNoMemory:
      return ToStatus(Repeatable(StatusCode::kResourceExhausted, v1::ERROR_REASON_TOO_MUCH_MEMORY, failure.detail));
    case Cause::kUnreachable:
    case Cause::kTls:
    case Cause::kBroken:
      break;
  }
  if (failure.body_sent) return ToStatus(UpstreamUnavailable(what));
  return ToStatus(Repeatable(StatusCode::kUnavailable, v1::ERROR_REASON_UPSTREAM_UNREACHABLE, what));
}

bool IsRateLimit(const HttpAnswer& answer) {
  if (answer.status < 400 || (answer.status != 429 && !absl::StrContains(answer.body, kRateLimitCode))) return false;
  std::string text = answer.body;
  return IsRateLimit(answer, ReadErrorBody(text));
}

bool IsHardQuota(const HttpAnswer& answer) {
  if (answer.status < 400 ||
      !absl::c_any_of(kHardQuotaCodes, [&](absl::string_view code) { return absl::StrContains(answer.body, code); })) {
    return false;
  }
  std::string text = answer.body;
  const std::optional<ErrorBody> body = ReadErrorBody(text);
  return body.has_value() && absl::c_linear_search(kHardQuotaCodes, body->upstream_code);
}

bool IsProxyFailure(int http_status) { return absl::c_linear_search(kProxyFailures, http_status); }

absl::Status ErrorFromAnswer(HttpAnswer& answer, const SentCall& call) {
  const std::string what = absl::StrCat("upstream answered HTTP ", answer.status);
  // A status of 400 to 499 is a refusal, which proves that upstream did not carry out this attempt of a submit. The
  // exceptions are 408 and 499, which mean that a proxy stopped waiting for upstream.
  const bool refused = answer.status >= 400 && answer.status < 500 && answer.status != 408 && answer.status != 499;
  std::optional<ErrorBody> body = ReadErrorBody(answer.body);
  const Secrets secrets = SecretsOf(call);
  if (body.has_value() && !IsSafeCode(body->upstream_code, secrets)) body->upstream_code.clear();
  if (call.operation.is_submit() && (call.earlier_unknown || (!refused && answer.status != 501))) {
    Error error = OutcomeUnknown(StatusCode::kUnknown, what, call);
    AddUpstreamsWords(answer, body, secrets, error);
    return ToStatus(error);
  }
  if (answer.status == 408 || answer.status == 499 || IsProxyFailure(answer.status)) {
    Error error = UpstreamUnavailable(what);
    if (answer.retry_after.has_value()) error.retry_delay = answer.retry_after;
    AddUpstreamsWords(answer, body, secrets, error);
    return ToStatus(error);
  }
  if (refused) {
    if (answer.status == 401 || (body.has_value() && absl::c_linear_search(kCredentialCodes, body->upstream_code))) {
      if (call.client_stamp.has_value()) {
        Error error = Refusal(answer, std::move(body), secrets);
        error.code = StatusCode::kUnauthenticated;
        error.retry_delay.reset();
        return ToStatus(error);
      }
      Error error = GatewayError(StatusCode::kInternal, v1::ERROR_REASON_GATEWAY_CREDENTIAL_REJECTED,
                                 "upstream refused the gateway's own key");
      error.metadata.emplace_back("http_status", absl::StrCat(answer.status));
      if (body.has_value() && !body->upstream_code.empty()) {
        error.metadata.emplace_back("upstream_code", body->upstream_code);
      }
      return ToStatus(error);
    }
    return ToStatus(Refusal(answer, std::move(body), secrets));
  }
  if (answer.status >= 500) {
    Error error = Refusal(answer, std::move(body), secrets);
    if (!error.retry_delay.has_value()) {
      error.code = answer.status == 501 ? StatusCode::kUnimplemented : StatusCode::kInternal;
    }
    return ToStatus(error);
  }
  return ErrorFromUnreadableAnswer(what, answer.status, call);
}

absl::Status ErrorFromUnreadableAnswer(absl::string_view why, int http_status, const SentCall& call) {
  const std::string what = absl::StrCat("upstream's response is unreadable: ", why);
  Error error = call.operation.is_submit()
                    ? OutcomeUnknown(StatusCode::kUnknown, what, call)
                    : GatewayError(StatusCode::kInternal, v1::ERROR_REASON_UPSTREAM_ANSWER_UNREADABLE, what);
  if (http_status != 200) error.metadata.emplace_back("http_status", absl::StrCat(http_status));
  return ToStatus(error);
}

}  // namespace stampgate
