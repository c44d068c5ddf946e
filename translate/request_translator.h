// A caller's message to the bytes that are signed and sent.
#ifndef STAMPGATE_TRANSLATE_REQUEST_TRANSLATOR_H_
#define STAMPGATE_TRANSLATE_REQUEST_TRANSLATOR_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "google/protobuf/message.h"
#include "translate/operation_table.h"

namespace stampgate {

// A request as JSON. The bytes of a submit are complete once its time is chosen:
//
//   {"type":"ACTIVITY_TYPE_OAUTH","timestampMs":"1755500000000","organizationId":"...","parameters":{...}}
struct RenderedRequest {
  std::string path;                      // below the base URL
  std::string organization_id;           // empty for a discovery
  std::optional<uint64_t> timestamp_ms;  // of a submit whose caller chose one
  std::string type_member;               // of a typed submit: `"type":"...",`
  std::string members;                   // all other members of the body, without timestampMs

  // The body of a submit made at `timestamp_ms`.
  std::string SubmitBody(uint64_t timestamp_ms) const;
  // The body of a query.
  std::string QueryBody() const;
};

// Checks and renders `request`, a message of the operation's request type. Errors: kInvalidArgument with ErrorInfo
// INVALID_REQUEST and a BadRequest that lists every broken rule; no value of the request is quoted.
absl::StatusOr<RenderedRequest> TranslateRequest(const OperationTable& table, const Operation& operation,
                                                 const google::protobuf::Message& request);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_REQUEST_TRANSLATOR_H_
