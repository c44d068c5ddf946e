// The table that maps upstream's error responses, and failures of the exchange, to the errors that callers get.
#ifndef STAMPGATE_TRANSLATE_UPSTREAM_ERROR_H_
#define STAMPGATE_TRANSLATE_UPSTREAM_ERROR_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "translate/message/parsed_message.h"
#include "translate/operation_table.h"
#include "translate/upstream_outcome.h"

namespace stampgate {

// A call that was sent upstream. Refers to objects that must outlive it.
struct SentCall {
  const Operation& operation;
  const ParsedMessage& request;                  // errors quote none of its secrets
  uint64_t timestamp_ms = 0;                     // of a submit; otherwise 0
  absl::string_view fingerprint;                 // of a submit; otherwise empty
  std::optional<std::string> client_stamp = {};  // the value of the stamp's header, if a client made the stamp
  // Whether an earlier attempt of a submit may have reached upstream without a readable response. A refusal of a later
  // attempt then does not prove that upstream did not carry the submit out.
  bool earlier_unknown = false;
};

// Returns the error for an exchange that failed before a complete response. If a byte of a submit's body may have
// reached upstream, the reason is OUTCOME_UNKNOWN. The code is then kDeadlineExceeded if the call timed out, kCancelled
// if the caller cancelled it, and otherwise kUnknown. It is never kUnavailable, for which clients and service meshes
// repeat a call by themselves.
absl::Status ErrorFromFailure(const TransportFailure& failure, const SentCall& call);

// Returns true if upstream refused the request because of its rate, so that the same request can succeed later. Returns
// false for an exhausted quota, for which upstream can have the same HTTP status.
bool IsRateLimit(const HttpAnswer& answer);

// Returns true if upstream's code states that a quota is exhausted or that the organization is blocked: waiting does
// not help.
bool IsHardQuota(const HttpAnswer& answer);

// Returns true if an HTTP status from 500 shows that a proxy, and perhaps not upstream itself, has failed or is
// overloaded, so that a repetition can succeed: 502, 503, 504, and the statuses that only proxies use.
bool IsProxyFailure(int http_status);

// Returns the error for a response whose HTTP status is not 2xx. May increase the capacity of `answer.body`. If the
// reason is one of the gateway's (v1::ErrorReason), the metadata contain http_status and, for most reasons,
// upstream_code and upstream_message, from which the secrets of the call are removed.
absl::Status ErrorFromAnswer(HttpAnswer& answer, const SentCall& call);

// Returns the error for a response whose HTTP status or body makes it neither a refusal nor a valid response of the
// operation. `why` names the fault without quoting the body. If the HTTP status is not 200, the metadata contain it as
// http_status.
absl::Status ErrorFromUnreadableAnswer(absl::string_view why, int http_status, const SentCall& call);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_UPSTREAM_ERROR_H_
