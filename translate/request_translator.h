// Translates a caller's request message to the bytes that are stamped and sent.
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

// A request rendered as JSON. The bytes of a submit are complete once its time has been chosen:
//
//   {"type":"ACTIVITY_TYPE_OAUTH","timestampMs":"1755500000000","organizationId":"...","parameters":{...}}
struct RenderedRequest {
  std::string path;                      // below the base URL
  std::string organization_id;           // empty for a discovery
  std::optional<uint64_t> timestamp_ms;  // if the caller of a submit chose one
  std::string idempotency_key;           // for a submit; empty if the caller set none
  std::string type_member;               // for a typed submit: `"type":"...",`
  std::string members;                   // all other members of the body, without timestampMs
  // Removed from the request, if a client has stamped it. Exactly one kind of stamp is set; its form is not checked
  // yet.
  std::optional<v1::ClientStamp> client_stamp = {};

  // The body of a submit with the time `timestamp_ms`. With a client's stamp, the client's body, whatever the time.
  std::string SubmitBody(uint64_t timestamp_ms) const;
  // The body of a query. With a client's stamp, the client's body.
  std::string QueryBody() const;
};

// A request that breaks no rule. Refers to its operation and its message, which must outlive it; the message must not
// change.
class CheckedRequest {
 public:
  // Checks `request`, a message of the operation's request type. If it has a client_stamp, `request` is filled from the
  // stamped body: the gateway checks that request, whichever key stamps it. Without a client_stamp the gateway stamps
  // the request, which is an error for an operation that only clients may stamp.
  //
  // Errors: kInvalidArgument with ErrorInfo INVALID_REQUEST and a BadRequest that lists every violation. They depend on
  // the request alone, and quote no value of it.
  static absl::StatusOr<CheckedRequest> Check(const OperationTable& table, const Operation& operation,
                                              google::protobuf::Message& request);

  // The same for a request that a client will stamp.
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
