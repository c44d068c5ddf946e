// The table that maps upstream's responses and failures to the errors that callers get.
#ifndef STAMPGATE_TRANSLATE_UPSTREAM_ERROR_H_
#define STAMPGATE_TRANSLATE_UPSTREAM_ERROR_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "translate/operation_table.h"
#include "translate/upstream_outcome.h"

namespace stampgate {

// A call that was sent upstream. Points into the caller's objects.
struct SentCall {
  const Operation& operation;
  const google::protobuf::Message& request;      // its secrets are removed from upstream's texts
  uint64_t timestamp_ms = 0;                     // for a submit
  std::string fingerprint;                       // for a submit
  std::optional<std::string> client_stamp = {};  // the header's value, if a client made the stamp
};

// The error for an exchange without a response. A submit of which a byte may have been sent is never kUnavailable,
// since clients and meshes repeat that by themselves. It is kUnknown (kDeadlineExceeded if it timed out, kCancelled if
// the caller cancelled) with reason OUTCOME_UNKNOWN.
absl::Status ErrorFromFailure(const TransportFailure& failure, const SentCall& call);

// The error for a response whose HTTP status is not 2xx. May increase the capacity of `answer.body`. If the reason is
// the gateway's own, the metadata hold http_status, upstream_code and upstream_message, without the call's secrets.
absl::Status ErrorFromAnswer(HttpAnswer& answer, const SentCall& call);

// The error for a response that is not a refusal and whose body is not as expected; `why` names the fault without
// quoting the body. If the HTTP status is not 200, the metadata hold it as http_status.
absl::Status ErrorFromUnreadableAnswer(absl::string_view why, int http_status, const SentCall& call);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_UPSTREAM_ERROR_H_
