// The one table from upstream's answers and failures to the errors that callers get.
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

// A call as it left the gateway. Points into the caller's objects.
struct SentCall {
  const Operation& operation;
  const google::protobuf::Message& request;      // its secrets are struck out of upstream's texts
  uint64_t timestamp_ms = 0;                     // of a submit
  std::string fingerprint;                       // of a submit
  std::optional<std::string> client_stamp = {};  // the header's value, if a client made the stamp
};

// The error for an exchange without an answer. A submit of which a byte may have left is never kUnavailable, which
// clients and meshes repeat by themselves: it is kUnknown (kDeadlineExceeded if time ended it, kCancelled if the
// caller left) with reason OUTCOME_UNKNOWN.
absl::Status ErrorFromFailure(const TransportFailure& failure, const SentCall& call);

// The error for an answer whose HTTP status is not 2xx. `answer.body` may be given more capacity. Where the reason is
// the gateway's own, the metadata hold what upstream said: http_status, upstream_code and upstream_message, without the
// call's secrets.
absl::Status ErrorFromAnswer(HttpAnswer& answer, const SentCall& call);

// The error for an answer that is no refusal and whose body is not what it should be; `why` says so without quoting it.
// The metadata hold an http_status that is not 200.
absl::Status ErrorFromUnreadableAnswer(absl::string_view why, int http_status, const SentCall& call);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_UPSTREAM_ERROR_H_
