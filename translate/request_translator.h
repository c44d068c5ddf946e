// A caller's message to the bytes that are signed and sent.
#ifndef STAMPGATE_TRANSLATE_REQUEST_TRANSLATOR_H_
#define STAMPGATE_TRANSLATE_REQUEST_TRANSLATOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "google/protobuf/message.h"
#include "stampgate/v1/client_stamp.pb.h"
#include "translate/operation_table.h"

namespace stampgate {

// A request as JSON. The bytes of a submit are complete once its time is chosen:
//
//   {"type":"ACTIVITY_TYPE_OAUTH","timestampMs":"1755500000000","organizationId":"...","parameters":{...}}
struct RenderedRequest {
  std::string path;                      // below the base URL
  std::string organization_id;           // empty for a discovery
  std::optional<uint64_t> timestamp_ms;  // of a submit whose caller chose one
  std::string idempotency_key;           // of a submit; empty if the caller has set none
  std::string type_member;               // of a typed submit: `"type":"...",`
  std::string members;                   // all other members of the body, without timestampMs
  // Taken out of the request, if a client has stamped it; exactly one kind of stamp is set, whose form is not checked.
  std::optional<v1::ClientStamp> client_stamp = {};

  // The body of a submit made at `timestamp_ms`. With a client's stamp it is the client's, whatever the time.
  std::string SubmitBody(uint64_t timestamp_ms) const;
  // The body of a query. With a client's stamp it is the client's.
  std::string QueryBody() const;
};

// A request that breaks no rule. Refers to its operation and its message, which outlive it; the message must not
// change.
class CheckedRequest {
 public:
  // Checks `request`, a message of the operation's request type, which is to be sent. If it has a client_stamp, it
  // becomes what the stamped body says: the request that the gateway is asked for, whichever key stamps it. Without
  // one, the gateway is to stamp it: that is an error where the operation is stamped by clients.
  //
  // Errors: kInvalidArgument with ErrorInfo INVALID_REQUEST and a BadRequest that lists every broken rule. They depend
  // on the request alone; no value of it is quoted.
  static absl::StatusOr<CheckedRequest> Check(const OperationTable& table, const Operation& operation,
                                              google::protobuf::Message& request);

  // The same for a request that a client is yet to stamp.
  static absl::StatusOr<CheckedRequest> CheckUnstamped(const OperationTable& table, const Operation& operation,
                                                       google::protobuf::Message& request);

  // As in RenderedRequest.
  const std::optional<v1::ClientStamp>& client_stamp() const { return client_stamp_; }

  // The same message always gives the same bytes.
  RenderedRequest Render() &&;

 private:
  CheckedRequest(const Operation& operation, const google::protobuf::Message& message,
                 std::optional<v1::ClientStamp> client_stamp)
      : operation_(&operation), message_(&message), client_stamp_(std::move(client_stamp)) {}

  static absl::StatusOr<CheckedRequest> Check(const OperationTable& table, const Operation& operation,
                                              google::protobuf::Message& request, bool needs_client_stamp);

  const Operation* operation_;
  const google::protobuf::Message* message_;
  std::optional<v1::ClientStamp> client_stamp_;
};

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_REQUEST_TRANSLATOR_H_
